"""Runs Kubernetes' own conformance tests, those that need no running pod, against a fresh server.

Only with `./dev test --with-peers`: the suite is built with Go from its published modules, which takes minutes.
An argument narrows it down to the tests whose names match.
"""
import os
import subprocess
import sys
from pathlib import Path

from server import Cardea, skip

RECIPE = Path(__file__).resolve().parents[3] / "shared" / "peers" / "conformance"

if os.environ.get("CARDEA_WITH_PEERS") != "1":
    skip("Kubernetes' own suite is run with `./dev test --with-peers`")
if not RECIPE.exists() or "CARDEA_PEERS" not in os.environ:
    skip("no recipe or no peers to build Kubernetes' own suite with")

# It waits for a pod to run, which takes a kubelet: a kube-apiserver by itself fails it too.
NEEDS_A_KUBELET = "should ensure that all pods are removed when a namespace is deleted"

with Cardea() as server:
    done = subprocess.run([str(RECIPE), server.kubeconfig, *sys.argv[1:]], env=os.environ | {"BIN": os.environ["CARDEA_PEERS"]},
                          stdout=subprocess.PIPE, text=True)
    print(done.stdout)
    failed = [line for line in done.stdout.splitlines() if "[FAIL]" in line]
    unexpected = [line for line in failed if NEEDS_A_KUBELET not in line]
    sys.exit(0 if " Passed |" in done.stdout and not unexpected and (failed or done.returncode == 0) else 1)
