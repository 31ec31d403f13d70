"""Authorizers: --authorization-config with a webhook, its reload, and Cardea as the webhook of another server.

The other server is a second Cardea, and with $CARDEA_PEERS (a folder with kube-apiserver and etcd) a real kube-apiserver.
"""
import http.server
import json
import os
import shutil
import ssl
import subprocess
import sys
import threading
import time
import urllib.request

from server import Cardea, binary, eventually, expect, free_port
from story import Story

story = Story("authorization_story")

RULES = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:\n"
RBAC = "- {type: Node, name: node}\n- {type: RBAC, name: rbac}\n"
# The request of kube-apiserver 1.36, with other names.
REVIEW = ('{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{},"spec":{"resourceAttributes":{"namespace":"default",'
          '"verb":"list","version":"v1","resource":"pods","fieldSelector":{"requirements":[{"key":"spec.nodeName","operator":"In","values":["x"]}]},'
          '"labelSelector":{"requirements":[{"key":"a","operator":"In","values":["b","c"]}]}},"user":"jane","groups":["dev","system:authenticated"],'
          '"uid":"7"},"status":{"allowed":false}}')
REVIEW_HEADERS = {"User-Agent": "Go-http-client/1.1", "Accept": "application/json, */*", "Content-Type": "application/json", "Accept-Encoding": "gzip"}
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


def webhook(kubeconfig, name="hook", policy="NoOpinion", conditions=""):
    return (f"- type: Webhook\n  name: {name}\n  webhook:\n    timeout: 5s\n    subjectAccessReviewVersion: v1\n    failurePolicy: {policy}\n"
            f"    matchConditionSubjectAccessReviewVersion: v1\n    authorizedTTL: 1s\n    unauthorizedTTL: 1s\n"
            f"    connectionInfo: {{type: KubeConfigFile, kubeConfigFile: {kubeconfig}}}\n{conditions}")


def kubeconfig_for(path, server, ca, token=None):
    user = f"{{token: {token}}}" if token else "{}"
    with open(path, "w") as f:
        f.write(f'apiVersion: v1\nkind: Config\nclusters: [{{name: c, cluster: {{server: "{server}", certificate-authority: {ca}}}}}]\n'
                f"users: [{{name: u, user: {user}}}]\ncontexts: [{{name: d, context: {{cluster: c, user: u}}}}]\ncurrent-context: d\n")


class Hook(http.server.BaseHTTPRequestHandler):
    """Allows user `friend`, denies `foe`, answers nonsense for `odd`, has no opinion about others."""
    protocol_version = "HTTP/1.1"
    seen = []

    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        user = review["spec"].get("user")
        Hook.seen.append(user)
        status = {"allowed": user == "friend", "denied": user == "foe", "reason": "the hook says so"}
        body = b"nonsense" if user == "odd" else json.dumps({"apiVersion": review["apiVersion"], "kind": review["kind"], "status": status}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def as_user(server, token, method, path):
    request = urllib.request.Request(server.base + path, method=method, headers={"Authorization": f"Bearer {token}"})
    context = ssl.create_default_context(cafile=os.path.join(server.data_dir, "ca.crt"))
    try:
        with urllib.request.urlopen(request, context=context, timeout=30) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


@story.chapter
def configured_by_file():
    folder = Cardea().folder
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{folder}/hook.key", "-out", f"{folder}/hook.crt",
                    "-subj", "/CN=hook", "-days", "3", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    hook = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/hook.crt", f"{folder}/hook.key")
    hook.socket = context.wrap_socket(hook.socket, server_side=True)
    threading.Thread(target=hook.serve_forever, daemon=True).start()
    kubeconfig_for(f"{folder}/hook.kubeconfig", f"https://127.0.0.1:{hook.server_port}/authorize", f"{folder}/hook.crt")
    with open(f"{folder}/users.csv", "w") as f:
        f.writelines(f"{u},{u},{u}\n" for u in ("friend", "foe", "odd", "stranger"))
    config = f"{folder}/authorization.yaml"

    def write(text):
        with open(config + ".new", "w") as f:
            f.write(RULES + text)
        os.rename(config + ".new", config)

    write(webhook(f"{folder}/hook.kubeconfig") + RBAC)
    with Cardea("--token-auth-file", f"{folder}/users.csv", "--authorization-config", config, "--v=1") as server:
        pods = "/api/v1/namespaces/default/pods"
        expect(as_user(server, "friend", "GET", pods)[0] == 200, "whom the webhook allows")
        status, headers, body = as_user(server, "foe", "GET", pods)
        expect(status == 403 and json.loads(body)["message"].endswith('in the namespace "default": the hook says so'), f"whom it denies: {status} {body}")
        expect(headers["X-Content-Type-Options"] == "nosniff", "a 403 of the chain is not sniffed")
        status, headers, body = as_user(server, "odd", "GET", pods + "?a=<b>")
        expect(status == 500 and headers["Content-Type"].startswith("text/plain"), f"an error is no refusal: {status} {body}")
        expect(body.startswith('Internal Server Error: "' + pods) and "&lt;" in body and body.endswith("\n"), body)
        expect(as_user(server, "stranger", "GET", pods)[0] == 403, "whom nobody allows")
        admin_asked = len(Hook.seen)
        expect(server.request("GET", pods)[0] == 200 and len(Hook.seen) == admin_asked, "system:masters are not asked about")

        write(webhook(f"{folder}/hook.kubeconfig", conditions="    matchConditions: [{expression: \"request.user != 'foe'\"}, {expression: \"request.user != 'friend'\"}]\n") + RBAC)
        eventually("a changed file is taken over", lambda: as_user(server, "friend", "GET", pods)[0] == 403)
        write("- {type: AlwaysAllow, name: alwaysallow}\n" + RBAC)
        metrics = lambda: server.request("GET", "/metrics")[2].decode()
        eventually("a file that would open the server is refused", lambda: 'automatic_reloads_total{status="failure"' in metrics())
        write("- {type: RBAC, name: rbac}\n")
        eventually("one that drops an authorizer too", lambda: re_count(metrics(), 'automatic_reloads_total{status="failure"') >= 2)
        expect(as_user(server, "friend", "GET", pods)[0] == 403, "the old chain decides on")
        write(webhook(f"{folder}/hook.kubeconfig", policy="Deny") + RBAC)
        eventually("and a good one takes over again", lambda: as_user(server, "friend", "GET", pods)[0] == 200)
        text = metrics()
        for line in ('apiserver_authorization_decisions_total{type="Webhook",name="hook",decision="allowed"}', 'authorization_attempts_total{result="error"} 1',
                     'apiserver_authorization_webhook_evaluations_total{name="hook",result="success"}', "apiserver_authorization_config_controller_last_config_info{"):
            expect(line in text, f"no {line} in /metrics")
    hook.shutdown()

    for text in ("", "authorizers: []", RULES + "- {type: RBAC, name: other}\n", RULES + "- {type: RBAC, nam: rbac}\n"):
        with open(config, "w") as f:
            f.write(text)
        done = subprocess.run([binary(), "serve", "--data-dir", f"{folder}/never", "--secure-port", str(free_port()), "--authorization-config", config], capture_output=True, text=True, timeout=60)
        expect(done.returncode in (1, 2) and config in done.stderr, f"a broken file stops the start: {done.returncode} {done.stderr}")


def re_count(text, start):
    for line in text.splitlines():
        if start in line:
            return int(float(line.rsplit(" ", 1)[1]))
    return 0


def grant(server):
    """jane may list pods in default; the user `asker` may send reviews."""
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    for path, kind, body in (
            (f"{rbac}/namespaces/default/roles", "Role", {"metadata": {"name": "reader"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]}),
            (f"{rbac}/namespaces/default/rolebindings", "RoleBinding", {"metadata": {"name": "jane"}, "subjects": [{"kind": "User", "name": "jane"}],
                                                                        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}}),
            (f"{rbac}/clusterrolebindings", "ClusterRoleBinding", {"metadata": {"name": "asker"}, "subjects": [{"kind": "User", "name": "asker"}],
                                                                   "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:auth-delegator"}})):
        status, _, answer = server.request("POST", path, body | {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind})
        expect(status == 201, f"{path}: {status} {answer}")


@story.chapter
def asked_by_others():
    folder = Cardea().folder
    with open(f"{folder}/users.csv", "w") as f:
        f.write("asker,asker,1\njane,jane,7,dev\nmallory,mallory,8\n")
    with Cardea("--token-auth-file", f"{folder}/users.csv") as policy:
        grant(policy)
        status, _, answer = policy.request("POST", REVIEWS + "?timeout=30s", REVIEW, {**REVIEW_HEADERS, "Accept-Encoding": "identity"})
        expect(status == 201 and answer["status"]["allowed"] is True, f"what kube-apiserver sends: {status} {answer}")
        kubeconfig_for(f"{folder}/policy.kubeconfig", policy.base + REVIEWS, os.path.join(policy.data_dir, "ca.crt"), "asker")
        with open(f"{folder}/authorization.yaml", "w") as f:
            f.write(RULES + webhook(f"{folder}/policy.kubeconfig", "cardea") + RBAC)
        flags = ["--token-auth-file", f"{folder}/users.csv", "--authorization-config", f"{folder}/authorization.yaml"]

        def look(base, ca, jane, mallory):
            context = ssl.create_default_context(cafile=ca) if ca else ssl._create_unverified_context()
            for token, want in (("jane", jane), ("mallory", mallory)):
                request = urllib.request.Request(base + "/api/v1/namespaces/default/pods", headers={"Authorization": f"Bearer {token}"})
                try:
                    with urllib.request.urlopen(request, context=context, timeout=30) as answer:
                        got = answer.status
                except urllib.error.HTTPError as error:
                    got = error.code
                expect(got == want, f"{token} at {base}: {got}, not {want}")

        with Cardea(*flags) as served:
            look(served.base, os.path.join(served.data_dir, "ca.crt"), 200, 403)
        peers = os.environ.get("CARDEA_PEERS", "")
        kube = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "shared", "peers", "kube")
        if not os.path.exists(os.path.join(peers, "kube-apiserver")) or not os.path.exists(kube):
            print("CARDEA_PEERS names no kube-apiserver: asking Cardea from one is not tried")
            return
        port = free_port()
        process = subprocess.Popen([sys.executable, kube, "serve", "--data-dir", f"{folder}/kube", "--secure-port", str(port), "--bind-address", "127.0.0.1", *flags],
                                   env=os.environ | {"KUBE_APISERVER": os.path.join(peers, "kube-apiserver")}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            def is_ready():
                try:
                    return urllib.request.urlopen(f"https://127.0.0.1:{port}/readyz", context=ssl._create_unverified_context(), timeout=5).status == 200
                except OSError:
                    time.sleep(1)
            eventually("kube-apiserver is ready", is_ready, 180)
            look(f"https://127.0.0.1:{port}", None, 200, 403)
            print("kube-apiserver asked, Cardea decided")
        finally:
            process.terminate()
            process.wait()


def nodes_that_may(server, group):
    """A node may read a secret if one of its pods uses it."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
           "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}], "volumes": [{"name": "v", "secret": {"secretName": "s"}}]}}
    status, _, answer = server.request("POST", "/api/v1/nodes", node)
    expect(status == 201, f"a node: {status} {answer}")
    # A controller creates the service account of the pods.
    eventually("a pod is created", lambda: server.request("POST", "/api/v1/namespaces/default/pods", pod)[0] == 201, 30)
    spec = {"resourceAttributes": {"verb": "get", "resource": "secrets", "namespace": "default", "name": "s"}}
    status, _, answer = server.request("POST", f"/apis/{group}/resourceaccessreviews", {"apiVersion": group, "kind": "ResourceAccessReview", "spec": spec})
    nodes = [s for s in answer["status"]["subjects"] if s["name"].startswith("system:node:")]
    expect(status == 201 and nodes == [{"kind": "User", "name": "system:node:n1", "dependsOn": "group membership"}], f"nodes that may: {status} {nodes}")


@story.chapter
def asked_in_bulk():
    """docs/reviews.md: many questions at once, and the users that have a permission."""
    folder = Cardea().folder
    with Cardea() as server:
        grant(server)
        group = "access.cardea.dev/v1alpha1"
        questions = [{"resourceAttributes": {"verb": verb, "resource": "pods", "namespace": "default"}} for verb in ("list", "delete")]
        batch = {"apiVersion": group, "kind": "BatchSubjectAccessReview", "spec": {"user": "jane", "items": questions}}
        status, _, answer = server.request("POST", f"/apis/{group}/batchsubjectaccessreviews", batch)
        reason = 'RBAC: allowed by RoleBinding "jane/default" of Role "reader" to User "jane"'
        expect(status == 201 and answer["status"]["items"] == [{"allowed": True, "reason": reason}, {"allowed": False}], f"a batch: {status} {answer}")
        batch["spec"]["items"] = questions * 501
        expect(server.request("POST", f"/apis/{group}/batchsubjectaccessreviews", batch)[0] == 422, "more than a thousand")
        batch["spec"]["items"] = [questions[0] | {"user": "somebody"}] + questions
        who = {"apiVersion": group, "kind": "ResourceAccessReview", "spec": questions[0]}
        status, _, answer = server.request("POST", f"/apis/{group}/resourceaccessreviews", who)
        subjects = {(s["kind"], s["name"]): s for s in answer["status"]["subjects"]}
        expect(status == 201 and ("User", "jane") in subjects and ("User", "asker") not in subjects, f"who may list: {status} {answer}")
        expect(subjects["Group", "system:masters"]["dependsOn"] == "group membership", f"whoever is in a group: {subjects}")
        expect(subjects["User", "jane"]["via"] == [{"binding": {"kind": "RoleBinding", "name": "jane", "namespace": "default"}, "role": {"kind": "Role", "name": "reader", "namespace": "default"},
                                                    "rule": {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}}], f"by what: {subjects}")
        expect(answer["status"]["incomplete"] is False and "evaluationError" not in answer["status"], f"nobody else may: {answer['status'].get('evaluationError')}")
        nodes_that_may(server, group)
        kubectl = shutil.which("kubectl") or os.path.join(os.environ.get("CARDEA_PEERS", ""), "kubectl")
        if not os.path.exists(kubectl):
            print("no kubectl: `kubectl create -f` is not tried")
            return
        for document, look in ((batch, lambda s: [i["allowed"] for i in s["items"]] == [False, True, False]), (who, lambda s: len(s["subjects"]) > 1)):
            with open(f"{folder}/review.json", "w") as f:
                json.dump(document, f)
            done = subprocess.run([kubectl, "--kubeconfig", server.kubeconfig, "create", "-f", f"{folder}/review.json", "-o", "json"], capture_output=True, text=True)
            expect(done.returncode == 0 and look(json.loads(done.stdout)["status"]), f"kubectl create -f: {done.stdout} {done.stderr}")


if __name__ == "__main__":
    story.main()
