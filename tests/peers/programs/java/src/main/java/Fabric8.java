import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

/** fabric8 with its defaults: create, list, patch, watch (over WebSocket), informers, delete. Reads $KUBECONFIG. */
public class Fabric8 {
  static final String NAMESPACE = "fabric8";

  static void expect(boolean condition, String what) {
    if (!condition) throw new AssertionError("not so: " + what);
    System.out.println("ok: " + what);
  }

  static ConfigMap map(String name) {
    return new ConfigMapBuilder().withNewMetadata().withName(name).addToLabels("of", "java").endMetadata().addToData("v", "0").build();
  }

  static void eventually(java.util.function.BooleanSupplier condition, String what) throws InterruptedException {
    for (int i = 0; i < 600 && !condition.getAsBoolean(); ++i) Thread.sleep(50);
    expect(condition.getAsBoolean(), what);
  }

  static void writes(KubernetesClient client) {
    var maps = client.configMaps().inNamespace(NAMESPACE);
    for (int i = 0; i < 5; ++i) maps.resource(map("m" + i)).create();
    try {
      maps.resource(map("m0")).create();
      expect(false, "a name that is taken is a conflict");
    } catch (KubernetesClientException e) {
      expect(e.getCode() == 409, "a name that is taken is a conflict");
    }
    expect(maps.withLabel("of", "java").list().getItems().size() == 5, "a list has what was created");
    ConfigMap merged = maps.withName("m1").patch(PatchContext.of(PatchType.JSON_MERGE), "{\"data\":{\"v\":\"1\"}}");
    expect(merged.getData().get("v").equals("1"), "a merge patch changes the object");
    ConfigMap edited = maps.withName("m2").edit(m -> new ConfigMapBuilder(m).addToData("w", "2").build());
    expect(edited.getData().size() == 2, "an edit changes the object");
    ConfigMap applied = maps.resource(new ConfigMapBuilder(map("m3")).addToData("v", "3").build()).fieldManager("java").forceConflicts().serverSideApply();
    expect(applied.getData().get("v").equals("3"), "an apply changes the object");
  }

  static void watches(KubernetesClient client) throws Exception {
    List<String> seen = new CopyOnWriteArrayList<>();
    var maps = client.configMaps().inNamespace(NAMESPACE);
    try (var watch = maps.watch(new Watcher<ConfigMap>() {
      @Override
      public void eventReceived(Action action, ConfigMap object) {
        if (object.getMetadata().getName().equals("watched")) seen.add(action.name());
      }

      @Override
      public void onClose(WatcherException cause) {
        seen.add("closed " + cause);
      }
    })) {
      maps.resource(map("watched")).create();
      maps.withName("watched").edit(m -> new ConfigMapBuilder(m).addToData("v", "1").build());
      maps.withName("watched").delete();
      eventually(() -> seen.size() >= 3, "a watch gets its events");
      expect(seen.equals(List.of("ADDED", "MODIFIED", "DELETED")), "a watch sees what happens: " + seen);
    }
  }

  static void informs(KubernetesClient client) throws Exception {
    var maps = client.configMaps().inNamespace(NAMESPACE);
    List<String> added = new CopyOnWriteArrayList<>();
    try (SharedIndexInformer<ConfigMap> informer = maps.withLabel("of", "java").inform(new ResourceEventHandler<>() {
      @Override
      public void onAdd(ConfigMap object) {
        added.add(object.getMetadata().getName());
      }

      @Override
      public void onUpdate(ConfigMap before, ConfigMap after) {}

      @Override
      public void onDelete(ConfigMap object, boolean isUnknown) {}
    })) {
      eventually(() -> informer.hasSynced() && informer.getStore().list().size() == 5, "an informer fills its cache");
      maps.resource(map("late")).create();
      eventually(() -> added.contains("late"), "an informer follows");
      maps.withName("late").withTimeout(30, TimeUnit.SECONDS).delete();
    }
  }

  public static void main(String[] arguments) throws Exception {
    try (KubernetesClient client = new KubernetesClientBuilder().build()) {
      System.out.println("server " + client.getKubernetesVersion().getGitVersion());
      client.namespaces().resource(new NamespaceBuilder().withNewMetadata().withName(NAMESPACE).endMetadata().build()).create();
      writes(client);
      watches(client);
      informs(client);
      client.configMaps().inNamespace(NAMESPACE).withLabel("of", "java").delete();
      eventually(() -> client.configMaps().inNamespace(NAMESPACE).withLabel("of", "java").list().getItems().isEmpty(), "a collection is deleted");
    }
    System.out.println("done");
    System.exit(0);
  }
}
