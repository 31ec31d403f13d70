#!/usr/bin/python3
"""The same questions as examples/embed, from Python.

    CARDEA_LIBRARY=/usr/local/lib/libcardea.so example.py POLICIES.yaml
"""
import json
import sys

import cardea


def show(what, decision):
    print(", ".join(filter(None, [f"{what}: {decision.outcome}", decision.reason,
                                  decision.error and f"error: {decision.error}"])))


def deployment(tier, replicas):
    return json.dumps({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "labels": {"tier": tier}},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
                 "template": {"metadata": {"labels": {"app": "web"}},
                              "spec": {"containers": [{"name": "c", "image": "i"}]}}}})


def main():
    engine = cardea.Engine()
    print(engine.load(open(sys.argv[1]).read()), "documents")

    # Two phases: the request first, then the object that it brings.
    jane = {"user": "jane", "namespace": "shop"}
    show("jane, get pods", engine.ask(**jane, verb="get", resource="pods"))
    show("jane, delete pods", engine.ask(**jane, verb="delete", resource="pods"))
    claim = engine.ask(**jane, verb="create", resource="persistentvolumeclaims")
    show("jane, create persistentvolumeclaims", claim)
    for c in claim.conditions:
        print(f"  {c['effect']} if {c['expression']}")
    for storage_class in ["jane-disks", "joe-disks"]:
        show(storage_class, claim.settle(object=json.dumps({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "shop"},
            "spec": {"storageClassName": storage_class}})))
    show("no object", claim.settle())

    # Field permissions.
    update = {**jane, "verb": "update", "group": "apps", "resource": "deployments", "name": "web"}
    for after in [deployment("back", 1), deployment("back", 3)]:
        allowed, reason = engine.judge_fields(update, {"old_object": deployment("front", 1), "object": after})
        print(f"{'allowed' if allowed else 'refused'}: {reason}")

    # Expressions.
    program = cardea.Program("user == object.owner || user in admins", ["user string", "admins", "object"])
    print("left of the expression:", program.partially_evaluate(["object"], user='"jane"', admins='["root"]'))

    # An error is never an allow.
    try:
        engine.load("kind: Nothing")
        sys.exit("a document of no kind was taken")
    except cardea.Error:
        pass


main()
