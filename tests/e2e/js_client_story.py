"""Runs js/story.mjs against a server, with @kubernetes/client-node as js/package-lock.json pins it.

    js_client_story.py FOLDER     where the packages go (below the build folder); kept for the next run
"""
import os
import shutil
import subprocess
import sys
from pathlib import Path

from server import Cardea, expect, skip, tell

SOURCE = Path(__file__).resolve().parent / "js"


def install(folder):
    """The pinned packages, put beside a copy of the story; npm is asked only when the lock file has changed."""
    folder.mkdir(parents=True, exist_ok=True)
    lock, done = SOURCE / "package-lock.json", folder / "installed-lock.json"
    for name in ("package.json", "package-lock.json", "story.mjs"):
        shutil.copy(SOURCE / name, folder / name)
    if done.exists() and done.read_bytes() == lock.read_bytes():
        return
    run = subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if run.returncode != 0:
        print(run.stdout)
        unreachable = any(word in run.stdout for word in ("ENOTFOUND", "ECONNREFUSED", "ETIMEDOUT", "EAI_AGAIN", "ENETUNREACH"))
        if unreachable:
            skip("the npm registry cannot be reached, so @kubernetes/client-node is not tried")
        raise AssertionError("npm ci failed")
    shutil.copy(lock, done)


def story():
    for command in ("node", "npm"):
        if not shutil.which(command):
            skip(f"no {command}: @kubernetes/client-node is not tried")
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "js-client").resolve()
    install(folder)
    with Cardea() as server:
        run = subprocess.run(["node", "story.mjs"], cwd=folder, env={**os.environ, "KUBECONFIG": server.kubeconfig}, timeout=400)
        expect(run.returncode == 0, f"story.mjs ended with status {run.returncode}")


if __name__ == "__main__":
    tell("js_client_story", story)
