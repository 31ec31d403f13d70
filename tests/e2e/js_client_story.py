"""Runs js/story.mjs against a server, with @kubernetes/client-node as js/package-lock.json pins it.

    js_client_story.py --packages=FOLDER     where the packages go (below the build folder); kept for the next run
"""
import os
import subprocess
from pathlib import Path

import npm
from server import Cardea, expect
from story import Story

story = Story("js_client_story", options={"packages": npm.FOLDER})


@story.chapter
def the_client_does_its_rounds():
    folder = Path(story.options["packages"]).resolve()
    npm.install(folder, "story.mjs")
    with Cardea() as server:
        run = subprocess.run(["node", "story.mjs"], cwd=folder, env={**os.environ, "KUBECONFIG": server.kubeconfig}, timeout=400)
        expect(run.returncode == 0, f"story.mjs ended with status {run.returncode}")


if __name__ == "__main__":
    story.main()
