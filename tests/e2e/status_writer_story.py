"""A controller that was not changed works with permissions on fields: client-go's UpdateStatus of a DaemonSet, in JSON and in Protobuf.

`tests/peers/programs/status-writer` is the controller. Only with `./dev test --with-peers`.
"""
import os
import subprocess
import tempfile

from cluster import program
from server import Cardea, expect
from story import Story

story = Story("status_writer_story")

NAMES = ["writer", "blind", "reader"]
SETS = "/apis/apps/v1/namespaces/default/daemonsets"
RBAC = "/apis/rbac.authorization.k8s.io/v1/"
LABELS = {"app": "agent"}
AGENT = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}, "spec": {
    "selector": {"matchLabels": LABELS}, "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}


def made(server, path, body):
    status, _, said = server.request("POST", path, body)
    expect(status == 201, f"{path}: {status} {said}")
    return said


def grant(server, user, *rules):
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": user}
    made(server, RBAC + "clusterroles", {"metadata": {"name": user}, "rules": [{"apiGroups": ["apps"], "resources": [resource], "verbs": verbs} for resource, verbs in rules]})
    made(server, RBAC + "clusterrolebindings", {"metadata": {"name": user}, "roleRef": role, "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]})


@story.shared
def server():
    program("status-writer")
    with tempfile.TemporaryDirectory(prefix="cardea-status-writer-") as folder:
        tokens = os.path.join(folder, "tokens")
        with open(tokens, "w") as f:
            f.writelines(f"{name}-token,{name},{i}\n" for i, name in enumerate(NAMES))
        with Cardea("--token-auth-file", tokens) as server:
            made(server, SETS, AGENT)
            grant(server, "writer", ("daemonsets", ["get"]), ("daemonsets/status", ["granular", "granular:status"]))
            grant(server, "blind", ("daemonsets/status", ["granular", "granular:status"]))
            grant(server, "reader", ("daemonsets", ["get"]))
            yield server


def run(server, user, ready, *flags):
    with tempfile.NamedTemporaryFile("w", suffix=".kubeconfig") as config:
        config.write(f"""apiVersion: v1
kind: Config
current-context: it
contexts: [{{name: it, context: {{cluster: it, user: it}}}}]
clusters: [{{name: it, cluster: {{server: "{server.base}", certificate-authority: "{server.data_dir}/ca.crt"}}}}]
users: [{{name: it, user: {{token: {user}-token}}}}]
""")
        config.flush()
        done = subprocess.run([program("status-writer"), "--kubeconfig", config.name, "--name", "agent", "--ready", str(ready), *flags], text=True, capture_output=True, timeout=120)
    print(done.stdout, done.stderr)
    return done.returncode, done.stdout


def ready(server):
    return server.request("GET", SETS + "/agent")[2]["status"].get("numberReady", 0)


@story.chapter
def a_controller_is_not_changed(server):
    for number, flags in ((3, []), (4, ["--protobuf"])):
        status, said = run(server, "writer", number, *flags)
        expect(status == 0 and f"{number} ready, 1 containers" in said, said)
        expect(ready(server) == number, "the status was not written")


@story.chapter
def without_the_permission_nothing_is_written(server):
    before = ready(server)
    for user, why in (("blind", 'cannot get resource "daemonsets"'), ("reader", 'cannot update resource "daemonsets/status"')):
        status, said = run(server, user, before + 5)
        expect(status == 1 and why in said, said)
    expect(ready(server) == before, "a refused request wrote")


if __name__ == "__main__":
    story.main()
