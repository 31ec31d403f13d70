"""Replays the recorded conversations with a real kube-apiserver against a fresh server.

    replay.py [--folder=FOLDER]     FOLDER holds the scenarios; default: tests/conformance/data/http, which also lends its
                                    replay.py and users.csv to a FOLDER that has none

Every difference fails, except in the steps that `waiting.json` names: those need later work, or are known
differences with a reason. A named step that passes is reported, so that the list shrinks. Ends with
`N passed, M failed, K skipped`, a step being one check.
"""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from server import Cardea, expect
from story import Story

story = Story("replay", options={"folder": ""})
HERE = Path(__file__).resolve().parent
# A difference begins with the scenario's file and the step's number.
DIFFERENCE = re.compile(r"^(?P<name>[\w.-]+)\.json\[(?P<step>\d+)\] ")
SUMMARY = re.compile(r"^(\d+) passed, (\d+) failed$")


OWN = HERE.parent / "conformance" / "data" / "http"


def beside(folder, name):
    """A file of the folder, or else the one of this repository's scenarios."""
    return folder / name if (folder / name).exists() else OWN / name


def flags(folder):
    return ["--token-auth-file", str(beside(folder, "users.csv")), "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction", "--disable-admission-plugins=ServiceAccount", "--controllers=",
            "--service-cluster-ip-range=10.0.0.0/24", "--service-node-port-range=30000-32767", "--allow-privileged=false"]


class Waiting:
    """The list of allowed differences: which entry, if any, is about a step."""

    def __init__(self, path):
        lists = json.loads(path.read_text())
        self.reasons = {key: f"waits for {issue}" for key, issue in lists["waiting"].items()}
        self.reasons |= {key: f"known difference: {why}" for key, why in lists["known_differences"].items()}
        self.differing = {}  # of the entries that were about a step: how many of their steps differ

    def entry(self, name, topic, step, user):
        keys = (f"{name}[{step}]", name, f"{topic} as:{user}", f"topic:{topic}")
        return next((key for key in keys if key in self.reasons), None)

    def count(self, key, differs):
        self.differing[key] = self.differing.get(key, 0) + differs

    def done(self):
        return [key for key in self.reasons if self.differing.get(key) == 0]


def replay(server, folder, files, patience):
    """The lines that replay.py prints for these scenarios, without its summary, and the number of steps that differ."""
    if not files:
        return [], 0
    command = [sys.executable, str(beside(folder, "replay.py")), "replay", "--base", server.base,
               "--cert", os.path.join(server.data_dir, "admin.crt"), "--key", os.path.join(server.data_dir, "admin.key"),
               "--tokens", str(beside(folder, "users.csv")), "--patience", str(patience), *map(str, files)]
    lines = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    summary = SUMMARY.match(lines[-1]) if lines else None
    if not summary:
        server.show_log()
        raise AssertionError("\n".join(lines[-20:] + ["replay.py did not end with its summary"]))
    return lines[:-1], int(summary[2])


def replay_steadily(server, folder, files, patience):
    """The same, but scenarios in which only owners of fields differ are run again: owners are sorted by the second of
    their writes, and one may have begun between two writes that were recorded within one."""
    lines, differing = replay(server, folder, files, patience)
    for _ in range(3):
        of_file = {}
        for line in lines:
            if found := DIFFERENCE.match(line):
                of_file.setdefault(found["name"], []).append(line)
        again = [path for path in files if path.stem in of_file and all(".managedFields[" in line for line in of_file[path.stem])]
        if not again:
            break
        differing -= len({DIFFERENCE.match(line)[0] for path in again for line in of_file[path.stem]})
        names = {path.stem for path in again}
        more, still = replay(server, folder, again, patience)
        lines = [line for line in lines if not ((found := DIFFERENCE.match(line)) and found["name"] in names)] + more
        differing += still
    return lines, differing


@story.chapter
def answers_are_those_of_a_kube_apiserver():
    folder = Path(story.options["folder"] or OWN)
    waiting = Waiting(HERE / "waiting.json")
    scenarios = {path: json.loads(path.read_text()) for path in sorted(folder.rglob("*.json"))}
    late = [path for path, scenario in scenarios.items() if waiting.entry(path.stem, scenario["topic"], -1, "")]
    with Cardea(*flags(folder)) as server:
        lines, differing = replay_steadily(server, folder, [path for path in scenarios if path not in late], patience=10)
        # A feature that does not exist yet never takes effect, so the waiting time is short.
        more, differing_late = replay(server, folder, late, patience=0.3)
        expect(server.alive(), f"the server ended with status {server.process.returncode}")

    differences, preparations = {}, []
    for line in lines + more:
        found = DIFFERENCE.match(line)
        if found:
            differences.setdefault((found["name"], int(found["step"])), []).append(line)
        elif ".json setup[" in line:
            preparations.append(line)
    passed = failed = skipped = 0
    for path, scenario in scenarios.items():
        for i, step in enumerate(scenario["steps"]):
            user = step.get("as", "admin")
            entry = waiting.entry(path.stem, scenario["topic"], i, user)
            found = differences.get((path.stem, i))
            if entry:
                waiting.count(entry, bool(found))
            if not found:
                passed += 1
            elif entry:
                skipped += 1
                print(f"skipped: {path.stem}[{i}] {user} {step['method']} {step['path'][:80]}: {waiting.reasons[entry]}")
            else:
                failed += 1
                print("\n".join(found))
        if path not in late:
            print("".join(line + "\n" for line in preparations if line.startswith(path.name)), end="")
    expect(differing + differing_late == failed + skipped,
           f"replay.py counted {differing + differing_late} differing steps, and {failed + skipped} were understood")
    for key in waiting.done():
        print(f"{key} passes now: take it off waiting.json ({waiting.reasons[key]})")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    expect(failed == 0, f"{failed} steps differ")


if __name__ == "__main__":
    story.main()
