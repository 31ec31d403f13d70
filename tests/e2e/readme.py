"""The first screen of README.md and pages of docs/, command by command: the output that they show must be what is printed.

In a block of `console` a line with `$ ` is run, and the lines below it are its expected output. Without such lines only its
success counts. `cat FILE` writes the file instead of reading it.
"""
import os
import re
import shutil
import subprocess
import tempfile

from server import Cardea, binary, expect, skip
from story import Story

story = Story("readme")

HERE = os.path.dirname(os.path.abspath(__file__))
VOLUME = """apiVersion: v1
kind: PersistentVolume
metadata: {name: fast}
spec:
  storageClassName: prod
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /data}
"""


def commands(name):
    with open(os.path.join(HERE, "..", "..", name), encoding="utf-8") as page:
        blocks = re.findall(r"```console\n(.*?)```", page.read(), re.S)
    for block in blocks:
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            line, _, said = part.partition("\n")
            yield line, said.strip()


def tour(kubeconfig, cardea, page="README.md", base="https://127.0.0.1:6443"):
    """Runs the commands of a page against a server. `kubeconfig` is the administrator's in the data folder, `cardea` an executable file."""
    kubectl = os.environ.get("CARDEA_KUBECTL") or shutil.which("kubectl")
    if not kubectl:
        skip("no kubectl: neither $CARDEA_KUBECTL nor one on the PATH")
    with tempfile.TemporaryDirectory() as folder:
        tools = os.path.join(folder, "bin")
        os.mkdir(tools)
        os.symlink(kubectl, os.path.join(tools, "kubectl"))
        os.symlink(cardea, os.path.join(tools, "cardea"))
        environment = {**os.environ, "KUBECONFIG": kubeconfig, "PATH": tools + os.pathsep + os.environ["PATH"]}

        def run(line):
            done = subprocess.run(line, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
            return done.returncode, (done.stdout + done.stderr).strip()
        os.symlink(os.path.dirname(kubeconfig), os.path.join(folder, "D"))
        with open(os.path.join(folder, "prod-volume.yaml"), "w") as file:
            file.write(VOLUME)
        code, said = run("kubectl create deployment web --image=nginx")
        expect(code == 0, said)
        ran = 0
        for line, wanted in commands(page):
            if line.startswith("cat "):
                with open(os.path.join(folder, line[4:]), "w") as file:
                    file.write(wanted + "\n")
                continue
            code, said = run(line.replace("https://127.0.0.1:6443", base))
            expect(wanted in said if wanted else code == 0, f"$ {line}\n{said}\ninstead of\n{wanted}")
            ran += 1
        expect(ran >= 7, f"only {ran} commands were found")


@story.chapter
def the_first_screen_says_what_happens():
    with Cardea() as server:
        tour(server.kubeconfig, binary())


@story.chapter
def a_kube_apiserver_can_ask():
    with Cardea() as server:
        tour(server.kubeconfig, binary(), "docs/webhook.md", server.base)


@story.chapter
def the_commands_answer():
    with Cardea() as server:
        tour(server.kubeconfig, binary(), "docs/commands.md", server.base)


if __name__ == "__main__":
    story.main()
