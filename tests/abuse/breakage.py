"""What breaks by itself: a damaged record, a database that is gone, a disk that is full, keys that others can read."""
import contextlib
import http.client
import os
import shutil
import sqlite3
import ssl
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from probe import metric  # noqa: E402
from server import Cardea, binary, eventually, exchange, expect, skip  # noqa: E402
from story import Story  # noqa: E402

story = Story("breakage")

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def log_of(server):
    with open(server.log_path, errors="replace") as log:
        return log.read()


def is_alive(server):
    try:
        return server.request("GET", "/livez", seconds=5)[0] == 200
    except (OSError, http.client.HTTPException):
        return False


def start_fails(server):
    """Starts the server, which must end by itself; returns what it said."""
    server.kill()
    ended = subprocess.run(server.command(), stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    expect(ended.returncode == 1, f"the exit status is {ended.returncode}: {ended.stderr[-500:]}")
    return ended.stderr.decode()


def replaced(server, like, value):
    """Puts this value into the only record whose key is like that, while the server is stopped; returns the one before."""
    with contextlib.closing(sqlite3.connect(os.path.join(server.data_dir, "store", "cardea.db"))) as database:
        before = database.execute("SELECT key, value FROM live WHERE key LIKE ?", (like,)).fetchall()
        expect(len(before) == 1, f"{like}: {len(before)} records")
        database.execute("UPDATE live SET value=? WHERE key=?", (value, before[0][0]))
        database.commit()
    return before[0][1]


@story.chapter
def a_record_that_cannot_be_read():
    with Cardea() as server:
        for name in ("good", "bad", "other"):
            expect(server.request("POST", CONFIG_MAPS, {"metadata": {"name": name}, "data": {"a": "b"}})[0] == 201, "not created")
        server.stop()
        replaced(server, "%/configmaps/default/bad", b'{"kind":"Conf')
        verify = subprocess.run([binary(), "store", "verify", "--data-dir", server.data_dir], capture_output=True, text=True, timeout=60)
        expect(verify.returncode == 1 and "/configmaps/default/bad: " in verify.stdout and "1 damaged" in verify.stdout,
               f"store verify: {verify.returncode} {verify.stdout} {verify.stderr}")
        server.start()
        expect("/configmaps/default/bad" in log_of(server), "the log does not name the record")
        expect(metric(server, "cardea_store_unreadable_records") == 1, "the metric does not count the record")
        for _ in range(2):
            status, _, answer = server.request("GET", CONFIG_MAPS + "/bad")
            expect(status == 500 and "/configmaps/default/bad" in answer["message"], f"{status} {answer}")
            for accept in ("application/json", "application/json;as=Table;v=v1;g=meta.k8s.io", "application/vnd.kubernetes.protobuf"):
                status, headers, answer = server.request("GET", CONFIG_MAPS, headers={"Accept": accept})
                expect(status == 200 and "/configmaps/default/bad" in headers.get("Warning", ""), f"{accept}: {status} {headers}")
            for method, body in (("DELETE", None), ("PATCH", {"data": {"a": "c"}}), ("PUT", {"metadata": {"name": "bad"}, "data": {}})):
                headers = {"Content-Type": "application/merge-patch+json"} if method == "PATCH" else {}
                status, _, answer = server.request(method, CONFIG_MAPS + "/bad", body, headers)
                expect(status == 500, f"{method}: {status} {answer}")
        names = [i["metadata"]["name"] for i in server.request("GET", CONFIG_MAPS)[2]["items"]]
        expect("good" in names and "other" in names and "bad" not in names, f"the list has {names}")
        expect(server.request("DELETE", CONFIG_MAPS + "/good")[0] == 200, "another object cannot be deleted")
        expect(server.request("GET", "/readyz")[0] == 200, "the server is not ready")


def as_bob(server, method, path, body):
    context = ssl.create_default_context(cafile=os.path.join(server.data_dir, "ca.crt"))
    with contextlib.closing(http.client.HTTPSConnection("127.0.0.1", server.port, timeout=60, context=context)) as connection:
        return exchange(connection, method, path, body, {"Authorization": "Bearer token-bob"})


@story.chapter
def policy_that_cannot_be_read_refuses():
    """Whatever a damaged record of policy forbade stays forbidden after a restart; administrators can mend it."""
    registration = "/apis/admissionregistration.k8s.io/v1"
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["secrets"]}]
    matches = {"resourceRules": rules}
    hook = {"name": "a.example.com", "clientConfig": {"url": "https://127.0.0.1:1/"}, "sideEffects": "None", "admissionReviewVersions": ["v1"], "rules": rules}
    bound = {"policyName": "p", "matchResources": {"resourceRules": [{**rules[0], "resources": ["configmaps"]}]}}
    objects = [
        ("/apis/access.cardea.dev/v1alpha1/clusteraccesspolicies", "clusteraccesspolicies", {"metadata": {"name": "p"}, "spec": {
            "effect": "Deny", "subjects": [{"kind": "User", "name": "eve"}], "rules": [{"verbs": ["create"], "apiGroups": [""], "resources": ["secrets"]}]}}),
        (registration + "/validatingwebhookconfigurations", "validatingwebhookconfigurations", {"metadata": {"name": "p"}, "webhooks": [hook]}),
        (registration + "/mutatingwebhookconfigurations", "mutatingwebhookconfigurations", {"metadata": {"name": "p"}, "webhooks": [hook]}),
        (registration + "/validatingadmissionpolicies", "validatingadmissionpolicies", {"metadata": {"name": "p"}, "spec": {
            "matchConstraints": {"resourceRules": [{**rules[0], "resources": ["configmaps"]}]}, "validations": [{"expression": "true"}]}}),
        (registration + "/validatingadmissionpolicybindings", "validatingadmissionpolicybindings", {"metadata": {"name": "p"}, "spec": {**bound, "validationActions": ["Deny"]}}),
        (registration + "/mutatingadmissionpolicies", "mutatingadmissionpolicies", {"metadata": {"name": "p"}, "spec": {
            "reinvocationPolicy": "Never", "matchConstraints": matches, "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: 'test', path: '/kind', value: 'Secret'}]"}}]}}),
        (registration + "/mutatingadmissionpolicybindings", "mutatingadmissionpolicybindings", {"metadata": {"name": "p"}, "spec": bound}),
        ("/apis/permissionconfig.k8s.io/v1/uncoveredpermissionsets", "uncoveredpermissionsets", {"metadata": {"name": "p"}, "spec": {
            "uncoveredPermissions": ["granular:ownerReferences"]}}),
        ("/apis/access.cardea.dev/v1alpha1/permissionmaps", "permissionmaps", {"metadata": {"name": "p"}, "spec": {
            "resource": "nodes", "permissions": [{"field": "spec.unschedulable", "verb": "cordon"}]}}),
    ]
    with tempfile.TemporaryDirectory() as folder:
        tokens = os.path.join(folder, "tokens")
        with open(tokens, "w") as file:
            file.write("token-bob,bob,bob\n")
        with Cardea(f"--token-auth-file={tokens}") as server:
            binding = {"metadata": {"name": "bob"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
                       "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "bob"}]}
            expect(server.request("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)[0] == 201, "the binding of bob")
            for path, _, body in objects:
                status, _, said = server.request("POST", path, body)
                expect(status == 201, f"{path}: {status} {said}")
            expect(as_bob(server, "POST", CONFIG_MAPS, {"metadata": {"generateName": "a"}})[0] == 201, "bob, before")
            for path, resource, body in objects:
                server.stop()
                sound = replaced(server, f"%/{resource}/p", b"junk")
                server.start()
                status, _, said = as_bob(server, "POST", CONFIG_MAPS, {"metadata": {"generateName": "a"}})
                expect(status in (403, 422, 500), f"{resource} cannot be read, and bob writes: {status} {said}")
                status, _, said = server.request("POST", CONFIG_MAPS, {"metadata": {"generateName": "a"}})
                expect(status == 201, f"{resource} cannot be read, and administrators are kept out: {status} {said}")
                server.stop()
                replaced(server, f"%/{resource}/p", sound)
                server.start()
                expect(as_bob(server, "POST", CONFIG_MAPS, {"metadata": {"generateName": "a"}})[0] == 201, f"bob, when {resource} is mended")


@story.chapter
def limits_that_cannot_be_read_refuse():
    """A quota, a limit range and a parameter of an admission policy: whatever they limited is refused until they are mended."""
    registration = "/apis/admissionregistration.k8s.io/v1"
    spaced = lambda resource: f"/api/v1/namespaces/default/{resource}"  # noqa: E731
    pod = {"metadata": {"generateName": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    limits = [
        ("resourcequotas", {"spec": {"hard": {"pods": "1000"}}}, "pods", pod),
        ("limitranges", {"spec": {"limits": [{"type": "Container", "max": {"cpu": "4"}}]}}, "pods", pod),
        ("configmaps", {"metadata": {"labels": {"is": "parameter"}}, "data": {"longest": "100"}}, "endpoints", {"metadata": {"generateName": "e"}}),
    ]
    with Cardea("--disable-admission-plugins=ServiceAccount") as server:
        made = server.request("POST", registration + "/validatingadmissionpolicies", {"metadata": {"name": "longest"}, "spec": {
            "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["endpoints"]}]},
            "validations": [{"expression": "object.metadata.name.size() < int(params.data.longest)"}]}})
        expect(made[0] == 201, f"the policy: {made}")
        made = server.request("POST", registration + "/validatingadmissionpolicybindings", {"metadata": {"name": "longest"}, "spec": {
            "policyName": "longest", "validationActions": ["Deny"],
            "paramRef": {"selector": {"matchLabels": {"is": "parameter"}}, "namespace": "default", "parameterNotFoundAction": "Allow"}}})
        expect(made[0] == 201, f"the binding: {made}")
        for resource, body, limited, example in limits:
            meta = {**body.get("metadata", {}), "name": "limit"}
            made = server.request("POST", spaced(resource), {**body, "metadata": meta})
            expect(made[0] == 201, f"{resource}: {made}")
            made = server.request("POST", spaced(limited), example)
            expect(made[0] == 201, f"{limited} within {resource}: {made}")
            server.stop()
            sound = replaced(server, f"%/{resource}/default/limit", b"junk")
            server.start()
            status, _, said = server.request("POST", spaced(limited), example)
            expect(status in (403, 422, 500) and "cannot be read" in said["message"], f"{resource} cannot be read: {status} {said}")
            server.stop()
            replaced(server, f"%/{resource}/default/limit", sound)
            server.start()
            expect(server.request("POST", spaced(limited), example)[0] == 201, f"{resource} is mended, and {limited} are refused")


@story.chapter
def a_database_that_is_gone():
    with Cardea() as server:
        server.request("POST", CONFIG_MAPS, {"metadata": {"name": "kept"}})
        server.stop()
        store = os.path.join(server.data_dir, "store")
        away = os.path.join(server.folder, "away")
        shutil.copytree(store, away)
        for name in os.listdir(store):
            if name.startswith("cardea.db"):
                os.remove(os.path.join(store, name))
        expect("is missing, but there was one" in start_fails(server), "a missing database is a fresh start")
        with open(os.path.join(store, "cardea.db"), "w"):
            pass
        expect("is empty, but there was one" in start_fails(server), "an empty database is a fresh start")
        shutil.rmtree(store)
        shutil.copytree(away, store)
        server.start()
        expect(server.request("GET", CONFIG_MAPS + "/kept")[0] == 200, "the restored database is not used")


@story.chapter
def a_full_disk():
    mount = tempfile.mkdtemp(prefix="cardea-full-")
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", mount], capture_output=True).returncode != 0:
        os.rmdir(mount)
        skip("a small disk cannot be mounted here")
    try:
        with Cardea(data_dir=os.path.join(mount, "data")) as server:
            stored = []
            for i in range(400):
                status, _, answer = server.request("POST", CONFIG_MAPS, {"metadata": {"name": f"c{i}"}, "data": {"x": "y" * 200_000}})
                if status != 201:
                    break
                stored.append(f"c{i}")
            expect(status == 503 and "full" in answer["message"], f"{status} {answer}")
            eventually("the log says it", lambda: "the store has trouble" in log_of(server))
            expect(log_of(server).count("the store has trouble") == 1, "the log says it more than once")
            expect(metric(server, "cardea_store_refused_writes_total") >= 1, "refused writes are not counted")
            expect(server.request("GET", "/readyz")[0] != 200, "/readyz does not say it")
            expect(server.request("GET", CONFIG_MAPS + "/" + stored[0])[0] == 200, "nothing can be read")
            gone = [server.request("DELETE", f"{CONFIG_MAPS}/{name}")[0] for name in stored[:10]]
            expect(gone.count(200) == len(gone), f"deletes on a full disk: {gone}")
            # What makes room outside is enough, too.
            server.kill()
            filler = os.path.join(mount, "filler")
            try:
                with open(filler, "wb", buffering=0) as file:
                    while file.write(b"x" * 65536):
                        pass
            except OSError:
                pass
            server.ready = lambda: is_alive(server)  # /readyz says that the store has trouble
            server.start()
            expect(server.request("GET", f"{CONFIG_MAPS}/{stored[-1]}")[0] == 200, "after a start on a full disk nothing can be read")
            os.remove(filler)
            eventually("writes work again without a restart", lambda: server.request(
                "POST", CONFIG_MAPS, {"metadata": {"generateName": "after-"}, "data": {"x": "y"}})[0] == 201)
            eventually("/readyz is well again", lambda: server.request("GET", "/readyz")[0] == 200)
    finally:
        subprocess.run(["umount", "-l", mount], capture_output=True)
        os.rmdir(mount)


@story.chapter
def keys_that_others_can_read():
    with Cardea() as server:
        server.stop()
        for name in ("ca.key", "server.key", "admin.key"):
            path = os.path.join(server.data_dir, name)
            os.chmod(path, 0o644)
            expect("others can read" in start_fails(server), f"{name} may be read by others")
            os.chmod(path, 0o600)
        server.start()
        _, _, text = server.request("GET", "/metrics")
        for name in ("serving", "authority", "administrator"):
            expect(f'cardea_certificate_expiration_timestamp_seconds{{certificate="{name}"}}' in text.decode(), f"no metric of {name}")


@story.chapter
def the_sandbox():
    """Whoever takes the server over can start nothing, and writes nowhere but into the data folder."""
    with Cardea("--sandbox=on") as server:
        with open(f"/proc/{server.process.pid}/status") as file:
            status = dict(line.split(":", 1) for line in file.read().splitlines() if ":" in line)
        expect(status["Seccomp"].strip() == "2", f"no seccomp filter: {status['Seccomp']}")
        expect(status["NoNewPrivs"].strip() == "1", "the process can gain privileges")
        expect("sandboxed by" in log_of(server), "the log does not say that there is a sandbox")
        expect(server.request("POST", CONFIG_MAPS, {"metadata": {"name": "x"}})[0] == 201, "a sandboxed server does not write")
    with Cardea("--sandbox=off") as server:
        with open(f"/proc/{server.process.pid}/status") as file:
            expect("Seccomp:\t0" in file.read(), "--sandbox=off has no effect")


if __name__ == "__main__":
    story.main()
