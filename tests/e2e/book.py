"""The README and the pages of docs/, followed as a reader would: every shell command is run, in the order of the page, and what it
prints has to be what the page shows. `shell_blocks.py` says how blocks are written and how one is left out.

Each page has an empty folder and a new server, whose data folder is there as `data` and as `D`. `cardea serve` in a page starts
another one instead. Chapters have the names of the pages: `book.py docs/webhook.md`.
"""
import glob
import os
import shlex
import shutil
import subprocess
import tempfile

from server import Cardea, binary, expect, skip
from shell_blocks import blocks, shows
from story import Story

story = Story("book")

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PAGES = ["README.md", "CONTRIBUTING.md"] + sorted(os.path.relpath(path, ROOT) for path in glob.glob(os.path.join(ROOT, "docs/**/*.md"), recursive=True))
ADDRESS = "https://127.0.0.1:6443"
# What the excerpts on the first screen of the README leave out.
VOLUME = """apiVersion: v1
kind: PersistentVolume
metadata: {name: fast}
spec:
  storageClassName: prod
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /data}
"""


def kubectl():
    return os.environ.get("CARDEA_KUBECTL") or shutil.which("kubectl") or skip("no kubectl: neither $CARDEA_KUBECTL nor one on the PATH")


class Reader:
    """A folder and a shell in it, whose exported variables last from command to command."""

    def __init__(self, folder, cardea):
        self.folder, self.base = folder, ADDRESS
        tools = os.path.join(folder, ".bin")
        os.mkdir(tools)
        os.symlink(kubectl(), os.path.join(tools, "kubectl"))
        os.symlink(cardea, os.path.join(tools, "cardea"))
        self.state = os.path.join(folder, ".exported")
        with open(self.state, "w") as file:
            file.write(f"export KUBECONFIG={folder}/data/admin.kubeconfig HOME={folder} PATH={tools}:$PATH\n")

    def uses(self, data, base):
        """From now on the commands are about the server with this data folder and address."""
        self.base = base
        for name in ("data", "D"):
            path = os.path.join(self.folder, name)
            if os.path.realpath(path) != os.path.realpath(data):
                if os.path.islink(path):
                    os.remove(path)
                os.symlink(data, path)

    def run(self, command):
        text = f". {self.state}\n{command.replace(ADDRESS, self.base)}\nstatus=$?\nexport -p > {self.state}\nexit $status\n"
        done = subprocess.run(["bash", "-c", text], cwd=self.folder, capture_output=True, text=True, timeout=300)
        return done.returncode, (done.stdout + done.stderr).strip()

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def follow(self, command, wanted):
        words = command.split()
        if words[0] == "cat" and len(words) == 2 and wanted:
            return self.write(words[1], wanted + "\n")
        code, said = self.run(command)
        expect(shows(said, wanted) if wanted else code == 0, f"$ {command}{said}\n(status {code}) instead of\n{wanted}")


def tour(kubeconfig, cardea, page="README.md", base=ADDRESS):
    """Runs the commands of a page that starts no server. `kubeconfig` is the administrator's in a data folder, `cardea` an executable file."""
    with tempfile.TemporaryDirectory() as folder:
        reader = Reader(folder, cardea)
        reader.uses(os.path.dirname(kubeconfig), base)
        walk(reader, page)


def walk(reader, page, serve=None):
    if page == "README.md":
        reader.write("prod-volume.yaml", VOLUME)
        reader.follow("kubectl create deployment web --image=nginx", "")
    for block in blocks(ROOT, page):
        if block.file_name():
            reader.write(block.file_name(), block.text)
        for command, wanted in block.commands() if block.is_run_here() else ():
            try:
                if command.startswith("cardea serve "):
                    expect(serve, "this page starts servers")
                    serve(shlex.split(command)[2:])
                else:
                    reader.follow(command, wanted)
            except AssertionError as error:
                raise AssertionError(f"{block}: {error}") from error


def starts_a_server(page):
    commands = [command for block in blocks(ROOT, page) if block.is_run_here() for command, _ in block.commands()]
    return commands[0].startswith("cardea serve ")


def read(page):
    with tempfile.TemporaryDirectory() as folder:
        reader, servers = Reader(folder, binary()), []

        def serve(flags):
            if servers:
                servers.pop().__exit__(None, None, None)
            data = flags[flags.index("--data-dir") + 1] if "--data-dir" in flags else "data"
            kept = [flag for at, flag in enumerate(flags) if flag != "--data-dir" and (at == 0 or flags[at - 1] != "--data-dir")]
            server = Cardea(*kept, data_dir=os.path.join(folder, data), start_in=folder)
            servers.append(server.__enter__())
            reader.uses(server.data_dir, server.base)
        try:
            if not starts_a_server(page):
                serve(["--data-dir", "D"])
            walk(reader, page, serve)
        finally:
            while servers:
                servers.pop().__exit__(None, None, None)


@story.chapter
def every_block_is_run_or_says_why_not():
    problems = [block.problem(ROOT) for page in PAGES for block in blocks(ROOT, page)]
    problems = [problem for problem in problems if problem]
    expect(not problems, "\n".join(problems))


def chapter_of(page):
    return lambda: read(page)


for one in PAGES:
    if any(block.is_run_here() for block in blocks(ROOT, one)):
        story.add(one, chapter_of(one))


if __name__ == "__main__":
    story.main()
