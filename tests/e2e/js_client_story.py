"""Runs js/story.mjs against a server, with @kubernetes/client-node as js/package-lock.json pins it.

    js_client_story.py FOLDER     where the packages go (below the build folder); kept for the next run
"""
import os
import subprocess
import sys
from pathlib import Path

from npm import install
from server import Cardea, expect, tell


def story():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "js-client").resolve()
    install(folder, "story.mjs")
    with Cardea() as server:
        run = subprocess.run(["node", "story.mjs"], cwd=folder, env={**os.environ, "KUBECONFIG": server.kubeconfig}, timeout=400)
        expect(run.returncode == 0, f"story.mjs ended with status {run.returncode}")


if __name__ == "__main__":
    tell("js_client_story", story)
