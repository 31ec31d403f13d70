"""Conditions of webhooks: requested, answered, evaluated by the server or by the webhook; every failure in between refuses the request.

Two webhooks over TLS, one for each dialect. Their answer depends on the user in the question.
"""
import concurrent.futures
import http.server
import itertools
import json
import os
import ssl
import subprocess
import tempfile
import threading

from conditional import CM, World, config_map, documented
from server import Cardea, binary, eventually, expect, free_port
from story import Story

story = Story("conditional_webhooks")

FIVE = ["Allow", "Deny", "NoOpinion", "ConditionsMap", "Union"]
CEL = "k8s.io/authorization-cel"
ERROR = "cannot decode object"  # the answer of a webhook that cannot evaluate its own condition
LISTED = "lists"  # one webhook for each dialect; users whose names begin with this go to the second
FAULTS = ["silence", "vanish", "status-500", "status-404", "nonsense", "array", "empty", "no-response", "other-uid", "unknown-type", "conditional", "contradiction", "too-large"]
# Failures of the first answer, before there are conditions.
FORGERIES = ["over-limit", "twice", "reserved", "long-text", "long-description", "allowed-too", "no-type", "not-a-list"]


def condition(name, text="", kind="example.com/opaque", description=""):
    return {"id": f"example.com/{name}", "type": kind, "condition": text, "description": description}


class Hook:
    """A webhook of one dialect: `/authorize` and `/conditions`."""

    def __init__(self, folder, dialect):
        self.dialect = dialect
        self.first, self.second = [], []
        self.policy = 1  # of user `snapshot`
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.path == "/authorize":
                    hook.first.append(review)
                    if review["spec"].get("resourceAttributes", {}).get("verb") == "use" and review["spec"]["user"].endswith("cel-down"):
                        return self.say(200, b"nonsense")
                    answer = {"apiVersion": review["apiVersion"], "kind": review["kind"], "status": hook.decide(review["spec"])}
                    return self.say(200, json.dumps(answer).encode())
                hook.second.append(review)
                return self.settle(review)

            def settle(self, review):
                about = review["request"]["admissionRequest"] if dialect == "tree" else review["request"]
                user = about["userInfo"]["username"].removeprefix(LISTED + "-")
                fault = user.removeprefix("fault-").removeprefix("deny-") if user.startswith("fault-") else ""
                response = hook.evaluate(user, about)
                body = json.dumps({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}).encode()
                if fault == "silence":
                    hook.stopped.wait(60)
                elif fault == "vanish":
                    self.close_connection = True
                    self.connection.close()
                elif fault.startswith("status-"):
                    self.say(int(fault.removeprefix("status-")), body)
                elif fault in ("nonsense", "array", "empty", "no-response"):
                    self.say(200, {"nonsense": b"yes", "array": b"[true]", "empty": b"", "no-response": b"{}"}[fault])
                elif fault == "too-large":
                    self.say(200, body[:-1] + b" " * (17 << 20) + b"}")
                else:
                    self.say(200, body)

            def say(self, status, body):
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.stopped = threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *_: None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{folder}/hook.crt", f"{folder}/hook.key")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.kubeconfig = f"{folder}/{dialect}.kubeconfig"
        base = f"https://127.0.0.1:{self.server.server_port}"
        with open(self.kubeconfig, "w") as f:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "requests", "users": [{"name": "u", "user": {}}],
                       "clusters": [{"name": n, "cluster": {"server": base + path, "certificate-authority": f"{folder}/hook.crt"}}
                                    for n, path in (("requests", "/authorize"), ("conditions", "/conditions"))],
                       "contexts": [{"name": n, "context": {"cluster": n, "user": "u"}} for n in ("requests", "conditions")]}, f)

    def stop(self):
        self.stopped.set()
        self.server.shutdown()

    def decide(self, spec):
        user = spec.get("user", "")
        if user.startswith(LISTED + "-") != (self.dialect == "list"):
            return {"allowed": False}
        user = user.removeprefix(LISTED + "-")
        invited = "conditionalAuthorization" in spec if self.dialect == "list" else "authorizationOptions" in spec
        if user == "asker" and spec.get("resourceAttributes", {}).get("group") == "authorization.k8s.io":
            return {"allowed": True}
        if not invited:
            return {"allowed": False, "reason": "not invited to answer with conditions"}
        if user.startswith("forged-"):
            return self.forged(user.removeprefix("forged-"))
        allow, deny = [], []
        if user in ("cel", "asker", "cel-down"):
            deny = [condition("no-bad", "object != null && object.metadata.name.startsWith('bad')", CEL, "nothing bad")]
            allow = [condition("good", "object == null || object.metadata.name.startsWith('good') || "
                               "authorizer.group('example.com').resource('things').check('use').allowed()", CEL, "good ones")]
        elif user == "opaque" or user.startswith("fault-"):
            allow = [condition("labelled", "label", description="with the label")]
            if user == "opaque" or user.startswith("fault-deny-"):
                deny = [condition("no-bad", "bad", description="nothing bad")]
        elif user.startswith("erring"):  # `erring-lenient` declares the effect of an error
            return self.worded([condition("broken", "opaque")], [], "NoOpinion" if user.endswith("lenient") else "Deny")
        elif user == "snapshot":
            allow = [condition(f"policy-{self.policy}", f"object.data.policy == '{self.policy}'", CEL)]
        else:
            return {"allowed": False}
        return self.worded(deny, allow)

    def worded(self, deny, allow, mode="NoOpinion"):
        if self.dialect == "tree":
            return {"allowed": False, "conditionalDecision": {"type": "ConditionsMap", "conditionsMap": {"denyConditions": deny, "noOpinionConditions": [], "allowConditions": allow}}}
        both = [c | {"effect": "Deny"} for c in deny] + [c | {"effect": "Allow"} for c in allow]
        return {"allowed": False, "conditionsChain": [{"authorizerName": "inner", "failureMode": mode, "conditions": both}]}

    def forged(self, how):
        many = [condition(f"c{i}", "true", CEL) for i in range(129)]
        one = condition("a", "true", CEL)
        answer = {"over-limit": lambda: self.worded([], many), "twice": lambda: self.worded([one], [one]),
                  "reserved": lambda: self.worded([], [one | {"id": "k8s.io/a"}]), "long-text": lambda: self.worded([], [one | {"condition": "true" + " " * 10240}]),
                  "long-description": lambda: self.worded([], [one | {"description": "é" * 513}]), "allowed-too": lambda: self.worded([], [one]) | {"allowed": True},
                  "no-type": lambda: {"allowed": False, "conditionalDecision": {}, "conditionsChain": [{}]},
                  "not-a-list": lambda: {"allowed": False, "conditionalDecision": {"type": "ConditionsMap", "conditionsMap": {"denyConditions": "x", "allowConditions": [one]}},
                                         "conditionsChain": "x"}}[how]()
        if self.dialect == "tree":
            answer.pop("conditionsChain", None)
        else:
            answer.pop("conditionalDecision", None)
        return answer

    def evaluate(self, user, about):
        """The outcome of the conditions. Each fault comes with an answer that would allow."""
        thing = about.get("object") or about.get("oldObject") or {}
        meta = thing.get("metadata", {})
        outcome = "Allow"
        if user == "opaque":
            bad = meta.get("name", "").startswith("bad")
            outcome = "Deny" if bad else "Allow" if meta.get("labels", {}).get("ok") == "yes" else "NoOpinion"
        if user.startswith("erring"):
            outcome = "Allow" if user.endswith("allow") else "NoOpinion"
        if self.dialect == "list":
            answer = {"allowed": outcome == "Allow", "denied": outcome == "Deny", "reason": f"the author says {outcome}"}
            if "contradiction" in user:
                answer |= {"allowed": True, "denied": True}
            if "unknown-type" in user or "other-uid" in user or "conditional" in user:
                answer = {"allowed": "true"}
            return answer | ({"evaluationError": ERROR} if user.startswith("erring") else {})
        member = outcome[0].lower() + outcome[1:]
        answer = {"uid": about["uid"], "decision": {"type": outcome, member: {"reason": f"the author says {outcome}"}}}
        if "other-uid" in user:
            answer["uid"] = "another"
        if "unknown-type" in user:
            answer["decision"] = {"type": "Surely"}
        if "conditional" in user:
            answer["decision"] = {"type": "ConditionsMap", "conditionsMap": {"allowConditions": [condition("a")]}}
        if "contradiction" in user:
            answer["decision"]["deny"] = {}
        if user.startswith("erring"):
            answer["decision"][member]["evaluationError"] = ERROR
        return answer


def webhook(name, hook, conditions, policy="NoOpinion"):
    return (f"- type: Webhook\n  name: {name}\n  webhook:\n    timeout: 5s\n    subjectAccessReviewVersion: v1\n    failurePolicy: {policy}\n"
            f"    authorizedTTL: 10m\n    unauthorizedTTL: 10m\n"
            f"    connectionInfo: {{type: KubeConfigFile, kubeConfigFile: {hook.kubeconfig}}}\n{conditions}")


TREE = "    conditionsReview: {version: v1alpha1, kubeConfigContextName: conditions}\n"
LIST = "    conditionsEndpointKubeConfigContext: conditions\n"
HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:\n"
BUILT_IN = "- {type: Node, name: node}\n- {type: Access, name: access}\n- {type: RBAC, name: rbac}\n"


def both(user):
    return (user, f"{LISTED}-{user}")


@story.chapter
def the_page_configures_webhooks_in_this_way():
    page = documented("yaml", 2)
    expect(TREE.strip() in page and LIST.strip() in page, "the page on conditions configures webhooks in another way")


@story.chapter
def settled_by_their_author(w, tree, listed):
    for user, hook in zip(both("opaque"), (tree, listed)):
        w.allowed(user, "POST", CM, config_map(f"{user}-one", labels={"ok": "yes"}))
        w.refused(user, "POST", CM, config_map(f"{user}-two"), saying="the author says NoOpinion")
        w.refused(user, "POST", CM, config_map("bad-one", labels={"ok": "yes"}), saying="the author says Deny")
        expect(w.admin("GET", f"{CM}/bad-one")[0] == 404 and w.admin("GET", f"{CM}/{user}-two")[0] == 404, "what was refused was written")
        w.refused(user, "PATCH", f"{CM}/{user}-one", {"metadata": {"labels": {"ok": "no"}}}, "application/merge-patch+json")
        w.allowed(user, "PATCH", f"{CM}/{user}-one", {"data": {"a": "b"}}, "application/merge-patch+json")
        w.allowed(user, "DELETE", f"{CM}/{user}-one")
        sent = [r["request"].get("admissionRequest", r["request"]) for r in hook.second]
        expect({r["operation"] for r in sent} == {"CREATE", "UPDATE", "DELETE"}, sent)
        expect(all(r["userInfo"]["username"] == user for r in sent), "somebody else was asked about")
        # The webhook received its own conditions, unchanged.
        ids = [c["id"] for r in hook.second for c in (r["request"]["conditionSets"][0]["conditions"] if hook is listed else
                                                      r["request"]["decision"]["conditionsMap"]["allowConditions"])]
        expect("example.com/labelled" in ids, ids)
    expect({r["request"].get("admissionRequest", {}).get("uid") for r in tree.second} != {None}, "no uids")


@story.chapter
def cel_is_settled_here(w, tree, listed):
    before = len(tree.second) + len(listed.second)
    for user in both("cel"):
        w.allowed(user, "POST", CM, config_map(f"good-{user}"))
        w.refused(user, "POST", CM, config_map(f"bad-{user}"), saying="nothing bad")
        w.refused(user, "POST", CM, config_map(f"other-{user}"), saying="good ones")
        w.policy(f"use-{user}", "Allow", user, ("use",), ("example.com",), ("things",))
        w.allowed(user, "POST", CM, config_map(f"other-{user}"))
        w.allowed(user, "DELETE", f"{CM}/other-{user}")
    expect(len(tree.second) + len(listed.second) == before, "the author of conditions in CEL was asked")
    # An expression asks the authorizer, and the authorizer fails: no answer is not a yes.
    for user in both("cel-down"):
        w.allowed(user, "POST", CM, config_map(f"good-{user}"))
        w.refused(user, "POST", CM, config_map(f"other-{user}"))
        expect(w.admin("GET", f"{CM}/other-{user}")[0] == 404, "it was written")


@story.chapter
def one_snapshot(w, tree, listed):
    """An answer is cached with its conditions; they decide the next request too."""
    def asked():  # a refused user is asked about once more: whether they may change single fields
        return sum(review["spec"].get("resourceAttributes", {}).get("verb") == "create" for review in tree.first)
    before = asked()
    w.allowed("snapshot", "POST", CM, config_map("snapshot-1", {"policy": "1"}))
    tree.policy = 2
    w.refused("snapshot", "POST", CM, config_map("snapshot-2", {"policy": "2"}))
    w.allowed("snapshot", "POST", CM, config_map("snapshot-3", {"policy": "1"}))
    expect(asked() == before + 1, f"asked {asked() - before} times")
    # A caller that cannot take conditions gets no answer from the cache of those that can.
    expect(w.as_user("snapshot", "GET", CM)[0] == 403, "a read")
    expect("authorizationOptions" not in tree.first[-1]["spec"], tree.first[-1])
    expect(w.as_user("snapshot", "GET", "/api/v1/namespaces/default/pods/x/log")[0] in (403, 404), "a log")
    expect("authorizationOptions" not in tree.first[-1]["spec"], tree.first[-1])


@story.chapter
def nothing_is_written_after_a_fault(w, tree, listed):
    """Every fault, in a set that could deny and in one that could not, for every kind of write."""
    w.admin("POST", "/api/v1/namespaces/default/pods", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "victim", "labels": {"ok": "yes"}},
                                                       "spec": {"containers": [{"name": "c", "image": "i"}]}})
    w.admin("POST", "/apis/apps/v1/namespaces/default/replicasets", {
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "victim"},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}})
    w.admin("POST", CM, config_map("victim", {"a": "1"}, {"ok": "yes", "victim": "yes"}))
    eventually("the default service account", lambda: w.admin("GET", "/api/v1/namespaces/default/serviceaccounts/default")[0] == 200)
    pods, sets = "/api/v1/namespaces/default/pods", "/apis/apps/v1/namespaces/default/replicasets"
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "victim", "namespace": "default"}, "spec": {"replicas": 3}}
    merge = "application/merge-patch+json"
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "victim"}, "spec": {}}
    requests = [("POST", CM, config_map("fresh", labels={"ok": "yes"}), None),
                ("POST", f"{CM}?dryRun=All", config_map("fresh", labels={"ok": "yes"}), None),
                ("PUT", f"{CM}/victim", config_map("victim", {"a": "2"}, {"ok": "yes"}), None),
                ("PATCH", f"{CM}/victim", {"data": {"a": "2"}}, merge),
                ("PATCH", f"{CM}/victim", {"data": {"a": "2"}}, "application/strategic-merge-patch+json"),
                ("PATCH", f"{CM}/victim", [{"op": "add", "path": "/data/a", "value": "2"}], "application/json-patch+json"),
                ("PATCH", f"{CM}/victim?fieldManager=t&force=true", config_map("victim", {"a": "2"}), "application/apply-patch+yaml"),
                ("PATCH", f"{CM}/fresh?fieldManager=t", config_map("fresh"), "application/apply-patch+yaml"),
                ("PUT", "/apis/coordination.k8s.io/v1/namespaces/default/leases/victim", lease, None),
                ("DELETE", f"{CM}/victim", None, None), ("DELETE", CM, None, None),
                ("PATCH", f"{pods}/victim/status", {"status": {"phase": "Failed"}}, merge),
                ("POST", f"{pods}/victim/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "victim"}}, None),
                ("POST", f"{pods}/victim/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "victim"}, "target": {"kind": "Node", "name": "n"}}, None),
                ("PUT", f"{sets}/victim/scale", scale, None), ("PATCH", f"{sets}/victim/scale", {"spec": {"replicas": 3}}, merge),
                ("POST", "/api/v1/namespaces/default/serviceaccounts/default/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": ["a"]}}, None),
                ("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                 {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {"user": "u", "nonResourceAttributes": {"path": "/", "verb": "get"}}}, None)]

    def state():
        things = [w.admin("GET", p)[2] for p in (CM, pods, sets, "/apis/coordination.k8s.io/v1/namespaces/default/leases")]
        return {(i["kind"] if "kind" in i else t["kind"], i["metadata"]["name"]): i["metadata"]["resourceVersion"] for t in things for i in t["items"]}
    before = state()

    def suffers(user, some):
        for method, path, body, content in some:
            status, _, said = w.as_user(user, method, path, body, content)
            expect(status == 403, f"{user} {method} {path}: {status} {said}")
            expect("failed closed" in said["message"], f"{user} {method} {path} gives no reason: {said['message']}")
    with concurrent.futures.ThreadPoolExecutor(8) as at_once:
        waiting = []
        for fault in FAULTS:
            # A webhook that does not answer is tested with the cheapest write: the others end in the same way.
            some = requests[:1] if fault in ("silence", "status-500") else requests
            waiting += [at_once.submit(suffers, user, some) for kind in ("fault-", "fault-deny-") for user in both(kind + fault)]
        for one in waiting:
            one.result()
    expect(state() == before, "something was written")
    with open(w.server.log_path, encoding="utf-8") as log:
        expect('the conditions of a request failed method="POST" path="/api/v1/namespaces/default/configmaps" user="fault-vanish" error="webhook `trees`: ' in log.read(), "the log does not say why")
    expect(len(tree.second) > 2 * len(FAULTS) and len(listed.second) > 2 * len(FAULTS), "the faults did not happen")
    for name in both("opaque"):  # a webhook that answers is still heard
        w.allowed(name, "PUT", f"{CM}/victim", config_map("victim", {"a": name}, {"ok": "yes", "victim": "yes"}))


@story.chapter
def the_failure_mode_decides_an_error(w, tree, listed):
    """A Deny condition that its webhook cannot evaluate, before roles that allow everything."""
    users = [*both("erring"), *both("erring-allow"), f"{LISTED}-erring-lenient"]
    w.admin("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "erring"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user} for user in users]})
    for user in users[:4]:
        w.refused(user, "POST", CM, config_map(user), saying="conditions could not be evaluated")
        expect(w.admin("GET", f"{CM}/{user}")[0] == 404, f"the object of {user} was written")
    w.allowed(users[4], "POST", CM, config_map(users[4]))  # the webhook declared failureMode: NoOpinion

    def noted(user):
        with open(w.audit_log, encoding="utf-8") as log:
            events = [json.loads(line) for line in log]
        return any(ERROR in e.get("annotations", {}).get("authorization.cardea.dev/conditions-error", "") for e in events
                   if e["user"]["username"] == user and e["verb"] == "create")
    for user in users:
        eventually(f"an audit event that names the error of {user}", lambda: noted(user))


@story.chapter
def forged_conditions(w, tree, listed):
    for how in FORGERIES:
        for user in both("forged-" + how):
            status, _, said = w.as_user(user, "POST", CM, config_map("forged"))
            expect(status in (403, 500), f"{user}: {status} {said}")
            text = said.decode() if isinstance(said, bytes) else json.dumps(said)
            expect(len(text) > 50, f"{user} is given no reason: {text}")
    expect(w.admin("GET", f"{CM}/forged")[0] == 404, "conditions that are none let something through")


@story.chapter
def shown_to_who_asks(w, tree, listed):
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    attributes = {"verb": "create", "group": "", "version": "v1", "resource": "configmaps", "namespace": "default"}
    for user, name in zip(both("asker"), ("trees", "lists")):
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": attributes}}
        plain = w.allowed(user, "POST", path, review)["status"]
        expect(plain["allowed"] is False and "conditionalDecision" not in plain, plain)
        review["spec"]["authorizationOptions"] = {"handledDecisionTypes": FIVE}
        decision = w.allowed(user, "POST", path, review)["status"]["conditionalDecision"]
        entry = {e["authorizerName"]: e["decision"] for e in decision["union"]}[name]
        expect(entry["type"] in ("ConditionsMap", "Union") and "startsWith('good')" in json.dumps(entry), entry)
        review["spec"] = {"resourceAttributes": attributes, "conditionalAuthorization": {"mode": "HumanReadable"}}
        chain = w.allowed(user, "POST", path, review)["status"]["conditionsChain"]
        expect(chain[0]["authorizerName"].split(".")[0] == name and {c["effect"] for c in chain[0]["conditions"]} == {"Allow", "Deny"}, chain)
        # Sent back with an object: the server evaluates conditions in CEL itself.
        for thing, outcome in (("good-1", "Allow"), ("bad-1", "Deny"), ("x", "NoOpinion")):
            asked = {"apiVersion": "authorization.k8s.io/v1alpha1", "kind": "AuthorizationConditionsReview",
                     "request": {"decision": decision, "admissionRequest": {"uid": "u", "operation": "CREATE", "namespace": "default", "userInfo": {"username": user},
                                                                            "object": config_map(thing)}}}
            said = w.admin("POST", "/apis/authorization.k8s.io/v1alpha1/authorizationconditionsreviews", asked)[2]["response"]["decision"]
            expect(said["type"] == outcome, f"{thing}: {said}")
    # Other conditions in a review are not sent to the webhook: any user who may send reviews could have written them.
    before = len(tree.second)
    forged = {"type": "Union", "union": [{"authorizerName": "trees", "decision": tree.worded([], [condition("labelled", "label")])["conditionalDecision"]}]}
    asked["request"]["decision"] = forged
    said = w.admin("POST", "/apis/authorization.k8s.io/v1alpha1/authorizationconditionsreviews", asked)[2]["response"]["decision"]
    expect(said["type"] == "NoOpinion" and "not evaluated for others" in said["noOpinion"]["evaluationError"], said)
    # Conditions of an authorizer that has none, or of an unknown authorizer, are not evaluated.
    for name in ("rbac", "stranger"):
        for effect, outcome in (("allowConditions", "NoOpinion"), ("denyConditions", "Deny")):
            one = {"type": "ConditionsMap", "conditionsMap": {effect: [condition("a", "true", CEL)]}}
            asked["request"]["decision"] = {"type": "Union", "union": [{"authorizerName": name, "decision": one}]}
            said = w.admin("POST", "/apis/authorization.k8s.io/v1alpha1/authorizationconditionsreviews", asked)[2]["response"]["decision"]
            expect(said["type"] == outcome and said[outcome[0].lower() + outcome[1:]].get("evaluationError"), f"{name} {effect}: {said}")
    expect(len(tree.second) == before, "a webhook was asked about what somebody else sent")


@story.chapter(needs=["nothing_is_written_after_a_fault"])
def numbers(w, tree, listed):
    lines = {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in w.admin("GET", "/metrics")[2].decode().splitlines() if not line.startswith("#")}
    for line in ('authorization_attempts_total{result="conditional"}', 'authorization_duration_seconds_count{result="conditional"}',
                 'apiserver_authorization_decisions_total{type="Webhook",name="trees",decision="conditional"}',
                 'apiserver_authorization_decisions_total{type="Webhook",name="trees",decision="allowed"}',
                 'apiserver_authorization_decisions_total{type="Webhook",name="trees",decision="denied"}',
                 'cardea_authorization_conditions_evaluation_seconds_count{name="trees",evaluator="in_process"}',
                 'cardea_authorization_conditions_evaluation_seconds_count{name="trees",evaluator="authorizer"}',
                 'cardea_authorization_conditions_evaluation_seconds_count{name="lists",evaluator="authorizer"}',
                 'cardea_authorization_conditions_evaluation_errors_total{name="trees",effect="Allow"}',
                 'cardea_authorization_conditions_evaluation_errors_total{name="lists",effect="Deny"}'):
        expect(lines.get(line, 0) > 0, f"{line} is {lines.get(line)}")


@story.chapter
def reloaded(w, tree, listed, config):
    """Without its line in the configuration a webhook is no longer asked for conditions, and requests that it allowed on conditions are refused."""
    tries = itertools.count()

    def created():  # always another object: those created under the old configuration exist
        return w.as_user("cel", "POST", CM, config_map(f"good-reloaded-{next(tries)}"))[0]
    write(config, webhook("trees", tree, "") + webhook("lists", listed, LIST) + BUILT_IN)
    eventually("a webhook that lost its conditions", lambda: created() == 403)
    expect("authorizationOptions" not in tree.first[-1]["spec"], "it was asked for conditions")
    write(config, webhook("trees", tree, TREE) + webhook("lists", listed, LIST) + BUILT_IN)
    eventually("and has them again", lambda: created() == 201)


@story.chapter
def broken_configurations(folder, tree):
    def starts(text, *flags):
        path = f"{folder}/broken.yaml"
        with open(path, "w") as f:
            f.write(text)
        ran = subprocess.run([binary(), "serve", "--data-dir", tempfile.mkdtemp(), "--secure-port", str(free_port()), "--authorization-config", path, *flags],
                             capture_output=True, text=True, timeout=60)
        expect(ran.returncode in (1, 2), f"it started with {text}")
        return ran.stderr
    one = HEAD + webhook("trees", tree, TREE) + BUILT_IN
    said = starts(one, "--feature-gates=ConditionalAuthorization=false")
    expect("authorizers[0].conditionsReview: Forbidden" in said, said)
    expect("conditionsEndpointKubeConfigContext: Forbidden" in starts(HEAD + webhook("trees", tree, LIST) + BUILT_IN, "--feature-gates=ConditionalAuthorization=false"), "the gate is off")
    expect("together" in starts(HEAD + webhook("trees", tree, TREE + LIST) + BUILT_IN), "both dialects")
    expect("unknown field" in starts(one.replace("config.k8s.io/v1\n", "config.k8s.io/v1beta1\n")), "a version without conditions")
    expect("Unsupported value" in starts(one.replace("v1alpha1", "v2")), "a version that is none")
    expect("elsewhere" in starts(one.replace("kubeConfigContextName: conditions", "kubeConfigContextName: elsewhere")), "a context that is none")


def write(config, text):
    with open(config + ".new", "w") as f:
        f.write(HEAD + text)
    os.rename(config + ".new", config)


@story.shared
def folder():
    with tempfile.TemporaryDirectory(prefix="cardea-e2e-hooks-") as folder:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{folder}/hook.key", "-out", f"{folder}/hook.crt",
                        "-subj", "/CN=hook", "-days", "3", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        yield folder


@story.shared
def tree(folder):
    tree = Hook(folder, "tree")
    yield tree
    tree.stop()


@story.shared
def listed(folder):
    listed = Hook(folder, "list")
    yield listed
    listed.stop()


@story.shared
def config(folder, tree, listed):
    config = f"{folder}/authorization.yaml"
    write(config, webhook("trees", tree, TREE) + webhook("lists", listed, LIST) + BUILT_IN)
    return config


@story.shared
def w(folder, config):
    users = [u for name in ["opaque", "cel", "cel-down", "snapshot", "asker", "erring", "erring-allow", "erring-lenient", *(k + f for f in FAULTS for k in ("fault-", "fault-deny-")), *("forged-" + f for f in FORGERIES)] for u in both(name)]
    with open(f"{folder}/tokens", "w") as f:
        f.writelines(f"token-{u},{u},{u}-uid\n" for u in users)
    with open(f"{folder}/audit.yaml", "w") as f:
        f.write("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n")
    audit_log = f"{folder}/audit.log"
    with Cardea(f"--token-auth-file={folder}/tokens", "--authorization-config", config, f"--audit-policy-file={folder}/audit.yaml", f"--audit-log-path={audit_log}") as server:
        w = World(server)
        w.audit_log = audit_log
        yield w


if __name__ == "__main__":
    story.main()
