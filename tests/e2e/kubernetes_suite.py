"""Runs Kubernetes' own conformance tests against a fresh server: in JSON those that need no running pod, on the server alone; and in
Protobuf those that need no process in a container, on a cluster with controller-manager, scheduler and KWOK's nodes. The latter run on a
kube-apiserver too: what passes there passes here.

Only with `./dev test --with-peers`: the suite is built with Go from its published modules, which takes minutes.
`--tests=REGEX` narrows it down to the tests whose names match; `--minutes=N` ends the second part early.
"""
import os
import re
import subprocess
import threading
import xml.etree.ElementTree as xml
from pathlib import Path

from cluster import Cluster, WholeKube, program
from server import Cardea, expect, skip
from story import Story

story = Story("kubernetes_suite", options={"tests": "", "minutes": ""})

RECIPE = Path(__file__).resolve().parents[3] / "shared" / "peers" / "conformance"

# It waits until a pod runs, which needs a kubelet: a kube-apiserver alone fails it too.
NEEDS_A_KUBELET = "should ensure that all pods are removed when a namespace is deleted"


@story.chapter
def kubernetes_own_tests_pass():
    if os.environ.get("CARDEA_WITH_PEERS") != "1":
        skip("Kubernetes' own suite is run with `./dev test --with-peers`")
    if not RECIPE.exists() or "CARDEA_PEERS" not in os.environ:
        skip("no recipe or no peers to build Kubernetes' own suite with")
    tests = [story.options["tests"]] if story.options["tests"] else []
    with Cardea() as server:
        done = subprocess.run([str(RECIPE), server.kubeconfig, *tests], env=os.environ | {"BIN": os.environ["CARDEA_PEERS"]},
                              stdout=subprocess.PIPE, text=True)
    print(done.stdout)
    failed = [line for line in done.stdout.splitlines() if "[FAIL]" in line]
    unexpected = [line for line in failed if NEEDS_A_KUBELET not in line]
    expect(" Passed |" in done.stdout, "the suite did not get to its end")
    expect(not unexpected, "\n".join(unexpected))
    expect(failed or done.returncode == 0, f"the suite ended with status {done.returncode}")


# Tests of the API and of the controllers. What they create needs no process: KWOK says that it runs.
IN_A_CLUSTER = "|".join((
    r"sig-api-machinery\] (AggregatedDiscovery|CustomResourceDefinition|CustomResourcePublishOpenAPI|Discovery|FieldValidation|FlowSchema|API priority|Garbage collector"
    r"|Generated clientset|Namespaces|OrderedNamespaceDeletion|ResourceQuota|Server request timeout|Servers with support|ValidatingAdmissionPolicy|Watchers|server version)",
    r"sig-apps\] (ControllerRevision|CronJob|Daemon set|Deployment|DisruptionController|Job should create pods for an Indexed job|ReplicaSet|ReplicationController)",
    r"sig-auth\] (Certificates API|SubjectReview|ServiceAccounts should (create a serviceAccountToken|delete a collection|guarantee|run through|update))",
    r"sig-instrumentation\]",
    r"sig-network\] (EndpointSlice|Endpoint ?Slice|Ingress|IngressClass|ServiceCIDR|Service endpoints|Services should (complete a service status|delete a collection|find a service|provide secure|test the lifecycle))",
    r"sig-node\] (Lease|PodTemplates|RuntimeClass should (support|schedule)|Pods should (delete a collection|patch a pod status))",
    r"sig-scheduling\] (LimitRange|SchedulerPredicates|SchedulerPreemption)",
    r"sig-storage\] (CSINodes|CSIStorageCapacity|PersistentVolumes|StorageClasses|VolumeAttachment|VolumeAttributesClass)"))

# These look into a container, or wait for what its process does: minutes each, in vain, on every server without kubelets. So do most
# tests of jobs, which are not in the list above: KWOK's containers of jobs succeed at once. The slow ones wait for the clock.
NEEDS_A_PROCESS = "|".join((
    r"\[Slow\]", "has been compacted", "should serve a basic image", "on each replica", "PreemptionExecutionPath", "endpoints latency", "in multiple EndpointSlices", "with same hostPort",
    "proportional scaling", "CronJob should (replace|schedule)"))


def suite(cluster, tests):
    """Runs the suite in Protobuf; returns its tests as name -> whether it passed."""
    report = os.path.join(cluster.folder, "report.xml")
    config = cluster.kubectl("config", "view", "--raw", "--flatten")
    with open(os.path.join(cluster.folder, "suite.kubeconfig"), "w") as out:
        out.write(config)
    with open(os.path.join(cluster.folder, "suite.log"), "w") as log:
        subprocess.run([program("e2e.test"), f"--kubeconfig={cluster.folder}/suite.kubeconfig", "--provider=skeleton", "--allowed-not-ready-nodes=-1", "--minStartupPods=0",
                        "--node-schedulable-timeout=30s", "--system-pods-startup-timeout=1s", f"--kubectl-path={program('kubectl')}",
                        "--kube-api-content-type=application/vnd.kubernetes.protobuf", "--ginkgo.label-filter=Conformance", f"--ginkgo.focus={tests}",
                        f"--ginkgo.skip={NEEDS_A_PROCESS}", f"--ginkgo.timeout={story.options['minutes'] or 90}m", f"--ginkgo.junit-report={report}", "--ginkgo.no-color", "--ginkgo.v", "--ginkgo.seed=1"],
                       stdout=log, stderr=log, cwd=cluster.folder, env={**os.environ, "HOME": cluster.folder})
    return {case.get("name"): case.get("status") == "passed" for case in xml.parse(report).iter("testcase")
            if case.get("status") != "skipped" and "[It]" in case.get("name")}


def short(name):
    return re.sub(r"^\[It\] | \[Conformance\].*$", "", name)


@story.chapter
def what_passes_on_a_kube_apiserver_passes_in_protobuf():
    for name in ("e2e.test", "kube-apiserver", "etcd"):
        program(name)
    with Cluster(Cardea()) as ours, Cluster(WholeKube()) as theirs:
        results = {}

        def run(key, cluster):
            results[key] = suite(cluster, story.options["tests"] or IN_A_CLUSTER)
        threads = [threading.Thread(target=run, args=pair) for pair in (("here", ours), ("there", theirs))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expect(set(results) == {"here", "there"}, "the suite did not get to its end")
        here, there = results["here"], results["there"]
        print(f"{sum(here.values())} of {len(here)} pass here, {sum(there.values())} of {len(there)} on a kube-apiserver")
        for name in sorted(name for name in there if not there[name] and here.get(name) is False):
            print(f"fails on both: {short(name)}")
        for name in sorted(set(here) ^ set(there)):
            print(f"not run to its end on both: {short(name)}")
        worse = sorted(short(name) for name in there if there[name] and here.get(name) is False)
        expect(there and (set(here) == set(there) or story.options["minutes"]), "the suite did not get to its end")
        expect(not worse, "pass on a kube-apiserver only:\n" + "\n".join(worse))


if __name__ == "__main__":
    story.main()
