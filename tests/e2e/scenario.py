"""Reads a scenario (tests/scenarios/README.md has the format) and plays it on its own server.

    scenario = read("tests/scenarios/rbac-role.yaml")     raises Malformed, with file and line
    play(scenario)                                        raises AssertionError, with the expected and the actual answer
"""
import http.client
import json
import os
import re
import ssl
import tempfile

import yaml

from server import Cardea, eventually, exchange, expect

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
PATCHES = {"merge": "application/merge-patch+json", "json": "application/json-patch+json", "strategic": "application/strategic-merge-patch+json",
           "apply": "application/apply-patch+yaml"}
KNOWN = ("admin", "anonymous")  # users that need no declaration
OWN_FLAGS = ("--token-auth-file", "--data-dir", "--secure-port", "--bind-address", "--feature-gates")
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
# Texts that one YAML parser reads as a boolean or a number, and another one as text.
UNCLEAR = re.compile(r"(?i:yes|no|on|off|y|n)|[-+]?[0-9][0-9_:,]*(\.[0-9_]*)?|0[xob][0-9a-fA-F_]+|[-+]?\.[0-9]+|True|TRUE|False|FALSE|Null|NULL")


class Malformed(Exception):
    def __init__(self, path, line, what):
        super().__init__(f"{path}:{line}: {what}")


class Reader:
    """Converts YAML to values, with the line of every key. It accepts the part of YAML that all parsers read in the same way."""

    def __init__(self, path):
        self.path = path
        self.lines = {}  # id of a map or list: its line, and for maps the lines of its keys
        self.kept = []  # so that no id is used twice

    def fail(self, line, what):
        raise Malformed(self.path, line, what)

    def read(self):
        with open(self.path, encoding="utf-8") as file:
            text = file.read()
        try:
            for event in yaml.parse(text, Loader=yaml.SafeLoader):
                if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                    self.fail(event.start_mark.line + 1, "anchors and aliases are not used in scenarios")
            node = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            self.fail((error.problem_mark.line if error.problem_mark else 0) + 1, error.problem)
        if node is None:
            self.fail(1, "the file is empty")
        return self.value(node)

    def value(self, node):
        line = node.start_mark.line + 1
        if isinstance(node, yaml.MappingNode):
            out, keys = {}, {}
            for key, value in node.value:
                name = key.value if isinstance(key, yaml.ScalarNode) else self.fail(line, "a key must be text")
                if name in out:
                    self.fail(key.start_mark.line + 1, f"`{name}` is there twice")
                out[name], keys[name] = self.value(value), key.start_mark.line + 1
            return self.remember(out, line, keys)
        if isinstance(node, yaml.SequenceNode):
            return self.remember([self.value(item) for item in node.value], line, {})
        return self.scalar(node, line)

    def remember(self, value, line, keys):
        self.lines[id(value)] = (line, keys)
        self.kept.append(value)
        return value

    def scalar(self, node, line):
        text = node.value
        if node.style is not None:
            return text
        if text in ("", "~", "null"):
            return None
        if text in ("true", "false"):
            return text == "true"
        if NUMBER.fullmatch(text):
            return json.loads(text)
        if UNCLEAR.fullmatch(text):
            self.fail(line, f"`{text}` is text to some and something else to others: write it in quotes, or as true, false or a plain number")
        return text

    def line(self, value, key=None):
        line, keys = self.lines.get(id(value), (1, {}))
        return keys.get(key, line)


class Checker:
    """Reports the errors in the form of a scenario."""

    def __init__(self, reader):
        self.reader = reader

    def fail(self, value, key, what):
        self.reader.fail(self.reader.line(value, key), what)

    def keys(self, value, where, required, optional):
        for key in value:
            if key not in required and key not in optional:
                self.fail(value, key, f"unknown key `{key}` in {where}; known are {', '.join([*required, *optional])}")
        for key in required:
            if key not in value:
                self.fail(value, None, f"{where} has no `{key}`")

    def type(self, value, key, kinds, what):
        if key in value and (not isinstance(value[key], kinds) or isinstance(value[key], bool)):
            self.fail(value, key, f"`{key}` must be {what}")

    def scenario(self, s):
        if not isinstance(s, dict):
            self.reader.fail(1, "a scenario is a map")
        self.keys(s, "a scenario", ("title", "shows", "steps"), ("server", "users", "given"))
        for key in ("title", "shows"):
            self.type(s, key, str, "text")
        self.type(s, "steps", list, "a list")
        self.type(s, "given", list, "a list of objects")
        for key in ("server", "users"):
            self.type(s, key, dict, "a map")
        if not s["steps"]:
            self.fail(s, "steps", "a scenario without steps shows nothing")
        self.server(s.get("server", {}))
        self.users(s.get("users", {}))
        for item in s.get("given", []):
            self.given(s, item)
        for step in s["steps"]:
            if not isinstance(step, dict):
                self.fail(s, "steps", "a step is a map")
            self.step(step, s.get("users", {}))

    def server(self, server):
        self.keys(server, "`server`", (), ("flags", "gates", "files"))
        self.type(server, "flags", list, "a list of texts")
        for flag in server.get("flags", []):
            if not isinstance(flag, str) or not flag.startswith("--"):
                self.fail(server, "flags", f"`{flag}` is no flag: write --NAME or --NAME=VALUE")
            if flag.split("=")[0] in OWN_FLAGS:
                self.fail(server, "flags", f"`{flag.split('=')[0]}` is not for scenarios to set")
        self.type(server, "gates", dict, "a map from gates to true or false")
        for gate, value in server.get("gates", {}).items():
            if not isinstance(value, bool):
                self.fail(server["gates"], gate, f"the gate `{gate}` must be true or false")
        self.type(server, "files", dict, "a map from names to texts")
        for name in server.get("files", {}):
            self.type(server["files"], name, str, "text")
            if "/" in name or name.startswith("."):
                self.fail(server["files"], name, f"`{name}` must be the plain name of a file")

    def users(self, users):
        for name in users:
            if name in KNOWN:
                self.fail(users, name, f"`{name}` is there without being declared")
            if not re.fullmatch(r'[^\s",]+', name):
                self.fail(users, name, f"the name `{name}` has a blank, a comma or a quote in it")
            if users[name] is None:
                continue
            self.type(users, name, dict, "a map, or nothing")
            self.keys(users[name], f"user `{name}`", (), ("groups", "uid"))
            self.type(users[name], "groups", list, "a list of texts")
            self.type(users[name], "uid", str, "text")

    def given(self, s, item):
        if not isinstance(item, dict):
            self.fail(s, "given", "an object is a map")
        metadata = item.get("metadata")
        if not all(isinstance(item.get(key), str) for key in ("apiVersion", "kind")) or not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
            self.fail(item, None, "an object has `apiVersion`, `kind` and `metadata.name`")

    def step(self, step, users):
        self.keys(step, "a step", ("as", "request", "expect"), ("because", "patch", "headers", "body", "within"))
        if step["as"] not in users and step["as"] not in KNOWN:
            self.fail(step, "as", f"nobody is called `{step['as']}`: `users` has {', '.join(users) or 'nobody'}, and there are {' and '.join(KNOWN)}")
        self.type(step, "because", str, "text")
        self.type(step, "request", str, "METHOD /path")
        method, _, path = step["request"].partition(" ")
        if method not in METHODS or not re.fullmatch(r"/\S*", path):
            self.fail(step, "request", f"`{step['request']}` is no request: write METHOD /path, where METHOD is {', '.join(METHODS)}")
        if (method == "PATCH") != ("patch" in step) or step.get("patch", "merge") not in PATCHES:
            self.fail(step, "patch" if "patch" in step else "request", f"a PATCH, and nothing else, has `patch`: {', '.join(PATCHES)}")
        if method in ("POST", "PUT", "PATCH") and "body" not in step:
            self.fail(step, None, f"a {method} has a `body`")
        self.texts(step, "headers")
        self.type(step, "within", (int, float), "a number of seconds")
        if "within" in step and method != "GET":
            self.fail(step, "within", "only a GET can be repeated until the answer is as expected")
        self.type(step, "expect", dict, "a map")
        self.expect(step["expect"])

    def texts(self, value, name):
        self.type(value, name, dict, "a map from names to texts")
        for key in value.get(name, {}):
            self.type(value[name], key, str, "text")

    def expect(self, e):
        self.keys(e, "`expect`", ("status",), ("message", "messageContains", "body", "includes", "excludes", "absent", "headers", "absentHeaders", "text"))
        self.type(e, "status", int, "a status code")
        for key in ("message", "text"):
            self.type(e, key, str, "text")
        self.type(e, "messageContains", (str, list), "text, or a list of texts")
        for key in ("absent", "absentHeaders"):
            self.type(e, key, list, "a list")
        for path in e.get("absent", []):
            self.pointer(e, "absent", path)
        for key in ("includes", "excludes"):
            self.type(e, key, dict, "a map from JSON pointers to lists")
            for path in e.get(key, {}):
                self.pointer(e[key], path, path)
                self.type(e[key], path, list, "a list of items")
        self.texts(e, "headers")

    def pointer(self, value, key, path):
        if not isinstance(path, str) or not path.startswith("/"):
            self.fail(value, key, f"`{path}` is no JSON pointer: write /metadata/labels/app")


def read(path):
    reader = Reader(path)
    scenario = reader.read()
    Checker(reader).scenario(scenario)
    for step in scenario["steps"]:
        step["line"] = reader.line(step)
    return scenario


def shown(value):
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) < 1500 else text[:1500] + "..."


def differences(want, got, at=""):
    """The parts of `want` that are not in `got`. Maps may have more members than expected, lists may not have more items."""
    if isinstance(want, dict) and isinstance(got, dict):
        for key, value in want.items():
            place = f"{at}/{key.replace('~', '~0').replace('/', '~1')}"
            if key in got:
                yield from differences(value, got[key], place)
            else:
                yield f"{place}: expected {shown(value)}, and it is not there"
    elif isinstance(want, list) and isinstance(got, list):
        if len(want) != len(got):
            yield f"{at}: expected {len(want)} items, came {len(got)}: {shown(got)}"
        for i, (a, b) in enumerate(zip(want, got)):
            yield from differences(a, b, f"{at}/{i}")
    elif want != got or isinstance(want, bool) != isinstance(got, bool):
        yield f"{at or 'the answer'}: expected {shown(want)}, came {shown(got)}"


MISSING = object()


def at_pointer(document, path):
    for part in path.split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        if isinstance(document, dict) and part in document:
            document = document[part]
        elif isinstance(document, list) and part.isdigit() and int(part) < len(document):
            document = document[int(part)]
        else:
            return MISSING
    return document


def failures(want, status, headers, body):
    """Every difference between an answer and the expectation."""
    if status != want["status"]:
        yield f"status: expected {want['status']}, came {status}"
    document = body if isinstance(body, (dict, list)) else {}
    message = document.get("message", "") if isinstance(document, dict) else ""
    if "message" in want and message != want["message"]:
        yield f"message: expected `{want['message']}`, came `{message}`"
    parts = want.get("messageContains", [])
    for part in [parts] if isinstance(parts, str) else parts:
        if part not in message:
            yield f"message: expected `{part}` in it, came `{message}`"
    if "body" in want:
        yield from differences(want["body"], body if isinstance(body, (dict, list)) else body.decode(errors="replace"))
    for key, is_wanted in (("includes", True), ("excludes", False)):
        for path, items in want.get(key, {}).items():
            yield from of_list(path, items, at_pointer(document, path), is_wanted)
    for path in want.get("absent", []):
        if at_pointer(document, path) is not MISSING:
            yield f"{path}: expected nothing there, came {shown(at_pointer(document, path))}"
    for name, part in want.get("headers", {}).items():
        if not any(part in value for value in headers.get_all(name, [])):
            yield f"header {name}: expected `{part}` in it, came {shown(headers.get_all(name, []))}"
    for name in want.get("absentHeaders", []):
        if headers.get_all(name):
            yield f"header {name}: expected none, came {shown(headers.get_all(name))}"
    if "text" in want:
        text = shown(body) if isinstance(body, (dict, list)) else body.decode(errors="replace")
        if text != want["text"]:
            yield f"the answer: expected the text `{want['text']}`, came `{shown(text)}`"


def of_list(path, items, found, is_wanted):
    if not isinstance(found, list):
        if is_wanted or found is not MISSING:
            yield f"{path}: expected a list, came {'nothing' if found is MISSING else shown(found)}"
        return
    for item in items:
        is_there = any(not list(differences(item, one)) for one in found)
        if is_there != is_wanted:
            yield f"{path}: expected {'an' if is_wanted else 'no'} item like {shown(item)}, came {shown(found)}"


class Stage:
    """The server of one scenario, and its clients."""

    def __init__(self, server):
        self.server = server

    def send(self, step):
        method, _, path = step["request"].partition(" ")
        headers = dict(step.get("headers", {}))
        if "patch" in step:
            headers.setdefault("Content-Type", PATCHES[step["patch"]])
        body = step.get("body")
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
            body = json.dumps(body)
        if step["as"] == "admin":
            return self.server.request(method, path, body, headers)
        if step["as"] != "anonymous":
            headers["Authorization"] = f"Bearer token-of-{step['as']}"
        context = ssl.create_default_context(cafile=os.path.join(self.server.data_dir, "ca.crt"))
        connection = http.client.HTTPSConnection("127.0.0.1", self.server.port, timeout=60, context=context)
        try:
            return exchange(connection, method, path, body, headers)
        finally:
            connection.close()

    def resource(self, group_version, kind):
        """The resource of a kind, from discovery; None while a definition is not served yet."""
        at = f"/api/{group_version}" if "/" not in group_version else f"/apis/{group_version}"
        status, _, answer = self.server.request("GET", at)
        for one in answer["resources"] if status == 200 else []:
            if one["kind"] == kind and "/" not in one["name"]:
                return at, one

    def create(self, item):
        at, resource = eventually(f"{item['apiVersion']} {item['kind']} is served", lambda: self.resource(item["apiVersion"], item["kind"]))
        space = f"/namespaces/{item['metadata'].get('namespace', 'default')}" if resource["namespaced"] else ""
        path = f"{at}{space}/{resource['name']}"
        if item["kind"] == "Pod":
            self.wait_for_account(space)
        status, _, answer = self.server.request("POST", path, item)
        if status == 409 and item["kind"] == "Namespace":  # an existing one gets the labels of the scenario
            status, _, answer = self.server.request("PATCH", f"{path}/{item['metadata']['name']}", {"metadata": item["metadata"]}, {"Content-Type": PATCHES["merge"]})
        expect(status in (200, 201), f"given {item['kind']} `{item['metadata']['name']}`: POST {path} was answered {status}: {shown(answer)}")
        if item["kind"] == "Namespace":
            self.wait_for_account(f"/namespaces/{item['metadata']['name']}")

    def wait_for_account(self, space):
        """A namespace is ready when it has the service account of its pods; a controller creates it."""
        eventually(f"{space} has its service account", lambda: self.server.request("GET", f"/api/v1{space}/serviceaccounts/default")[0] == 200)

    def play(self, number, step):
        def wrong():
            status, headers, body = self.send(step)
            found = list(failures(step["expect"], status, headers, body))
            return found and [*found, f"the whole answer: {status} {shown(body if isinstance(body, (dict, list)) else body.decode(errors='replace'))}"]

        found = wrong()
        if found and "within" in step:
            try:
                found = eventually("the answer", lambda: not wrong(), step["within"]) and []
            except AssertionError:
                found = wrong()
        because = f" ({step['because']})" if "because" in step else ""
        expect(not found, "\n  ".join([f"line {step['line']}, step {number}: {step['request']} as {step['as']}{because}", *(found or [])]))


def play(scenario):
    server, users = scenario.get("server", {}), scenario.get("users", {})
    with tempfile.TemporaryDirectory(prefix="cardea-scenario-") as folder:
        with open(os.path.join(folder, "users.csv"), "w") as file:
            for name, user in users.items():
                user = user or {}
                groups = f',"{",".join(user["groups"])}"' if user.get("groups") else ""
                file.write(f"token-of-{name},{name},{user.get('uid', 'uid-of-' + name)}{groups}\n")
        os.mkdir(os.path.join(folder, "files"))
        for name, text in server.get("files", {}).items():
            with open(os.path.join(folder, "files", name), "w") as file:
                file.write(text)
        flags = [flag.replace("{files}", os.path.join(folder, "files")) for flag in server.get("flags", [])]
        if server.get("gates"):
            flags.append("--feature-gates=" + ",".join(f"{gate}={str(value).lower()}" for gate, value in server["gates"].items()))
        if users:
            flags += ["--token-auth-file", os.path.join(folder, "users.csv")]
        with Cardea(*flags) as running:
            stage = Stage(running)
            for item in scenario.get("given", []):
                stage.create(item)
            stage.wait_for_account("/namespaces/default")
            for number, step in enumerate(scenario["steps"], 1):
                stage.play(number, step)
