"""docs/flags.md and docs/kinds.md list what the program and a running server say of themselves (`reference.py --write` writes both anew)."""
import os
import re
import subprocess
import sys

from server import Cardea, binary, expect
from story import Story

story = Story("reference")

DOCS = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs"))
OWN_GROUPS = ("access.cardea.dev", "authorization.openshift.io", "permissionconfig.k8s.io")
TEXT_COLUMN = 36  # of a help text; what stands further to the right is an item of a list
FLAGS = """# Flags of all commands

This page is what `cardea COMMAND --help` says: `tests/e2e/reference.py --write` generates it. [RUNNING.md](RUNNING.md) explains the flags of `serve`,
[commands.md](commands.md) what commands have in common. Names in capitals stand for a value; what follows `=` is the default.
"""
KINDS = """# Kinds

What a server without definitions of your own serves: `tests/e2e/reference.py --write` generates this page from discovery and OpenAPI.
`kubectl explain KIND` has the fields of each. Every group but the last three is Kubernetes' own. Definitions add kinds ([conversion-webhooks.md](conversion-webhooks.md)),
and so do other API servers ([aggregation.md](aggregation.md)).
"""


def helped(*command):
    done = subprocess.run([binary(), *command, "--help"], capture_output=True, text=True)
    expect(done.returncode == 0, f"cardea {' '.join(command)} --help: {done.stderr}")
    return done.stdout


def commands():
    listed = helped().partition("\nCommands:\n")[2].partition("\n\n")[0]
    return [re.split(r"\s{2,}", line.strip())[0].split() for line in listed.splitlines()]


def cell(text):
    return text.replace("|", "\\|").replace("<", "&lt;")


def sections(text):
    """The groups of a help text: name -> lines."""
    found = {}
    for line in text.splitlines():
        title = re.fullmatch(r"([A-Za-z][\w ,:-]*):", line)
        if title:
            lines = found.setdefault(title[1], [])
        elif found and line.strip():
            lines.append(line)
    return found


def rows(lines):
    """Flags, or words, with their meaning, of one group."""
    found, was_item = [], False
    for line in lines:
        begins = re.match(r"  (\S.*?)(?:\s{2,}(\S.*))?$", line)
        if begins and not line.startswith("   "):
            found.append([begins[1], begins[2] or ""])
        else:
            is_item = len(line) - len(line.lstrip()) > TEXT_COLUMN
            found[-1][1] = f"{found[-1][1]}{',' if is_item and was_item else ''} {line.strip()}".strip()
            was_item = is_item
    return found


def flags_page():
    page = FLAGS
    for command in commands():
        text = helped(*command)
        about, groups = text.partition("\n\nUsage:")[0], sections(text)
        page += f"\n## {' '.join(command)}\n\n{cell(' '.join(about.split()))}\n\n"
        page += "".join(f"    {line.strip()}\n" for line in groups.pop("Usage"))
        groups.pop("Examples", None)
        for name, lines in groups.items():
            if [row[0] for row in rows(lines)] == ["-h,--help"]:
                continue
            page += f"\n| {name.lower() if name != 'etcd' else name} | |\n|---|---|\n"
            page += "".join(f"| `{flag.replace('|', chr(92) + '|')}` | {cell(means)} |\n" for flag, means in rows(lines) if flag != "-h,--help")
    return page


def sentence(text):
    return re.split(r"(?<=[.])\s|\n", text.strip(), maxsplit=1)[0]


def fields(schemas, name, under=""):
    """The fields of a type with their descriptions, two levels deep."""
    for field, schema in schemas[name].get("properties", {}).items():
        inner = [part["$ref"] for part in [schema, *schema.get("allOf", []), schema.get("items", {}), *schema.get("items", {}).get("allOf", [])] if "$ref" in part]
        if not under and field in ("apiVersion", "kind", "metadata"):
            continue
        many = "[]" if schema.get("type") == "array" else ""
        yield f"{under}{field}{many}", " ".join(schema.get("description", "").split())
        if inner and under.count(".") < 1:
            yield from fields(schemas, inner[0].rpartition("/")[2], f"{under}{field}{many}.")


def kinds_page():
    with Cardea() as server:
        def get(path):
            status, _, body = server.request("GET", path)
            expect(status == 200, f"{path}: {status}")
            return body
        versions = ["api/v1"] + [f"apis/{version['groupVersion']}" for group in get("/apis")["groups"] for version in group["versions"]]
        versions.sort(key=lambda path: any(own in path for own in OWN_GROUPS))
        page = KINDS
        for path in versions:
            listed, schemas = get(f"/{path}")["resources"], get(f"/openapi/v3/{path}")["components"]["schemas"]
            group, _, version = path.partition("/")[2].rpartition("/")
            types = {entry["kind"]: name for name, schema in schemas.items() for entry in schema.get("x-kubernetes-group-version-kind", ())
                     if (entry["group"], entry["version"]) == (group, version)}
            page += f"\n## {path.partition('/')[2]}\n\n| kind | resource | in | verbs | subresources | is |\n|---|---|---|---|---|---|\n"
            for resource in sorted((r for r in listed if "/" not in r["name"]), key=lambda r: r["name"]):
                parts = [r["name"].partition("/")[2] for r in listed if r["name"].startswith(resource["name"] + "/")]
                short = "".join(f", `{name}`" for name in resource.get("shortNames", ()))
                about = sentence(schemas[types[resource["kind"]]].get("description", "")) if resource["kind"] in types else ""
                page += (f"| {resource['kind']} | `{resource['name']}`{short} | {'namespaces' if resource['namespaced'] else 'cluster'} | "
                         f"{', '.join(resource['verbs'])} | {', '.join(sorted(parts))} | {cell(about)} |\n")
            if group in OWN_GROUPS:
                for resource in sorted((r for r in listed if "/" not in r["name"] and r["kind"] in types), key=lambda r: r["name"]):
                    lines = [f"| `{field}` | {cell(means)} |\n" for field, means in fields(schemas, types[resource["kind"]])]
                    if lines:
                        page += f"\n| fields of {resource['kind']} | |\n|---|---|\n{''.join(lines)}"
        return page


PAGES = {"flags.md": flags_page, "kinds.md": kinds_page}


def is_current(name, make):
    with open(os.path.join(DOCS, name), encoding="utf-8") as file:
        expect(file.read() == make(), f"docs/{name} is not what the program says; tests/e2e/reference.py --write writes it")


for one, maker in PAGES.items():
    story.add(f"docs/{one}", lambda name=one, make=maker: is_current(name, make))


@story.chapter
def the_flags_that_running_explains_exist():
    with open(os.path.join(DOCS, "RUNNING.md"), encoding="utf-8") as file:
        table = file.read().partition("## Flags")[2].partition("###")[0]
    told = {flag for line in table.splitlines() if line.startswith("| `-") for flag in re.findall(r"`(--[\w-]+)`", line.split(" | ")[0])}
    known = set(re.findall(r"(--[\w-]+)", helped("serve")))
    expect(len(told) >= 60, f"only {len(told)} flags were found")
    expect(told <= known, f"RUNNING.md explains flags that `serve` does not have: {sorted(told - known)}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        for one, maker in PAGES.items():
            with open(os.path.join(DOCS, one), "w", encoding="utf-8") as out:
                out.write(maker())
    else:
        story.main()
