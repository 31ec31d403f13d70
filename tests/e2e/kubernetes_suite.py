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

with Cardea() as server:
    done = subprocess.run([str(RECIPE), server.kubeconfig, *sys.argv[1:]], env=os.environ | {"BIN": os.environ["CARDEA_PEERS"]})
    sys.exit(done.returncode)
