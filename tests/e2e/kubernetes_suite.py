"""Runs Kubernetes' own conformance tests, those that need no running pod, against a fresh server.

Only with `./dev test --with-peers`: the suite is built with Go from its published modules, which takes minutes.
`--tests=REGEX` narrows it down to the tests whose names match.
"""
import os
import subprocess
from pathlib import Path

from server import Cardea, expect, skip
from story import Story

story = Story("kubernetes_suite", options={"tests": ""})

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


if __name__ == "__main__":
    story.main()
