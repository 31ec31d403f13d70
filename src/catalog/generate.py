#!/usr/bin/env python3
"""Makes the data files the catalogue embeds from facts about Kubernetes' API.

    generate.py FACTS

FACTS is a folder with discovery.jsonl, schemas.jsonl, tables.jsonl and protobuf.jsonl. How Go's types hold
each field comes from data/go_field_kinds.jsonl beside this script. Written there, one JSON value per line:

resources.jsonl  one resource in one served version, in discovery order
    group version name singular kind [short] [categories] scope(N|C) verbs [sub: [name group version kind verbs]]
    prefix (below /registry/) [storage: [group version], where it differs from its own] [columns: [name type format priority]]
types.jsonl      one named type
    name, without the leading `io.k8s.`
    kind   what it is: object | any | string | raw | quantity | int-or-string
    gvk    [[group version kind]], where the type is a kind
    map    atomic, where the object is merged as a whole
    fields [[name flags number shape]], sorted by name
A shape is text, `string boolean int32 int64 double byte` or `@type`, or an object: {list: shape} with
optional type (set|map), keys, strategy and key (of a strategic merge patch); {map: shape}; or {is: shape}
with optional enum, default, strategy and map.
Flags: the presence letter (s scalar, p pointer, t struct, l list, m map, r raw), then `o` omitempty,
`z` omitzero, `!` required, `w` a list that is a message of its own in Protobuf.
A Protobuf number of a field that Go embeds is a path, ten bits for each step, the outermost highest.
"""
import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent / "data"
SERVED = re.compile(r"^v\d+$")  # a default server serves what is generally available
PREFIXES = {
    ("", "replicationcontrollers"): "controllers",
    ("", "endpoints"): "services/endpoints",
    ("", "nodes"): "minions",
    ("", "services"): "services/specs",
    ("networking.k8s.io", "ingresses"): "ingress",
    ("apiextensions.k8s.io", "customresourcedefinitions"): "apiextensions.k8s.io/customresourcedefinitions",
    ("apiregistration.k8s.io", "apiservices"): "apiregistration.k8s.io/apiservices",
}
STORAGE = {("events.k8s.io", "events"): ["", "v1"], ("autoscaling", "horizontalpodautoscalers"): ["autoscaling", "v2"]}
SPECIAL = {
    "apimachinery.pkg.api.resource.Quantity": "quantity",
    "apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
    "apimachinery.pkg.runtime.RawExtension": "raw",
    "apimachinery.pkg.apis.meta.v1.FieldsV1": "raw",
    "apimachinery.pkg.apis.meta.v1.Patch": "raw",
}
SCALARS = {("string", None): "string", ("boolean", None): "boolean", ("integer", "int32"): "int32", ("integer", "int64"): "int64",
           ("number", "double"): "double", ("string", "byte"): "byte", ("string", "date-time"): "date-time"}


# What users of a resource are warned of.
DEPRECATED = {
    ("", "componentstatuses"): "v1 ComponentStatus is deprecated in v1.19+",
    ("", "endpoints"): "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
}


def lines(path):
    with open(path) as f:
        return [json.loads(line) for line in f]


def short(name):
    return name.removeprefix("io.k8s.")


def served_type(name):
    return not re.search(r"\.v\d+(alpha|beta)\d+\.", name)


def shape_of(schema):
    extra = {}
    if "$ref" in schema:
        base = "@" + short(schema["$ref"])
    elif schema.get("type") == "array":
        shape = {"list": shape_of(schema["items"])}
        kind = schema.get("x-kubernetes-list-type", "atomic")
        if kind != "atomic":
            shape["type"] = kind
        for key, source in (("keys", "x-kubernetes-list-map-keys"), ("strategy", "x-kubernetes-patch-strategy"), ("key", "x-kubernetes-patch-merge-key")):
            if source in schema:
                shape[key] = schema[source]
        return shape
    elif "additionalProperties" in schema:
        shape = {"map": shape_of(schema["additionalProperties"])}
        if schema.get("x-kubernetes-map-type") == "atomic":
            shape["atomic"] = True
        return shape
    elif schema.get("type") == "object":
        base = "raw"
    else:
        base = SCALARS[schema["type"], schema.get("format")]
    # An OpenAPI default that is the type's zero says only that a field is not a pointer.
    if schema.get("default") not in (None, {}, "", 0, False):
        extra["default"] = schema["default"]
    for key, source in (("enum", "enum"), ("strategy", "x-kubernetes-patch-strategy"), ("map", "x-kubernetes-map-type")):
        if source in schema:
            extra[key] = schema[source]
    return {"is": base, **extra} if extra else base


class Numbers:
    """Protobuf field numbers by JSON name."""

    def __init__(self, facts):
        self.messages = {m["package"] + "." + m["message"]: m["fields"] for m in facts}

    def of(self, message):
        package = message.rsplit(".", 1)[0]
        found = {}
        for name, (number, kind) in self.messages.get(message, {}).items():
            found[name] = found[self.json_name(name)] = number
            inner = kind if kind.startswith(".") else "." + package + "." + kind
            found[("embedded", name)] = (number, inner[1:])
        return found

    def wraps(self, message, field):
        """Whether the field's list is a message of its own."""
        return not self.messages.get(message, {}).get(field, [0, "[]"])[1].startswith("[]")

    @staticmethod
    def json_name(name):
        if name in ("uID", "aPIGroup"):
            return {"uID": "uid", "aPIGroup": "apiGroup"}[name]
        if name.startswith("xKubernetes"):
            return re.sub(r"[A-Z]", lambda m: "-" + m.group().lower(), name)
        return name[0].lower() + name[1:]

    def find(self, message, field, depth=0):
        table = self.of(message)
        if field in table:
            return table[field]
        if message.endswith("JSONSchemaProps") and field in ("$ref", "$schema"):
            return table[field[1:]]
        for key, value in table.items():
            if isinstance(key, tuple) and depth < 2 and key[1] in EMBEDDED:
                inner = self.find(value[1], field, depth + 1)
                if inner:
                    return (value[0] << (20 if inner >> 10 else 10)) | inner
        return 0


EMBEDDED = {"localObjectReference", "ephemeralContainerCommon", "persistentVolumeSource", "handler", "volumeSource", "ingressRuleValue",
            "deviceConfiguration", "ruleWithOperations", "rule"}


def message_of(name):
    return name.replace("io.k8s.", "k8s.io.", 1).replace("apiextensions-apiserver", "apiextensions_apiserver").replace("kube-aggregator", "kube_aggregator")


def types(facts):
    presence = {p["type"]: p["fields"] for p in lines(HERE / "go_field_kinds.jsonl")}
    numbers = Numbers(lines(facts / "protobuf.jsonl"))
    for fact in lines(facts / "schemas.jsonl"):
        name, schema = fact["name"], fact["schema"]
        if not served_type(name):
            continue
        out = {"name": short(name)}
        kind = SPECIAL.get(out["name"]) or schema.get("type", "any")
        if kind == "string":
            kind = SCALARS[kind, schema.get("format")]
        out["kind"] = kind
        gvk = [[k["group"], k["version"], k["kind"]] for k in schema.get("x-kubernetes-group-version-kind", []) if SERVED.match(k["version"])]
        if gvk:
            out["gvk"] = gvk
        if schema.get("x-kubernetes-map-type") == "atomic":
            out["map"] = "atomic"
        fields = []
        for field, inner in sorted(schema.get("properties", {}).items()):
            flags = presence.get(name, {}).get(field, "") + ("!" if field in schema.get("required", []) else "")
            if inner.get("type") == "array" and numbers.wraps(message_of(name), field):
                flags += "w"
            fields.append([field, flags, numbers.find(message_of(name), field), shape_of(inner)])
        if fields:
            out["fields"] = fields
        yield out


def resources(facts):
    columns = {(t["group"], t["version"], t["resource"]): t["columns"] for t in lines(facts / "tables.jsonl")}
    for r in lines(facts / "discovery.jsonl"):
        if not SERVED.match(r["version"]):
            continue
        out = {"group": r["group"], "version": r["version"], "name": r["resource"], "singular": r["singular"], "kind": r["kind"], "scope": r["scope"][0], "verbs": r["verbs"]}
        if r.get("shortNames"):
            out["short"] = r["shortNames"]
        if r.get("categories"):
            out["categories"] = r["categories"]
        if r.get("subresources"):
            out["sub"] = [[s["name"], s["kind"]["group"], s["kind"]["version"], s["kind"]["kind"], s["verbs"]] for s in r["subresources"]]
        if "get" in r["verbs"] and r["resource"] != "componentstatuses":  # they are found out when asked for
            out["prefix"] = PREFIXES.get((r["group"], r["resource"]), r["resource"])
            storage = STORAGE.get((r["group"], r["resource"]))
            if storage and storage != [r["group"], r["version"]]:
                out["storage"] = storage
        if r["resource"] == "componentstatuses":
            out["called"] = r["singular"]
        if (r["group"], r["resource"]) in DEPRECATED:
            out["deprecated"] = DEPRECATED[r["group"], r["resource"]]
        shown = columns.get((r["group"], r["version"], r["resource"]))
        if shown:
            out["columns"] = [[c["name"], c["type"], c["format"], c["priority"]] for c in shown]
        yield out


def write(path, rows):
    with open(path, "w") as f:
        for row in rows:
            f.write(json.dumps(row, separators=(",", ":"), ensure_ascii=False) + "\n")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    facts = Path(sys.argv[1])
    write(HERE / "resources.jsonl", resources(facts))
    write(HERE / "types.jsonl", types(facts))


if __name__ == "__main__":
    main()
