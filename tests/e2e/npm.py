"""The npm packages the stories use, as js/package-lock.json pins them, in a folder of the build."""
import shutil
import subprocess
from pathlib import Path

from server import skip

SOURCE = Path(__file__).resolve().parent / "js"
FOLDER = str(Path(__file__).resolve().parents[2] / "build" / "js-client")  # the default folder; a story may name another one
UNREACHABLE = ("ENOTFOUND", "ECONNREFUSED", "ETIMEDOUT", "EAI_AGAIN", "ENETUNREACH")


def install(folder, program, source=SOURCE):
    """Copies `program` of the folder `source` and the packages it needs into `folder`; npm runs only if the lock file has changed."""
    for command in ("node", "npm"):
        if not shutil.which(command):
            skip(f"no {command}: {program} is not tried")
    folder.mkdir(parents=True, exist_ok=True)
    lock, done = source / "package-lock.json", folder / "installed-lock.json"
    for name in ("package.json", "package-lock.json", program):
        shutil.copy(source / name, folder / name)
    if done.exists() and done.read_bytes() == lock.read_bytes():
        return
    run = subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if run.returncode != 0:
        print(run.stdout)
        if any(word in run.stdout for word in UNREACHABLE):
            skip(f"the npm registry cannot be reached, so {program} is not tried")
        raise AssertionError("npm ci failed")
    shutil.copy(lock, done)
