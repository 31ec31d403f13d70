"""The README and the pages of docs/, followed as a reader would: every shell command is run, in the order of the page, and what it
prints has to be what the page shows. `shell_blocks.py` says how blocks are written and how one is left out.

Each page has an empty folder and a new server, whose data folder is there as `data` and as `D`. `cardea serve` in a page starts
another one instead, unless the page shows what it prints; `systemctl stop cardea` and `systemctl start cardea` stop and start it.
Chapters have the names of the pages: `book.py docs/webhook.md`.
"""
import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile

from server import Cardea, binary, expect, skip
from shell_blocks import Block, blocks, shows
from story import Story

story = Story("book")

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PAGES = ["README.md", "CONTRIBUTING.md"] + sorted(os.path.relpath(path, ROOT) for path in glob.glob(os.path.join(ROOT, "docs/**/*.md"), recursive=True))
OF_THE_SYSTEM = {"Address already in use"}
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


def skip_with_an_old_kubectl():
    """The pages show what a current kubectl says; before 1.24 it has no `create token`, and other words."""
    shown = subprocess.run([kubectl(), "version", "--client", "-o", "json"], capture_output=True, text=True, check=True).stdout
    minor = int(re.match(r"\d+", json.loads(shown)["clientVersion"]["minor"])[0])
    if minor < 24:
        skip(f"kubectl is 1.{minor}, and pages are written for 1.24 and later")


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
        done = subprocess.run(["timeout", "120", "bash", "-c", text], cwd=self.folder, capture_output=True, text=True)
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


def walk(reader, page, servers=None):
    if page == "README.md":
        reader.write("prod-volume.yaml", VOLUME)
        reader.follow("kubectl create deployment web --image=nginx", "")
    for block in blocks(ROOT, page):
        if block.file_name():
            reader.write(block.file_name(), block.text)
        for command, wanted in block.commands() if block.is_run_here() else ():
            try:
                if not (servers and servers.take(command, wanted)):
                    reader.follow(command, wanted)
            except AssertionError as error:
                raise AssertionError(f"{block}: {error}") from error


def starts_a_server(page):
    command, wanted = next(pair for block in blocks(ROOT, page) if block.is_run_here() for pair in block.commands())
    return command.startswith("cardea serve ") and not wanted


class Servers:
    """The server of a page: one at a time."""

    def __init__(self, reader):
        self.reader, self.current = reader, None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if self.current:
            self.current.__exit__(kind, error, trace)

    def take(self, command, wanted):
        """Does what the command says of the server; False for any other command."""
        words = shlex.split(command) if command.startswith(("cardea serve ", "systemctl ")) else []
        if words[:2] == ["cardea", "serve"] and not wanted:
            self.serve(words[2:])
        elif words == ["systemctl", "stop", "cardea"]:
            expect(self.current.stop() == 0, "the server did not stop well")
        elif words == ["systemctl", "start", "cardea"]:
            self.current.start()
        else:
            return False
        return True

    def serve(self, flags):
        self.__exit__(None, None, None)
        at = flags.index("--data-dir") if "--data-dir" in flags else None
        data = "data" if at is None else flags[at + 1]
        kept = flags if at is None else flags[:at] + flags[at + 2:]
        self.current = Cardea(*kept, data_dir=os.path.join(self.reader.folder, data), start_in=self.reader.folder)
        self.current.__enter__()
        self.reader.uses(self.current.data_dir, self.current.base)


def read(page):
    skip_with_an_old_kubectl()
    with tempfile.TemporaryDirectory() as folder, Servers(Reader(folder, binary())) as servers:
        if not starts_a_server(page):
            servers.serve(["--data-dir", "D"])
        walk(servers.reader, page, servers)


@story.chapter
def every_block_is_run_or_says_why_not():
    problems = [block.problem(ROOT) for page in PAGES for block in blocks(ROOT, page)]
    problems = [problem for problem in problems if problem]
    expect(not problems, "\n".join(problems))


@story.chapter
def a_page_that_is_wrong_is_noticed():
    def block(language, text, mark=None):
        return Block("docs/README.md", 1, language, text, mark)
    expect(list(block("console", "$ cat <<E\n$ x\nE\nout\n$ b \\\n c\n").commands()) == [("cat <<E\n$ x\nE\n", "out"), ("b \\\n c\n", "")], "console")
    expect(block("sh", "# why\na\n# out\n\n# more\nfor i in 1; do\n  b\ndone\n").commands() == [("a\n", "out"), ("for i in 1; do\n  b\ndone\n", "")], "sh")
    expect(shows("NAME   AGE\nx      1s\nend", "NAME AGE\n...\nend"), "columns and gaps")
    expect(not shows("a\nb", "b\n...\na") and not shows("yes, if", "no"), "another output is taken")
    for language, text, mark in (("bash", "ls\n", None), ("", "$ ls\n", None), ("", "kubectl get pods\n", None), ("sh", "ls\n", "tried by tests/e2e/nowhere.py"),
                                 ("sh", "ls\n", "tried by tests/e2e/server.py")):
        expect(block(language, text, mark).problem(ROOT), f"{language} {text!r} {mark} is taken")
    expect(block("sh", "ls\n").problem(ROOT) is None and block("sh", "ls\n").is_run_here(), "sh is not run")
    with tempfile.TemporaryDirectory() as folder:
        reader = Reader(folder, binary())
        for command, wanted in (("false", ""), ("echo no", "yes")):
            try:
                reader.follow(command + "\n", wanted)
            except AssertionError:
                continue
            raise AssertionError(f"{command} with {wanted!r} is taken")


def anchors(path):
    """The anchors of a page, as they are made from its headings."""
    with open(path, encoding="utf-8") as file:
        headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", file.read(), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w -]", "", re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading).lower()).replace(" ", "-") for heading in headings}


@story.chapter
def links_lead_somewhere():
    broken = []
    for page in PAGES + ["CHANGELOG.md", "tests/README.md"]:
        with open(os.path.join(ROOT, page), encoding="utf-8") as file:
            text = re.sub(r"^```.*?^```", "", file.read(), flags=re.M | re.S)
        for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
            path, _, anchor = link.partition("#")
            target = os.path.normpath(os.path.join(ROOT, os.path.dirname(page), path)) if path else os.path.join(ROOT, page)
            if not os.path.exists(target) or (anchor and anchor not in anchors(target)):
                broken.append(f"{page}: {link}")
    expect(not broken, "\n".join(broken))
    with open(os.path.join(ROOT, "docs/README.md"), encoding="utf-8") as file:
        contents = file.read()
    lost = [page for page in PAGES if page.startswith("docs/") and page != "docs/README.md" and f"({page[5:]}" not in contents]
    expect(not lost, f"the table of contents leaves out {lost}")


def said_by_the_program():
    """All literals of the sources, those that are written in several parts joined."""
    text = ""
    for path in glob.glob(os.path.join(ROOT, "src/**/*"), recursive=True) + glob.glob(os.path.join(ROOT, "app/*.cc")):
        if path.endswith((".cc", ".h")) and not path.endswith("_test.cc"):
            with open(path, encoding="utf-8") as file:
                text += re.sub(r'"\s*\n\s*"', "", file.read())
    return text.replace('\\"', '"')


@story.chapter
def messages_in_the_tables_of_troubleshooting_exist():
    with open(os.path.join(ROOT, "docs/troubleshooting.md"), encoding="utf-8") as file:
        page = file.read().partition("## kubectl cannot connect")[0]  # the last ones are kubectl's
    rows = re.findall(r"^\| (`.*?) \| ", page, re.M)
    sources = said_by_the_program()
    messages = [message for row in rows for message in re.findall(r"`([^`]+)`", row)]
    missing = [message for message in messages if message not in sources and message not in OF_THE_SYSTEM]
    expect(len(messages) >= 25, f"only {len(messages)} messages were found")
    expect(not missing, f"no source says {missing}")


@story.chapter
def numbers_of_the_comparison_were_measured():
    def text(name):
        with open(os.path.join(ROOT, "docs", name), encoding="utf-8") as file:
            return file.read()
    rows = [line for line in text("comparison.md").splitlines() if re.search(r"\| BENCHMARKS(; peers)? \|$", line)]
    measured = set(re.findall(r"[\d.,]*\d", text("BENCHMARKS.md")))
    numbers = [number for row in rows for cell in row.split("|")[2:3 if "; peers" in row else 4] for number in re.findall(r"[\d.,]*\d", cell)]
    expect(len(numbers) >= 20, f"only {len(numbers)} numbers were found")
    expect(set(numbers) <= measured, f"BENCHMARKS.md does not have {sorted(set(numbers) - measured)}")


def chapter_of(page):
    return lambda: read(page)


for one in PAGES:
    if any(block.is_run_here() for block in blocks(ROOT, one)):
        story.add(one, chapter_of(one))


if __name__ == "__main__":
    story.main()
