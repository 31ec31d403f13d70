"""Random worlds decided by Cardea and by Kubernetes' own RBAC authorizer: decision and reason must be the same.

    rbac_peer.py --program=RBAC_WORLDS [--worlds=4000] [--requests=50]

RBAC_WORLDS is the program that prints them. Needs Go and the module of Kubernetes' parts: $CARDEA_PEERS_SOURCE, else
`shared/peers` beside the repository. Skipped without.
"""
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from server import expect, skip
from story import Story

story = Story("rbac_peer", options={"program": "build/rbac_worlds", "worlds": "4000", "requests": "50"})

ROOT = Path(__file__).resolve().parents[2]


@story.chapter
def decisions_and_reasons_are_the_same():
    program, worlds, requests = (story.options[name] for name in ("program", "worlds", "requests"))
    source = Path(os.environ.get("CARDEA_PEERS_SOURCE", ROOT.parent / "shared" / "peers"))
    go = shutil.which("go")
    if not go or not (source / "go.mod").exists():
        skip("no Go, or no peers beside the repository")
    with tempfile.TemporaryDirectory(prefix="cardea-peer-") as folder:
        module = Path(folder) / "module"
        (module / "bench").mkdir(parents=True)
        for name in ("go.mod", "go.sum"):
            shutil.copyfile(source / name, module / name)
        shutil.copyfile(ROOT / "tests" / "peers" / "rbac_peer_test.go", module / "bench" / "rbac_peer_test.go")
        lines = Path(folder) / "worlds.jsonl"
        with open(lines, "wb") as out:
            subprocess.run([program, worlds, requests], stdout=out, check=True)
        test = subprocess.run([go, "test", "-mod=mod", "-count=1", "-v", "-run", "TestAgreement", "./bench"], cwd=module, capture_output=True, text=True,
                              env={**os.environ, "CARDEA_RBAC_WORLDS_FILE": str(lines)})
    print(test.stdout[-8000:], test.stderr[-4000:])
    if test.returncode and ("no required module" in test.stderr or "dial tcp" in test.stderr):
        skip("the modules of Kubernetes are not there")
    expect(test.returncode == 0, f"go test ended with status {test.returncode}")


if __name__ == "__main__":
    story.main()
