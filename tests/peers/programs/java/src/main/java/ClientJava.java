import com.google.gson.reflect.TypeToken;
import io.kubernetes.client.ProtoClient;
import io.kubernetes.client.custom.V1Patch;
import io.kubernetes.client.informer.ResourceEventHandler;
import io.kubernetes.client.informer.SharedInformerFactory;
import io.kubernetes.client.openapi.ApiClient;
import io.kubernetes.client.openapi.ApiException;
import io.kubernetes.client.openapi.Configuration;
import io.kubernetes.client.openapi.apis.CoreV1Api;
import io.kubernetes.client.openapi.models.V1ConfigMap;
import io.kubernetes.client.openapi.models.V1ConfigMapList;
import io.kubernetes.client.openapi.models.V1Namespace;
import io.kubernetes.client.openapi.models.V1ObjectMeta;
import io.kubernetes.client.proto.Meta.DeleteOptions;
import io.kubernetes.client.proto.Meta.ObjectMeta;
import io.kubernetes.client.proto.V1.ConfigMap;
import io.kubernetes.client.proto.V1.ConfigMapList;
import io.kubernetes.client.util.CallGeneratorParams;
import io.kubernetes.client.util.Config;
import io.kubernetes.client.util.PatchUtils;
import io.kubernetes.client.util.Watch;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;

/** The official client: list, watch, create, patch, informers, and its ProtoClient. Reads $KUBECONFIG. */
public class ClientJava {
  static final String NAMESPACE = "client-java";

  static void expect(boolean condition, String what) {
    if (!condition) throw new AssertionError("not so: " + what);
    System.out.println("ok: " + what);
  }

  static void eventually(java.util.function.BooleanSupplier condition, String what) throws InterruptedException {
    for (int i = 0; i < 600 && !condition.getAsBoolean(); ++i) Thread.sleep(50);
    expect(condition.getAsBoolean(), what);
  }

  static V1ConfigMap map(String name) {
    return new V1ConfigMap().metadata(new V1ObjectMeta().name(name).labels(Map.of("of", "java"))).data(Map.of("v", "0"));
  }

  static void writes(CoreV1Api api) throws Exception {
    for (int i = 0; i < 5; ++i) api.createNamespacedConfigMap(NAMESPACE, map("m" + i)).execute();
    try {
      api.createNamespacedConfigMap(NAMESPACE, map("m0")).execute();
      expect(false, "a name that is taken is a conflict");
    } catch (ApiException e) {
      expect(e.getCode() == 409, "a name that is taken is a conflict");
    }
    expect(api.listNamespacedConfigMap(NAMESPACE).labelSelector("of=java").execute().getItems().size() == 5, "a list has what was created");
    V1ConfigMap patched = PatchUtils.patch(V1ConfigMap.class,
        () -> api.patchNamespacedConfigMap("m1", NAMESPACE, new V1Patch("[{\"op\":\"replace\",\"path\":\"/data/v\",\"value\":\"1\"}]")).buildCall(null),
        V1Patch.PATCH_FORMAT_JSON_PATCH, api.getApiClient());
    expect(patched.getData().get("v").equals("1"), "a JSON patch changes the object");
  }

  static void watches(ApiClient client, CoreV1Api api) throws Exception {
    String from = api.listNamespacedConfigMap(NAMESPACE).execute().getMetadata().getResourceVersion();
    try (Watch<V1ConfigMap> watch = Watch.createWatch(client,
        api.listNamespacedConfigMap(NAMESPACE).watch(true).resourceVersion(from).timeoutSeconds(60).buildCall(null),
        new TypeToken<Watch.Response<V1ConfigMap>>() {}.getType())) {
      api.createNamespacedConfigMap(NAMESPACE, map("watched")).execute();
      api.deleteNamespacedConfigMap("watched", NAMESPACE).execute();
      List<String> seen = new CopyOnWriteArrayList<>();
      for (Watch.Response<V1ConfigMap> event : watch) {
        seen.add(event.type + " " + event.object.getMetadata().getName());
        if (seen.size() == 2) break;
      }
      expect(seen.equals(List.of("ADDED watched", "DELETED watched")), "a watch sees what happens: " + seen);
    }
  }

  static void informs(ApiClient client, CoreV1Api api) throws Exception {
    SharedInformerFactory factory = new SharedInformerFactory(client);
    List<String> added = new CopyOnWriteArrayList<>();
    var informer = factory.sharedIndexInformerFor((CallGeneratorParams p) -> api.listNamespacedConfigMap(NAMESPACE).labelSelector("of=java")
        .resourceVersion(p.resourceVersion).timeoutSeconds(p.timeoutSeconds).watch(p.watch).buildCall(null), V1ConfigMap.class, V1ConfigMapList.class);
    informer.addEventHandler(new ResourceEventHandler<>() {
      @Override
      public void onAdd(V1ConfigMap object) {
        added.add(object.getMetadata().getName());
      }

      @Override
      public void onUpdate(V1ConfigMap before, V1ConfigMap after) {}

      @Override
      public void onDelete(V1ConfigMap object, boolean isUnknown) {}
    });
    factory.startAllRegisteredInformers();
    eventually(() -> informer.hasSynced() && added.size() == 5, "an informer fills its cache");
    api.createNamespacedConfigMap(NAMESPACE, map("late")).execute();
    eventually(() -> added.contains("late"), "an informer follows");
    factory.stopAllRegisteredInformers();
  }

  static void speaksProtobuf(ApiClient client) throws Exception {
    ProtoClient proto = new ProtoClient(client);
    String collection = "/api/v1/namespaces/" + NAMESPACE + "/configmaps";
    var got = proto.<ConfigMap>get(ConfigMap.newBuilder(), collection + "/m1");
    expect(got.object != null && got.object.getDataMap().get("v").equals("1"), "ProtoClient gets");
    var list = proto.<ConfigMapList>list(ConfigMapList.newBuilder(), collection);
    expect(list.object.getItemsCount() >= 6, "ProtoClient lists");
    ConfigMap fresh = ConfigMap.newBuilder().setMetadata(ObjectMeta.newBuilder().setName("proto").setNamespace(NAMESPACE)).putData("p", "1").build();
    var created = proto.create(fresh, collection, "v1", "ConfigMap");
    expect(created.object != null && created.object.getMetadata().getUid().length() == 36, "ProtoClient creates");
    var changed = proto.update(created.object.toBuilder().putData("p", "2").build(), collection + "/proto", "v1", "ConfigMap");
    expect(changed.object != null && changed.object.getDataMap().get("p").equals("2"), "ProtoClient updates");
    var taken = proto.create(fresh, collection, "v1", "ConfigMap");
    expect(taken.object == null && taken.status.getCode() == 409 && taken.status.getReason().equals("AlreadyExists"), "ProtoClient reads a Status");
    var deleted = proto.<ConfigMap>delete(ConfigMap.newBuilder(), collection + "/proto", DeleteOptions.newBuilder().setPropagationPolicy("Background").build());
    expect(deleted.status != null && deleted.status.getStatus().equals("Success"), "ProtoClient deletes");
    var gone = proto.<ConfigMap>get(ConfigMap.newBuilder(), collection + "/proto");
    expect(gone.object == null && gone.status.getCode() == 404, "what it deleted is gone");
  }

  public static void main(String[] arguments) throws Exception {
    ApiClient client = Config.defaultClient();
    Configuration.setDefaultApiClient(client);
    CoreV1Api api = new CoreV1Api(client);
    api.createNamespace(new V1Namespace().metadata(new V1ObjectMeta().name(NAMESPACE))).execute();
    writes(api);
    watches(client, api);
    informs(client, api);
    speaksProtobuf(client);
    api.deleteCollectionNamespacedConfigMap(NAMESPACE).labelSelector("of=java").execute();
    expect(api.listNamespacedConfigMap(NAMESPACE).labelSelector("of=java").execute().getItems().isEmpty(), "a collection is deleted");
    System.out.println("done");
    System.exit(0);
  }
}
