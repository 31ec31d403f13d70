"""The examples of docs/admission.md: Pod Security, quotas under load, and a kubelet that may only change its own node."""
import os
import ssl
import tempfile
import threading
import http.client

from server import Cardea, eventually, exchange, expect
from story import Story

story = Story("admission_story")

NAMESPACE = "/api/v1/namespaces/default"
MERGE = {"Content-Type": "application/merge-patch+json"}


def pod(name, **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def sent(server, status, method, path, body=None, headers=None):
    got, answer_headers, answer = server.request(method, path, body, headers)
    expect(got == status, f"{method} {path}: {got}, not {status}: {str(answer)[:300]}")
    return answer


@story.chapter
def pod_security(server):
    labels = {"pod-security.kubernetes.io/enforce": "baseline", "pod-security.kubernetes.io/enforce-version": "v1.36"}
    sent(server, 200, "PATCH", NAMESPACE, {"metadata": {"labels": labels}}, MERGE)
    answer = sent(server, 403, "POST", f"{NAMESPACE}/pods", pod("a", hostNetwork=True))
    expect(answer["message"].endswith('violates PodSecurity "baseline:v1.36": host namespaces (hostNetwork=true)'), answer["message"])
    sent(server, 201, "POST", f"{NAMESPACE}/pods", pod("a"))


@story.chapter
def quotas(server):
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"}, "spec": {"hard": {"configmaps": "50", "pods": "10"}}}
    sent(server, 201, "POST", f"{NAMESPACE}/resourcequotas", quota)

    def used():
        return server.request("GET", f"{NAMESPACE}/resourcequotas/small")[2].get("status", {}).get("used", {}).get("configmaps")

    before = int(eventually("the first count", used))
    statuses = []

    def create(thread):
        for i in range(20):
            statuses.append(server.request("POST", f"{NAMESPACE}/configmaps", {"metadata": {"name": f"c-{thread}-{i}"}})[0])

    threads = [threading.Thread(target=create, args=(t,)) for t in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(set(statuses) <= {201, 403}, f"answers were {set(statuses)}")
    expect(statuses.count(201) == 50 - before, f"{statuses.count(201)} were created where {50 - before} fit")
    eventually("all are counted", lambda: used() == "50")
    items = server.request("GET", f"{NAMESPACE}/configmaps")[2]["items"]
    expect(len(items) == 50, f"there are {len(items)} ConfigMaps")
    gone = next(i["metadata"]["name"] for i in items if i["metadata"]["name"].startswith("c-"))
    sent(server, 200, "DELETE", f"{NAMESPACE}/configmaps/{gone}")
    eventually("the deleted one is given back", lambda: used() == "49")


@story.chapter
def nodes(server):
    def kubelet(method, path, body=None):
        context = ssl.create_default_context(cafile=os.path.join(server.data_dir, "ca.crt"))
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=60, context=context)
        try:
            return exchange(connection, method, path, body, {"Authorization": "Bearer kubelet"})
        finally:
            connection.close()

    status, _, answer = kubelet("POST", "/api/v1/nodes", {"metadata": {"name": "n", "labels": {"node-restriction.kubernetes.io/x": "1"}}})
    expect(status == 403 and "not allowed to set the following labels" in answer["message"], answer)
    expect(kubelet("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})[0] == 201, "a kubelet registers its node")
    sent(server, 201, "POST", f"{NAMESPACE}/secrets", {"metadata": {"name": "s"}})
    expect(kubelet("GET", f"{NAMESPACE}/secrets/s")[0] == 403, "nothing on the node needs the secret")
    sent(server, 201, "POST", f"{NAMESPACE}/pods", pod("user", nodeName="n", volumes=[{"name": "v", "secret": {"secretName": "s"}}]))
    expect(kubelet("GET", f"{NAMESPACE}/secrets/s")[0] == 200, "the next request after the pod's sees the secret")
    sent(server, 200, "DELETE", f"{NAMESPACE}/pods/user?gracePeriodSeconds=0")
    expect(kubelet("GET", f"{NAMESPACE}/secrets/s")[0] == 403, "the pod is gone, and so is the permission")


@story.shared
def server():
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as tokens:
        tokens.write('kubelet,system:node:n,1,"system:nodes"\n')
        tokens.flush()
        flags = ["--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--disable-admission-plugins=ServiceAccount",
                 "--token-auth-file", tokens.name]
        with Cardea(*flags) as server:
            yield server


if __name__ == "__main__":
    story.main()
