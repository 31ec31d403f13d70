"""A Python program with Debian's python3-kubernetes: write, read, list, watch, patch, and custom kinds."""
import threading

from server import Cardea, eventually, expect, skip
from story import Story

try:
    from kubernetes import client, config, watch
except ImportError:
    client = None

story = Story("python_client_story")


@story.shared
def api():
    if client is None:
        skip("Debian's package python3-kubernetes is not installed")
    with Cardea() as server:
        yield config.new_client_from_config(server.kubeconfig)


@story.shared
def core(api):
    """A server with a namespace `garden`, and the objects that controllers create in it."""
    core = client.CoreV1Api(api)
    core.create_namespace(client.V1Namespace(metadata=meta("garden")))
    eventually("the namespace has its certificate", lambda: core.list_namespaced_config_map("garden").items)
    return core


@story.shared
def apps(api, core):
    return client.AppsV1Api(api)


def refused(status, call, *args, **kwargs):
    """The ApiException of a call that must fail with this status."""
    try:
        call(*args, **kwargs)
    except client.ApiException as error:
        expect(error.status == status, f"{call.__name__}: {error.status} {error.body}, not {status}")
        return error
    raise AssertionError(f"{call.__name__} worked and should have given {status}")


def meta(name, **more):
    return client.V1ObjectMeta(name=name, **more)


@story.chapter
def the_version(api):
    expect(client.VersionApi(api).get_code().major == "1", "no version")


@story.chapter
def namespaces_and_config_maps(core):
    refused(409, core.create_namespace, client.V1Namespace(metadata=meta("garden")))
    made = core.create_namespaced_config_map("garden", client.V1ConfigMap(metadata=meta("beds", labels={"row": "1"}), data={"a": "roses"}))
    expect(made.metadata.uid and made.metadata.resource_version, "a created object has neither uid nor resourceVersion")
    read = core.read_namespaced_config_map("beds", "garden")
    expect(read.data == {"a": "roses"}, f"read back {read.data}")

    patched = core.patch_namespaced_config_map("beds", "garden", {"data": {"b": "tulips"}})
    expect(patched.data == {"a": "roses", "b": "tulips"}, f"the patch gave {patched.data}")
    read.data["a"] = "stale"
    refused(409, core.replace_namespaced_config_map, "beds", "garden", read)
    patched.data["a"] = "lilies"
    replaced = core.replace_namespaced_config_map("beds", "garden", patched)
    expect(replaced.data["a"] == "lilies", f"the update gave {replaced.data}")

    for i in range(7):
        core.create_namespaced_config_map("garden", client.V1ConfigMap(metadata=meta(f"pot-{i}", labels={"row": str(i % 2)})))
    odd = core.list_namespaced_config_map("garden", label_selector="row=1")
    expect(sorted(o.metadata.name for o in odd.items) == ["beds", "pot-1", "pot-3", "pot-5"], f"selected {[o.metadata.name for o in odd.items]}")
    one = core.list_namespaced_config_map("garden", field_selector="metadata.name=pot-2")
    expect([o.metadata.name for o in one.items] == ["pot-2"], "a field selector did not select by name")

    names, token = [], None
    while True:
        page = core.list_namespaced_config_map("garden", limit=3, _continue=token)
        names += [o.metadata.name for o in page.items]
        token = page.metadata._continue
        if not token:
            break
    expect(sorted(set(names)) == sorted(names) and len([n for n in names if n.startswith("pot-")]) == 7, f"pages gave {names}")

    core.delete_namespaced_config_map("pot-0", "garden")
    refused(404, core.read_namespaced_config_map, "pot-0", "garden")
    core.delete_collection_namespaced_config_map("garden", label_selector="row=0")
    left = core.list_namespaced_config_map("garden", label_selector="row=0")
    expect(not left.items, "deletecollection left something")


@story.chapter
def a_deployment(apps):
    labels = {"app": "web"}
    body = client.V1Deployment(
        metadata=meta("web"),
        spec=client.V1DeploymentSpec(
            replicas=2, selector=client.V1LabelSelector(match_labels=labels),
            template=client.V1PodTemplateSpec(metadata=client.V1ObjectMeta(labels=labels),
                                              spec=client.V1PodSpec(containers=[client.V1Container(name="c", image="nginx")]))))
    made = apps.create_namespaced_deployment("garden", body)
    expect(made.spec.strategy.type == "RollingUpdate" and made.metadata.generation == 1, "a deployment was not defaulted")
    scale = apps.read_namespaced_deployment_scale("web", "garden")
    expect(scale.spec.replicas == 2, f"scale says {scale.spec.replicas}")
    apps.patch_namespaced_deployment_scale("web", "garden", {"spec": {"replicas": 5}})
    # A strategic merge patch, as this client sends by default: containers merge by name.
    apps.patch_namespaced_deployment("web", "garden", {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "busybox"}]}}}})
    now = apps.read_namespaced_deployment("web", "garden")
    expect(now.spec.replicas == 5, f"scaled to {now.spec.replicas}")
    expect(sorted(c.name for c in now.spec.template.spec.containers) == ["c", "side"], "containers were not merged by name")
    body.spec.replicas, body.metadata.name = -1, "bad"
    error = refused(422, apps.create_namespaced_deployment, "garden", body)
    expect("spec.replicas" in error.body, f"the refusal does not name the field: {error.body}")


@story.chapter
def watching(core):
    seen, started = [], threading.Event()
    version = core.list_namespaced_config_map("garden").metadata.resource_version

    def follow():
        watcher = watch.Watch()
        started.set()
        for event in watcher.stream(core.list_namespaced_config_map, "garden", resource_version=version, timeout_seconds=60):
            seen.append((event["type"], event["object"].metadata.name))
            if event["type"] == "DELETED":
                watcher.stop()

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    started.wait()
    core.create_namespaced_config_map("garden", client.V1ConfigMap(metadata=meta("moth"), data={"wings": "2"}))
    core.patch_namespaced_config_map("moth", "garden", {"data": {"wings": "4"}})
    core.delete_namespaced_config_map("moth", "garden")
    thread.join(60)
    expect(seen == [("ADDED", "moth"), ("MODIFIED", "moth"), ("DELETED", "moth")], f"watched {seen}")


@story.chapter
def kinds_of_its_own(api, core):
    schema = {"type": "object", "properties": {"spec": {"type": "object", "required": ["colour"], "properties": {
        "colour": {"type": "string", "enum": ["red", "white"]}, "petals": {"type": "integer", "default": 5, "minimum": 1}}}}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "roses.garden.example.com"},
        "spec": {"group": "garden.example.com", "scope": "Namespaced", "names": {"plural": "roses", "singular": "rose", "kind": "Rose"},
                 "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]}}
    extensions, custom = client.ApiextensionsV1Api(api), client.CustomObjectsApi(api)
    extensions.create_custom_resource_definition(definition)

    def established():
        found = extensions.read_custom_resource_definition("roses.garden.example.com").status
        return any(c.type == "Established" and c.status == "True" for c in (found.conditions or []))
    eventually("the definition is Established", established)
    where = ("garden.example.com", "v1", "garden", "roses")
    rose = {"apiVersion": "garden.example.com/v1", "kind": "Rose", "metadata": {"name": "alba"}, "spec": {"colour": "white", "weeds": 3}}

    def first():
        try:
            return custom.create_namespaced_custom_object(*where, rose)
        except client.ApiException as error:
            expect(error.status == 404, f"creating a rose: {error.status} {error.body}")  # served within a second
    made = eventually("the new kind is served", first)
    expect(made["spec"] == {"colour": "white", "petals": 5}, f"defaulted and pruned to {made['spec']}")
    refused(422, custom.create_namespaced_custom_object, *where, {**rose, "metadata": {"name": "blue"}, "spec": {"colour": "blue"}})
    custom.patch_namespaced_custom_object(*where, "alba", {"spec": {"petals": 6}})
    expect([o["spec"]["petals"] for o in custom.list_namespaced_custom_object(*where)["items"]] == [6], "the patch is not in the list")
    custom.delete_namespaced_custom_object(*where, "alba")
    refused(404, custom.get_namespaced_custom_object, *where, "alba")
    extensions.delete_custom_resource_definition("roses.garden.example.com")

    def gone():
        try:
            custom.list_namespaced_custom_object(*where)
        except client.ApiException as error:
            return error.status == 404
    eventually("the deleted kind is served no more", gone)


@story.chapter
def a_namespace_goes(core):
    core.create_namespace(client.V1Namespace(metadata=meta("meadow")))
    core.create_namespaced_config_map("meadow", client.V1ConfigMap(metadata=meta("grass")))
    core.delete_namespace("meadow")

    def emptied():
        try:
            core.read_namespace("meadow")
        except client.ApiException as error:
            return error.status == 404
    eventually("the deleted namespace is gone", emptied)


if __name__ == "__main__":
    story.main()
