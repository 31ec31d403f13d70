"""The scenarios of tests/scenarios/, each a chapter. Its README.md describes the format.

    scenarios.py [--folder=FOLDER] [SCENARIO...]

The chapters at the end check that a scenario can fail, and that a wrong one is refused with its file and line.
"""
import os
import sys
import tempfile
from pathlib import Path

from server import expect, skip
from story import Story

try:
    from scenario import Malformed, play, read
except ImportError:
    read = None

OWN = Path(__file__).resolve().parent.parent / "scenarios"
story = Story("scenarios", options={"folder": str(OWN)})

GOOD = """title: A door
shows: who may look at it.
users:
  alice:
given:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: door, namespace: default}
  data: {colour: red}
steps:
- as: admin
  request: GET /api/v1/namespaces/default/configmaps/door
  expect:
    status: 200
    body: {data: {colour: red}}
- as: alice
  request: GET /api/v1/namespaces/default/configmaps/door
  expect:
    status: 403
    messageContains: cannot get resource
    absent: [/data]
"""

WRONG = [  # the replacement, the replaced text, and the error
    ("title: A door", "title: A door\ncolour: red", "2: unknown key `colour` in a scenario"),
    ("shows: who may look at it.\n", "", "1: a scenario has no `shows`"),
    ("  expect:\n    status: 200\n    body: {data: {colour: red}}\n", "", "11: a step has no `expect`"),
    ("    status: 200\n", "", "14: `expect` has no `status`"),
    ("    messageContains:", "    messageContain:", "20: unknown key `messageContain` in `expect`"),
    ("- as: alice", "- as: bob", "16: nobody is called `bob`"),
    ("  request: GET /api/v1/namespaces/default/configmaps/door\n  expect:\n    status: 403", "  request: LOOK /door\n  expect:\n    status: 403", "17: `LOOK /door` is no request"),
    ("  request: GET", "  request: PATCH", "12: a PATCH, and nothing else, has `patch`"),
    ("  request: GET", "  within: 5\n  body: {}\n  request: POST", "12: only a GET can be repeated"),
    ("[/data]", "[data]", "21: `data` is no JSON pointer"),
    ("colour: red}\nsteps", "colour: no}\nsteps", "9: `no` is text to some"),
    ("    status: 200\n", "    status: 200\n    status: 201\n", "15: `status` is there twice"),
    ("  alice:\n", "  alice: {group: [dev]}\n", "4: unknown key `group` in user `alice`"),
    ("  alice:\n", "  admin:\n", "4: `admin` is there without being declared"),
    ("users:", "server: {flags: [--data-dir=/x]}\nusers:", "3: `--data-dir` is not for scenarios to set"),
    ("  kind: ConfigMap\n", "", "6: an object has `apiVersion`, `kind` and `metadata.name`"),
    ("title: A door", "title: &a A door", "1: anchors and aliases are not used"),
    ("title: A door", "title: [", "3: "),
]

FAILING = [  # the same scenario with other expectations, and the reported difference
    ("    status: 200\n", "    status: 404\n", ["line 11, step 1: GET /api/v1/namespaces/default/configmaps/door as admin", "status: expected 404, came 200"]),
    ("    body: {data: {colour: red}}", "    body: {data: {colour: blue}}", ["/data/colour: expected blue, came red"]),
    ("    body: {data: {colour: red}}", "    body: {data: {size: \"1\"}}", ["/data/size: expected 1, and it is not there"]),
    ("    body: {data: {colour: red}}", "    absent: [/data/colour]", ["/data/colour: expected nothing there, came red"]),
    ("    body: {data: {colour: red}}", "    headers: {Warning: red}", ["header Warning: expected `red` in it, came []"]),
    ("    body: {data: {colour: red}}", "    absentHeaders: [Content-Type]", ["header Content-Type: expected none"]),
    ("    body: {data: {colour: red}}", "    includes: {/metadata/managedFields: [{manager: nobody}]}", ['/metadata/managedFields: expected an item like {"manager": "nobody"}']),
    ("    body: {data: {colour: red}}", "    excludes: {/metadata/managedFields: [{operation: Update}]}", ['/metadata/managedFields: expected no item like {"operation": "Update"}']),
    ("    messageContains: cannot get resource", "    messageContains: [cannot get, like a door]", ["step 2", "message: expected `like a door` in it, came `configmaps \"door\" is forbidden"]),
    ("    messageContains: cannot get resource", "    message: \"no\"", ["message: expected `no`, came `configmaps \"door\" is forbidden"]),
]


def told(path):
    def chapter():
        if read is None:
            skip("Debian's package python3-yaml is not installed")
        play(read(str(path)))
    return chapter


def complaint(text, run):
    """The error of a scenario with this text."""
    if read is None:
        skip("Debian's package python3-yaml is not installed")
    with tempfile.TemporaryDirectory(prefix="cardea-scenario-") as folder:
        path = os.path.join(folder, "door.yaml")
        with open(path, "w") as file:
            file.write(text)
        try:
            run(path)
        except (Malformed, AssertionError) as error:
            return str(error).replace(path + ":", "")
    return ""


def replaced(old, new):
    expect(old in GOOD, f"the good scenario has no {old!r}")
    return GOOD.replace(old, new, 1)


def a_wrong_scenario_is_refused_with_its_line():
    expect(complaint(GOOD, read) == "", "the good one is refused")
    for old, new, saying in WRONG:
        said = complaint(replaced(old, new), read)
        expect(said.startswith(saying), f"{new!r} instead of {old!r}: `{said}` instead of `{saying}`")


def a_scenario_can_fail():
    expect(complaint(GOOD, lambda path: play(read(path))) == "", "the good one fails")
    for old, new, saying in FAILING:
        said = complaint(replaced(old, new), lambda path: play(read(path)))
        for part in saying:
            expect(part in said, f"{new!r} instead of {old!r}: `{part}` is not in `{said}`")


def the_example_of_the_page_is_one_of_them():
    page = (OWN / "README.md").read_text()
    example = page.split("```yaml\n", 1)[1].split("```", 1)[0]
    expect(any(path.read_text() == example for path in OWN.glob("*.yaml")), "the example of README.md is no scenario")


def register(arguments):
    folder = next((a.partition("=")[2] for a in arguments if a.startswith("--folder=")), str(OWN))
    for path in sorted(Path(folder).glob("*.yaml")):
        story.add(path.stem, told(path))
    for chapter in (a_wrong_scenario_is_refused_with_its_line, a_scenario_can_fail, the_example_of_the_page_is_one_of_them):
        story.chapter(chapter)


if __name__ == "__main__":
    register(sys.argv[1:])
    story.main()
