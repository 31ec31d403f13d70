"""A cluster on Cardea: kube-controller-manager, kube-scheduler and KWOK's nodes do what they do on a kube-apiserver.

Each chapter runs on Cardea and, under a name that begins with `kubernetes_`, on a kube-apiserver. At the end the logs are compared:
what a program complains about on Cardea, it complains about on the kube-apiserver too. Only with `./dev test --with-peers`.

    cluster_story.py --server=cardea     without the kube-apiserver and the comparison
"""
import base64
import json
import os
import subprocess
import tempfile

from cluster import Cluster, WholeKube, program, stale_reads
from peer import openssl, peers
from server import Cardea, eventually, expect, skip
from story import Story

story = Story("cluster_story", options={"server": "both"})

LEASE = ("lease", "kube-controller-manager", "-n", "kube-system")


@story.shared
def cluster():
    with Cluster(Cardea()) as cluster:
        yield cluster


@story.shared
def kubernetes():
    if story.options["server"] == "cardea":
        skip("a kube-apiserver is not asked for")
    program("kube-apiserver")
    expect(peers(), "no etcd among the peers")
    with Cluster(WholeKube()) as cluster:
        yield cluster


def chapter(run):
    """A chapter that is the same on both servers."""
    story.add(run.__name__, run)
    return run


def template(app, **more):
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": [{"name": "c", "image": f"{app}:1"}], **more}}


def workload(kind, name, namespace, **spec):
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": namespace},
            "spec": {"selector": {"matchLabels": {"app": name}}, "template": template(name), **spec}}


def deployment(name, namespace, replicas):
    return workload("Deployment", name, namespace, replicas=replicas)


def namespace(cluster, name):
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    eventually("the namespace has its service account", lambda: cluster.get("serviceaccount", "default", "-n", name))


def ready_pods(cluster, name, where):
    return [p for p in cluster.items("pods", "-n", where, "-l", f"app={name}")
            if not p["metadata"].get("deletionTimestamp") and any(c["type"] == "Ready" and c["status"] == "True" for c in p["status"].get("conditions", []))]


@chapter
def programs_lead_and_nodes_are_ready(cluster):
    for name in ("kube-controller-manager", "kube-scheduler"):
        eventually(f"{name} has its lease", lambda: (cluster.get("lease", name, "-n", "kube-system") or {}).get("spec", {}).get("holderIdentity"))
    for name in cluster.nodes:
        eventually(f"{name} renews its lease", lambda: cluster.get("lease", name, "-n", "kube-node-lease"))
    cluster.lives()


@chapter
def a_deployment_becomes_available_is_rolled_scaled_rolled_back_and_paused(cluster):
    namespace(cluster, "rolling")
    on = ("-n", "rolling")
    cluster.apply(deployment("web", "rolling", 3))
    cluster.wait("deployment/web", "condition=Available", *on)
    cluster.kubectl("rollout", "status", "deployment/web", "--timeout=120s", *on)
    expect(len(ready_pods(cluster, "web", "rolling")) == 3, "three pods are not ready")
    cluster.kubectl("set", "image", "deployment/web", "c=web:2", *on)
    cluster.kubectl("rollout", "status", "deployment/web", "--timeout=120s", *on)
    eventually("only pods of the new image are left",
               lambda: {p["spec"]["containers"][0]["image"] for p in cluster.items("pods", *on)} == {"web:2"})
    cluster.kubectl("scale", "deployment/web", "--replicas=5", *on)
    cluster.kubectl("rollout", "status", "deployment/web", "--timeout=120s", *on)
    expect(len(ready_pods(cluster, "web", "rolling")) == 5, "five pods are not ready")
    history = cluster.kubectl("rollout", "history", "deployment/web", *on)
    expect("1 " in history and "2 " in history, history)
    cluster.kubectl("rollout", "undo", "deployment/web", *on)
    cluster.kubectl("rollout", "status", "deployment/web", "--timeout=120s", *on)
    eventually("the pods have the first image again",
               lambda: {p["spec"]["containers"][0]["image"] for p in cluster.items("pods", *on)} == {"web:1"})
    cluster.kubectl("rollout", "pause", "deployment/web", *on)
    cluster.kubectl("set", "image", "deployment/web", "c=web:3", *on)
    eventually("the controller has seen the paused change", lambda: (lambda d: d["status"]["observedGeneration"] == d["metadata"]["generation"]
                                                                     and any(c["reason"] == "DeploymentPaused" for c in d["status"]["conditions"]))(cluster.get("deployment", "web", *on)))
    expect({p["spec"]["containers"][0]["image"] for p in cluster.items("pods", *on)} == {"web:1"}, "a paused deployment was rolled")
    cluster.kubectl("rollout", "resume", "deployment/web", *on)
    cluster.kubectl("rollout", "status", "deployment/web", "--timeout=120s", *on)
    cluster.kubectl("scale", "deployment/web", "--replicas=0", *on)
    eventually("no pod is left", lambda: not cluster.items("pods", *on))


@chapter
def a_statefulset_makes_its_pods_in_order_and_claims_volumes(cluster):
    namespace(cluster, "ordered")
    cluster.apply(*({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"volume-{n}"},
                     "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": f"/v{n}"},
                              "storageClassName": "by-hand", "persistentVolumeReclaimPolicy": "Retain"}} for n in (0, 1)))
    sts = workload("StatefulSet", "db", "ordered", replicas=2, serviceName="db")
    sts["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "by-hand",
                                                                                   "resources": {"requests": {"storage": "1Gi"}}}}]
    cluster.apply(sts)
    cluster.kubectl("rollout", "status", "statefulset/db", "--timeout=120s", "-n", "ordered")
    pods = {p["metadata"]["name"]: p for p in ready_pods(cluster, "db", "ordered")}
    expect(set(pods) == {"db-0", "db-1"}, f"pods: {sorted(pods)}")
    expect(pods["db-0"]["metadata"]["creationTimestamp"] <= pods["db-1"]["metadata"]["creationTimestamp"], "not in order")
    expect(all(c["status"]["phase"] == "Bound" for c in cluster.items("pvc", "-n", "ordered")), "a claim is not bound")
    cluster.kubectl("set", "image", "statefulset/db", "c=db:2", "-n", "ordered")
    cluster.kubectl("rollout", "status", "statefulset/db", "--timeout=120s", "-n", "ordered")


@chapter
def a_daemonset_has_a_pod_on_each_node(cluster):
    namespace(cluster, "everywhere")
    cluster.apply(workload("DaemonSet", "agent", "everywhere"))
    cluster.kubectl("rollout", "status", "daemonset/agent", "--timeout=120s", "-n", "everywhere")
    expect({p["spec"]["nodeName"] for p in ready_pods(cluster, "agent", "everywhere")} == set(cluster.nodes), "not one on each node")


@chapter
def a_job_completes(cluster):
    namespace(cluster, "jobs")
    cluster.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sums", "namespace": "jobs"},
                   "spec": {"completions": 3, "parallelism": 2, "template": template("sums", restartPolicy="Never")}})
    cluster.wait("job/sums", "condition=Complete", "-n", "jobs")
    job = cluster.get("job", "sums", "-n", "jobs")
    expect(job["status"]["succeeded"] == 3, f"status: {job['status']}")


@chapter
def a_cron_job_makes_jobs(cluster):
    namespace(cluster, "cron")
    cluster.apply({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "tick", "namespace": "cron"},
                   "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template("tick", restartPolicy="Never")}}}})
    jobs = eventually("the first job is there", lambda: cluster.items("jobs", "-n", "cron"), 130)
    cluster.wait(f"job/{jobs[0]['metadata']['name']}", "condition=Complete", "-n", "cron")
    eventually("the cron job knows when it last succeeded", lambda: cluster.get("cronjob", "tick", "-n", "cron")["status"].get("lastSuccessfulTime"))
    cluster.kubectl("delete", "cronjob", "tick", "-n", "cron")
    eventually("its jobs went with it", lambda: not cluster.items("jobs", "-n", "cron"))


@chapter
def endpoints_and_slices_follow(cluster):
    namespace(cluster, "services")
    cluster.apply(deployment("shop", "services", 2),
                  {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop", "namespace": "services"},
                   "spec": {"selector": {"app": "shop"}, "ports": [{"port": 80, "targetPort": 8080}]}})
    cluster.kubectl("rollout", "status", "deployment/shop", "--timeout=120s", "-n", "services")

    def in_slices():
        return {a for s in cluster.items("endpointslices", "-n", "services", "-l", "kubernetes.io/service-name=shop")
                for e in s.get("endpoints") or [] if e["conditions"]["ready"] for a in e["addresses"]}

    def in_endpoints():
        return {a["ip"] for s in (cluster.get("endpoints", "shop", "-n", "services") or {}).get("subsets", []) for a in s.get("addresses", [])}

    for replicas in (2, 4, 1):
        cluster.kubectl("scale", "deployment/shop", f"--replicas={replicas}", "-n", "services")

        def addresses():
            return {p["status"]["podIP"] for p in ready_pods(cluster, "shop", "services")}
        eventually(f"{replicas} addresses in slices and endpoints",
                   lambda: len(addresses()) == replicas and in_slices() == addresses() == in_endpoints(), 90)
    cluster.kubectl("delete", "service", "shop", "-n", "services")
    eventually("they go with their service", lambda: not cluster.items("endpointslices", "-n", "services") and not cluster.get("endpoints", "shop", "-n", "services"))


@chapter
def a_disruption_budget_holds_an_eviction_back(cluster):
    namespace(cluster, "budget")
    cluster.apply(deployment("safe", "budget", 2),
                  {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "safe", "namespace": "budget"},
                   "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "safe"}}}})
    cluster.kubectl("rollout", "status", "deployment/safe", "--timeout=120s", "-n", "budget")
    eventually("the budget counts", lambda: cluster.get("pdb", "safe", "-n", "budget").get("status", {}).get("currentHealthy") == 2)

    def evict(name):
        return cluster.server.request("POST", f"/api/v1/namespaces/budget/pods/{name}/eviction",
                                      {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "budget"}})
    name = ready_pods(cluster, "safe", "budget")[0]["metadata"]["name"]
    status, _, body = evict(name)
    expect(status == 429 and "disruption budget" in body["message"], f"{status} {body}")
    cluster.kubectl("scale", "deployment/safe", "--replicas=3", "-n", "budget")
    eventually("one pod may go", lambda: cluster.get("pdb", "safe", "-n", "budget")["status"]["disruptionsAllowed"] == 1)
    status, _, body = evict(name)
    expect(status == 201, f"{status} {body}")
    eventually("the evicted pod is gone", lambda: not cluster.get("pod", name, "-n", "budget"))


@chapter
def an_autoscaler_without_metrics_says_so(cluster):
    namespace(cluster, "scaled")
    cluster.apply(deployment("load", "scaled", 1),
                  {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "load", "namespace": "scaled"},
                   "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "load"}, "minReplicas": 1, "maxReplicas": 3,
                            "metrics": [{"type": "Pods", "pods": {"metric": {"name": "orders"}, "target": {"type": "AverageValue", "averageValue": "1"}}}]}})

    def condition():
        status = cluster.get("hpa", "load", "-n", "scaled").get("status", {})
        return next((c for c in status.get("conditions", []) if c["type"] == "ScalingActive"), None)
    found = eventually("the autoscaler says what it lacks", condition, 90)
    expect(found["status"] == "False" and found["reason"] == "FailedGetPodsMetric", f"{found}")
    expect("custom metrics API" in found["message"] or "custom.metrics" in found["message"], found["message"])
    cluster.kubectl("delete", "hpa", "load", "-n", "scaled")


@chapter
def quotas_and_limit_ranges_are_counted_and_applied(cluster):
    namespace(cluster, "limited")
    cluster.apply({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "sizes", "namespace": "limited"},
                   "spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "500m"}, "max": {"cpu": "2"}}]}},
                  {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "all", "namespace": "limited"},
                   "spec": {"hard": {"pods": "2", "requests.cpu": "2", "count/deployments.apps": "1"}}})
    eventually("the quota is counted", lambda: "used" in cluster.get("quota", "all", "-n", "limited").get("status", {}))
    cluster.apply(deployment("big", "limited", 3))

    def used():
        return cluster.get("quota", "all", "-n", "limited")["status"]["used"]
    eventually("two pods are there and counted", lambda: used() == {"pods": "2", "requests.cpu": "1", "count/deployments.apps": "1"}, 90)
    pods = ready_pods(cluster, "big", "limited")
    expect(all(p["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "1"}, "requests": {"cpu": "500m"}} for p in pods), "no defaults")
    eventually("the deployment says why there are not three",
               lambda: any(c["type"] == "ReplicaFailure" and "exceeded quota" in c["message"] for c in cluster.get("deployment", "big", "-n", "limited")["status"].get("conditions", [])))
    refused = cluster.kubectl("create", "deployment", "more", "--image=more", "-n", "limited", fails=True)
    expect("exceeded quota: all, requested: count/deployments.apps=1" in refused, refused)
    cluster.kubectl("delete", "deployment", "big", "-n", "limited")
    eventually("what is gone is not counted", lambda: used() == {"pods": "0", "requests.cpu": "0", "count/deployments.apps": "0"}, 90)


@chapter
def a_whole_tree_is_collected(cluster):
    namespace(cluster, "trees")

    def count():
        return tuple(len(cluster.items(kind, "-n", "trees")) for kind in ("deployments", "replicasets", "pods"))

    def grow():
        cluster.apply(deployment("oak", "trees", 3))
        cluster.kubectl("rollout", "status", "deployment/oak", "--timeout=120s", "-n", "trees")
        expect(count() == (1, 1, 3), f"{count()}")
    for way in ("background", "foreground"):
        grow()
        cluster.kubectl("delete", "deployment", "oak", f"--cascade={way}", "-n", "trees")
        eventually(f"deletion in the {way} takes all with it", lambda: count() == (0, 0, 0), 90)
    grow()
    cluster.kubectl("delete", "deployment", "oak", "--cascade=orphan", "-n", "trees")
    eventually("the replica set has no owner any more", lambda: not any(r["metadata"].get("ownerReferences") for r in cluster.items("rs", "-n", "trees")))
    expect(count() == (0, 1, 3), f"orphans: {count()}")
    cluster.kubectl("delete", "rs", "--all", "-n", "trees")
    eventually("nothing is left", lambda: count() == (0, 0, 0), 90)


@chapter
def a_namespace_with_500_objects_goes_away(cluster):
    namespace(cluster, "full")
    cluster.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "ConfigMap" if n % 2 else "Secret", "metadata": {"name": f"object-{n}", "namespace": "full"}} for n in range(500)]}))
    cluster.apply(deployment("inside", "full", 3))
    cluster.kubectl("rollout", "status", "deployment/inside", "--timeout=120s", "-n", "full")
    cluster.kubectl("delete", "namespace", "full", "--timeout=180s")
    expect(cluster.get("namespace", "full") is None, "the namespace is still there")


@chapter
def a_taint_keeps_pods_away_and_drives_them_out(cluster):
    namespace(cluster, "tainted")
    first, second = cluster.nodes
    cluster.apply(deployment("picky", "tainted", 2))
    cluster.kubectl("rollout", "status", "deployment/picky", "--timeout=120s", "-n", "tainted")
    cluster.kubectl("taint", "node", first, "reserved=yes:NoExecute")
    try:
        eventually("all pods moved", lambda: [p["spec"]["nodeName"] for p in ready_pods(cluster, "picky", "tainted")] == [second, second], 90)
    finally:
        cluster.kubectl("taint", "node", first, "reserved-")


@chapter
def a_node_is_drained(cluster):
    namespace(cluster, "drained")
    first, second = cluster.nodes
    cluster.apply(deployment("moving", "drained", 4))
    cluster.kubectl("rollout", "status", "deployment/moving", "--timeout=120s", "-n", "drained")
    try:
        cluster.kubectl("drain", first, "--ignore-daemonsets", "--force", "--delete-emptydir-data", "--timeout=120s", "--pod-selector=app=moving")
        expect(cluster.get("node", first)["spec"].get("unschedulable"), "the node is not cordoned")
        eventually("its pods run elsewhere", lambda: [p["spec"]["nodeName"] for p in ready_pods(cluster, "moving", "drained")] == [second] * 4, 90)
    finally:
        cluster.kubectl("uncordon", first)


@chapter
def service_accounts_have_tokens(cluster):
    namespace(cluster, "robots")
    cluster.kubectl("create", "serviceaccount", "robot", "-n", "robots")
    token = cluster.kubectl("create", "token", "robot", "-n", "robots").strip()
    expect(who(cluster, token) == "system:serviceaccount:robots:robot", "the requested token does not work")
    cluster.apply({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
                   "metadata": {"name": "robot-token", "namespace": "robots", "annotations": {"kubernetes.io/service-account.name": "robot"}}})
    data = eventually("the controller fills the Secret in", lambda: (lambda d: d if "token" in d else None)(cluster.get("secret", "robot-token", "-n", "robots").get("data", {})))
    expect(set(data) == {"ca.crt", "namespace", "token"}, f"{sorted(data)}")
    token = base64.b64decode(data["token"]).decode()
    expect(who(cluster, token) == "system:serviceaccount:robots:robot", "the token of the Secret does not work")
    cluster.kubectl("delete", "serviceaccount", "robot", "-n", "robots")
    eventually("the Secret goes with its account", lambda: cluster.get("secret", "robot-token", "-n", "robots") is None)
    eventually("its token ends", lambda: who(cluster, token) is None)
    expect("BEGIN CERTIFICATE" in cluster.get("configmap", "kube-root-ca.crt", "-n", "robots")["data"]["ca.crt"], "no CA in the namespace")


def who(cluster, token):
    done = subprocess.run([program("kubectl"), "--kubeconfig=/dev/null", "--server", cluster.server.base, "--certificate-authority", f"{cluster.server.data_dir}/ca.crt",
                           "--token", token, "auth", "whoami", "-o", "json"], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return json.loads(done.stdout)["status"]["userInfo"]["username"] if done.returncode == 0 else None


def signing_request(cluster, name, signer, subject):
    with tempfile.TemporaryDirectory(prefix="cardea-csr-") as folder:
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{folder}/key", "-out", f"{folder}/csr", "-subj", subject)
        with open(f"{folder}/csr", "rb") as csr, open(f"{folder}/key") as key:
            cluster.apply({"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name},
                           "spec": {"request": base64.b64encode(csr.read()).decode(), "signerName": signer, "usages": ["digital signature", "client auth"]}})
            return key.read()


def certificate(cluster, name):
    return eventually(f"the certificate of {name} is there", lambda: cluster.get("csr", name).get("status", {}).get("certificate"))


@chapter
def a_signing_request_is_approved_and_signed(cluster):
    key = signing_request(cluster, "jane", "kubernetes.io/kube-apiserver-client", "/O=devs/CN=jane")
    cluster.kubectl("certificate", "approve", "jane")
    signed = base64.b64decode(certificate(cluster, "jane")).decode()
    at = os.path.join(cluster.folder, "jane")
    for name, text in (("crt", signed), ("key", key)):
        with open(f"{at}.{name}", "w") as out:
            out.write(text)
    found = cluster.kubectl("--client-certificate", f"{at}.crt", "--client-key", f"{at}.key", "--server", cluster.server.base,
                            "--certificate-authority", f"{cluster.server.data_dir}/ca.crt", "auth", "whoami", "-o", "json", kubeconfig="/dev/null")
    expect(json.loads(found)["status"]["userInfo"]["username"] == "jane", found)
    cluster.kubectl("delete", "csr", "jane")


@chapter
def the_request_of_a_kubelet_is_approved_by_itself(cluster):
    signing_request(cluster, "kubelet", "kubernetes.io/kube-apiserver-client-kubelet", "/O=system:nodes/CN=system:node:node-9")
    expect(certificate(cluster, "kubelet"), "no certificate")
    conditions = cluster.get("csr", "kubelet")["status"]["conditions"]
    expect([c["reason"] for c in conditions] == ["AutoApproved"], f"{conditions}")
    cluster.kubectl("delete", "csr", "kubelet")


@chapter
def a_controller_hears_of_its_own_writes(cluster):
    """It tries again after 5 ms, 10 ms, 20 ms and so on: eight times are more than a second."""
    lasting = {f"{resource} at {version}": times for (version, resource), times in stale_reads(cluster.manager.log()).items() if times > 8}
    expect(not lasting, f"the events of these writes did not come: {lasting}")


# The chapters on a kube-apiserver are those above, in the same order.
for name in list(story.chapters):
    story.add(f"kubernetes_{name}", story.chapters[name].run, using={"cluster": "kubernetes"})


@story.chapter
def programs_complain_about_nothing_that_they_do_not_complain_about_on_kubernetes(cluster, kubernetes):
    cluster.lives()
    here, there = cluster.errors(), kubernetes.errors()
    more = [line for name, found in here.items() for message, line in found.items() if message not in there[name]]
    expect(not more, "only on Cardea:\n" + "\n".join(more))


@story.chapter
def the_controllers_of_the_server_step_aside_while_the_manager_works(cluster):
    def made_by_the_manager(name):
        found = eventually(f"{name} has the CA", lambda: cluster.get("configmap", "kube-root-ca.crt", "-n", name))
        return found["metadata"]["annotations"]["kubernetes.io/description"].startswith("Contains a CA bundle")
    namespace(cluster, "outside")
    expect(made_by_the_manager("outside"), "the server's own controller was there first")
    cluster.manager.stop()
    namespace(cluster, "inside")  # waits until the lease has ended
    expect(not made_by_the_manager("inside"), "nobody but the manager makes them")
    cluster.kubectl("delete", "namespace", "inside", "--timeout=60s")
    before = cluster.get(*LEASE)["spec"]["holderIdentity"]
    cluster.manager.start()
    eventually("the manager leads again", lambda: cluster.get(*LEASE)["spec"]["holderIdentity"] != before)
    namespace(cluster, "outside-again")
    expect(made_by_the_manager("outside-again"), "the server's controller did not step aside again")


if __name__ == "__main__":
    story.main()
