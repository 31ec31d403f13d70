"""The shell commands of a page of Markdown, and whether they may be run.

A block is run unless the line above it says why not:

    <!-- not run: it needs a registry -->
    <!-- tried by tests/e2e/cluster.py -->       a test that does the same, and names the page

In a block of `console` a line with `$ ` is a command. In a block of `sh` every line is one. A command may have several lines: here
documents, loops, `\\` at the end. The lines below a command are its expected output; in `sh` they begin with `# `. A line `...`
stands for any lines. Without expected output the command has to succeed. `cat FILE` in a `console` block writes the file, and so
does a block of `yaml` or `json` whose first line is a comment with the name: `# role.yaml`.
"""
import os
import re
import subprocess

SHELL = ("sh", "console")
OTHER = ("yaml", "json", "text", "python", "cpp", "")
LOOKS_LIKE_SHELL = re.compile(r"^(\$ |(kubectl|cardea|curl|openssl|helm|apt|systemctl|sudo|export|\./dev)\b)", re.M)


class Block:
    def __init__(self, page, line, language, text, mark):
        self.page, self.line, self.language, self.text = page, line, language, text
        self.not_run = self.tried_by = None
        if mark:
            kind, said = re.fullmatch(r"(not run:|tried by) (.+)", mark).groups()
            if kind == "tried by":
                self.tried_by = said
            else:
                self.not_run = said

    def __str__(self):
        return f"{self.page}:{self.line}"

    def is_run_here(self):
        return self.language in SHELL and not self.not_run and not self.tried_by

    def file_name(self):
        named = re.match(r"# ([\w.-]+\.(?:ya?ml|json|csv))\n", self.text)
        return named[1] if named and self.language in ("yaml", "json", "text") else None

    def problem(self, root):
        """What is wrong with how the block is marked, or None."""
        if self.language not in SHELL + OTHER:
            return f"{self}: the language `{self.language}`; shell is `sh`, or `console` where output is shown"
        if self.language == "" and LOOKS_LIKE_SHELL.search(self.text):
            return f"{self}: looks like shell: say `sh` or `console`"
        if self.tried_by:
            path = os.path.join(root, self.tried_by)
            if not os.path.exists(path):
                return f"{self}: there is no {self.tried_by}"
            with open(path, encoding="utf-8") as file:
                if self.page not in file.read():
                    return f"{self}: {self.tried_by} does not name {self.page}"
        return None

    def commands(self):
        """Pairs of a command and its expected output."""
        return console(self.text) if self.language == "console" else script(self.text)


def blocks(root, page):
    with open(os.path.join(root, page), encoding="utf-8") as file:
        lines = file.read().splitlines()
    found, start, mark = [], None, None
    for number, line in enumerate(lines):
        if start is None and line.startswith("```"):
            start = number
            above = re.fullmatch(r"<!-- ((?:not run:|tried by) .+) -->", lines[number - 1]) if number else None
            mark = above[1] if above else None
        elif start is not None and line.startswith("```"):
            found.append(Block(page, start + 1, lines[start][3:].strip(), "\n".join(lines[start + 1:number]) + "\n", mark))
            start = None
    return found


def is_whole(command):
    """Whether a shell waits for nothing more."""
    done = subprocess.run(["bash", "-n"], input=command, capture_output=True, text=True)
    return done.returncode == 0 and not done.stderr and not command.rstrip("\n").endswith("\\")


def console(text):
    command, said = "", []
    for line in text.splitlines():
        if command and not is_whole(command):
            command += line + "\n"
        elif line.startswith("$ "):
            if command:
                yield command, "\n".join(said).strip()
            command, said = line[2:] + "\n", []
        else:
            said.append(line)
    if command:
        yield command, "\n".join(said).strip()


def script(text):
    command, said, done = "", [], []
    for line in text.splitlines():
        if command and not is_whole(command):
            command += line + "\n"
        elif command and line.startswith("# "):
            said.append(line[2:])
        elif not line.strip() or line.startswith("#"):
            done.append((command, said))
            command, said = "", []
        else:
            done.append((command, said))
            command, said = line + "\n", []
    done.append((command, said))
    return [(command, "\n".join(said)) for command, said in done if command]


def shows(said, wanted):
    """Whether the output has the expected lines, whatever the width of columns."""
    def even(text):
        return "\n".join(" ".join(line.split()) for line in text.splitlines())
    said, at = even(said), 0
    for piece in re.split(r"^\.\.\.$", even(wanted), flags=re.M):
        found = said.find(piece.strip("\n"), at)
        if found < 0:
            return False
        at = found + len(piece.strip("\n"))
    return True
