"""The scenarios of conversion_webhooks.py: each is a function of a World (defined there), which has one definition and one webhook.

Version v1 is stored: spec.hostPort and spec.replicas. Version v2 has spec.host, spec.port and spec.count.
"""
import copy
import json

MERGE = {"Content-Type": "application/merge-patch+json"}
JSON_PATCH = {"Content-Type": "application/json-patch+json"}
APPLY = {"Content-Type": "application/apply-patch+yaml"}
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
METADATA = {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}


def convert(thing, desired):
    """What an honest webhook does."""
    out = copy.deepcopy(thing)
    if out["apiVersion"] == desired:
        return out
    spec = out.get("spec")
    out["apiVersion"] = desired
    if spec is None:
        return out
    if desired.endswith("/v2"):
        if "hostPort" in spec:
            host, _, port = spec.pop("hostPort").partition(":")
            spec["host"] = host
            if port:
                spec["port"] = port
        if "replicas" in spec:
            spec["count"] = spec.pop("replicas")
    else:
        if "host" in spec or "port" in spec:
            host, port = spec.pop("host", ""), spec.pop("port", "")
            spec["hostPort"] = f"{host}:{port}" if port else host
        if "count" in spec:
            spec["replicas"] = spec.pop("count")
    return out


def review(asked, objects=None, **response):
    request = asked["request"]
    if objects is None:
        objects = [convert(o, request["desiredAPIVersion"]) for o in request["objects"]]
    return {"apiVersion": asked["apiVersion"], "kind": "ConversionReview",
            "response": {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects, **response}}


def changed(asked, change):
    """An answer in which one thing is wrong with every object."""
    answer = review(asked)
    for o in answer["response"]["convertedObjects"]:
        change(o)
    return answer


def get(w):
    w.make("v1", "front", {"hostPort": "localhost:80"})
    w.do("GET", "v2/front", reviews=True)
    w.do("GET", "v1/front", reviews=True)
    w.do("GET", "v2/absent", reviews=True)


def lists(w):
    w.make("v1", "front", {"hostPort": "localhost:80"}, labels={"side": "front"})
    w.make("v1", "back", {"hostPort": "example.com:443"}, labels={"side": "back"})
    w.make("v2", "side", {"host": "localhost", "port": "8080"})
    for version in ("v1", "v2"):
        w.do("GET", version)
        w.do("GET", f"{version}?labelSelector=side%3Dback")
        w.do("GET", f"{version}?fieldSelector=metadata.name%3Dside")
        w.do("GET", version, headers=TABLE, hides=("description",))
        w.do("GET", version, headers=METADATA)
        w.do("GET", f"{version}?limit=2", hides=("continue",))


def selectable(w):
    """Fields that select objects are those of the version."""
    w.define(selectable=True)
    w.make("v1", "front", {"hostPort": "localhost:80"})
    w.make("v1", "back", {"hostPort": "example.com:443"})
    w.do("GET", "v2?fieldSelector=spec.host%3Dlocalhost")
    w.do("GET", "v1?fieldSelector=spec.hostPort%3Dlocalhost:80")
    w.do("GET", "v1?fieldSelector=spec.host%3Dlocalhost")


def writes(w):
    w.do("POST", "v2", w.door("v2", "front", {"host": "localhost", "port": "80", "unknown": 1}))
    w.do("GET", "v1/front")
    w.do("PATCH", "v2/front", {"spec": {"port": "81"}}, MERGE)
    w.do("PATCH", "v2/front", {"spec": {"port": "81"}}, MERGE)  # changes nothing
    w.do("PATCH", "v2/front", [{"op": "replace", "path": "/spec/host", "value": "there"}], JSON_PATCH)
    w.do("GET", "v1/front")
    current = w.quietly("GET", "v2/front")
    current["spec"] = {"host": "elsewhere"}
    w.do("PUT", "v2/front", current)
    w.do("PUT", "v2/front", current)  # a conflict
    w.do("GET", "v1/front")
    w.do("POST", "v2?dryRun=All", w.door("v2", "dry", {"host": "a"}))
    w.do("GET", "v1/dry")
    w.do("POST", "v2", w.door("v2", "front", {"host": "a"}))
    w.do("POST", "v2", w.door("v2", "bad", {"host": 1}))
    w.do("POST", "v2", w.door("v1", "bad", {"hostPort": "a"}))


def labels(w):
    """A webhook may change labels and annotations, and nothing else of the metadata."""
    w.make("v1", "front", {"hostPort": "localhost:80"}, labels={"side": "front"})

    def change(o):
        o["metadata"].update({"labels": {"seen": "in-" + o["apiVersion"].split("/")[1]}, "annotations": {"note": "converted"}, "finalizers": ["a.example/b"],
                              "generation": 77, "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "y"}], "resourceVersion": "1"})
    w.answer(lambda asked: changed(asked, change))
    w.do("GET", "v2/front")
    w.do("PATCH", "v2/front", {"spec": {"port": "81"}}, MERGE)
    w.do("GET", "v1/front")
    w.answer(lambda asked: changed(asked, lambda o: o["metadata"].pop("labels", None)))
    w.do("GET", "v2/front")


def apply(w):
    w.do("PATCH", "v1/front?fieldManager=one", w.door("v1", "front", {"hostPort": "localhost:80", "replicas": 1}), APPLY)
    w.do("PATCH", "v2/front?fieldManager=two", w.door("v2", "front", {"host": "elsewhere"}), APPLY)
    w.do("PATCH", "v2/front?fieldManager=two", w.door("v2", "front", {"count": 2}), APPLY)
    w.do("PATCH", "v2/front?fieldManager=two&force=true", w.door("v2", "front", {"count": 2}), APPLY)
    w.do("PATCH", "v2/front?fieldManager=three", {"spec": {"port": "81"}}, MERGE)
    w.do("GET", "v1/front")
    w.do("PATCH", "v1/front?fieldManager=four", w.door("v1", "front", {"replicas": 3}), APPLY)
    w.do("PATCH", "v1/front?fieldManager=two", w.door("v1", "front", {"color": "red"}), APPLY)
    w.do("PATCH", "v2/front?fieldManager=two", w.door("v2", "front", {}), APPLY)


def prune(w):
    """A manager applies in one version, and then in the other without a field."""
    w.do("PATCH", "v1/front?fieldManager=one", w.door("v1", "front", {"hostPort": "localhost:80", "replicas": 1, "color": "red"}), APPLY)
    w.do("PATCH", "v2/front?fieldManager=one", w.door("v2", "front", {"host": "localhost", "port": "80"}), APPLY)
    w.do("PATCH", "v1/front?fieldManager=one", w.door("v1", "front", {"color": "blue"}), APPLY)


def subresources(w):
    w.make("v1", "front", {"hostPort": "localhost:80", "replicas": 1})
    w.do("PATCH", "v2/front/status", {"status": {"open": True}, "spec": {"host": "x"}}, MERGE)
    w.do("GET", "v1/front")
    w.do("GET", "v2/front/status")
    w.do("GET", "v2/front/scale")
    w.do("PATCH", "v2/front/scale", {"spec": {"replicas": 4}}, MERGE)
    w.do("GET", "v1/front")
    scale = w.quietly("GET", "v2/front/scale")
    scale["spec"]["replicas"] = 5
    w.do("PUT", "v2/front/scale", scale)
    w.do("GET", "v1/front/scale")


def deletions(w):
    w.make("v1", "front", {"hostPort": "localhost:80"}, finalizers=["example.com/wait"])
    w.make("v1", "back", {"hostPort": "localhost:81"})
    w.do("DELETE", "v2/back")
    w.do("DELETE", "v2/front")
    w.do("GET", "v1/front")
    w.do("PATCH", "v2/front", {"metadata": {"finalizers": None}}, MERGE)
    w.do("GET", "v1/front")
    w.make("v1", "one", {"hostPort": "localhost:80"})
    w.make("v1", "two", {"hostPort": "localhost:81"})
    w.do("DELETE", "v2")
    w.do("GET", "v1")


def defaults(w):
    """Defaults of both versions, and fields that the other version does not have."""
    w.define(defaults=True)
    w.make("v1", "front", {"hostPort": "localhost:80"})
    w.do("GET", "v1/front")
    w.do("GET", "v2/front", reviews=True)
    w.do("POST", "v2", w.door("v2", "back", {"host": "localhost"}))
    w.do("GET", "v1/back")
    w.answer(lambda asked: changed(asked, lambda o: o["spec"].update({"nobody": "knows", "port": None})))
    w.do("GET", "v2/front")


def old_review(w):
    """A webhook that knows v1beta1 alone."""
    w.define(reviews=["v1beta1"])
    w.make("v1", "front", {"hostPort": "localhost:80"})
    w.do("GET", "v2/front", reviews=True)
    w.answer(lambda asked: {"response": {"result": {"status": "Success"}, "convertedObjects": review(asked)["response"]["convertedObjects"]}})
    w.do("GET", "v2/front")
    w.define(reviews=["v7", "v1beta1", "v1"])
    w.answer(review)
    w.do("GET", "v2/front", reviews=True)


def without(asked, *keys):
    answer = review(asked)
    for key in keys:
        answer["response"].pop(key)
    return answer


def set_in(key, value):
    def change(o):
        o["metadata"][key] = value
    return change


LIES = {
    "another uid": lambda asked: review(asked, uid="11111111-2222-3333-4444-555555555555"),
    "no uid": lambda asked: without(asked, "uid"),
    "a failure": lambda asked: review(asked, result={"status": "Failure", "message": "the door is stuck"}),
    "a failure without a message": lambda asked: review(asked, result={"status": "Failure"}),
    "no result": lambda asked: without(asked, "result"),
    "no response": lambda asked: {"apiVersion": asked["apiVersion"], "kind": "ConversionReview"},
    "nothing": lambda asked: (200, {}, b""),
    "no json": lambda asked: (200, {}, b"{]"),
    "a text": lambda asked: (200, {}, b"hello"),
    "a list": lambda asked: (200, {}, b"[]"),
    "another kind": lambda asked: {**review(asked), "kind": "AdmissionReview"},
    "no kind": lambda asked: {k: v for k, v in review(asked).items() if k != "kind"},
    "another review": lambda asked: {**review(asked), "apiVersion": "apiextensions.k8s.io/v1beta1"},
    "an unknown review": lambda asked: {**review(asked), "apiVersion": "apiextensions.k8s.io/v9"},
    "no objects": lambda asked: without(asked, "convertedObjects"),
    "too few objects": lambda asked: review(asked, objects=[]),
    "too many objects": lambda asked: review(asked, objects=2 * review(asked)["response"]["convertedObjects"]),
    "objects that are no list": lambda asked: review(asked, objects={}),
    "null": lambda asked: review(asked, objects=[None for _ in asked["request"]["objects"]]),
    "a number": lambda asked: review(asked, objects=[7 for _ in asked["request"]["objects"]]),
    "the same object": lambda asked: review(asked, objects=asked["request"]["objects"]),
    "another version": lambda asked: changed(asked, lambda o: o.update({"apiVersion": "example.com/v2"})),
    "no version": lambda asked: changed(asked, lambda o: o.pop("apiVersion")),
    "another kind of object": lambda asked: changed(asked, lambda o: o.update({"kind": "Window"})),
    "no kind of object": lambda asked: (200, {}, json.dumps(changed(asked, lambda o: o.pop("kind")), separators=(",", ":")).encode()),
    "another name": lambda asked: changed(asked, set_in("name", "other")),
    "another namespace": lambda asked: changed(asked, set_in("namespace", "other")),
    "another uid of the object": lambda asked: changed(asked, set_in("uid", "11111111-2222-3333-4444-555555555555")),
    "no metadata": lambda asked: changed(asked, lambda o: o.pop("metadata")),
    "metadata that is no object": lambda asked: changed(asked, lambda o: o.update({"metadata": "x"})),
    "labels that are no object": lambda asked: changed(asked, set_in("labels", [1])),
    "a label that is no text": lambda asked: changed(asked, set_in("labels", {"a": 1})),
    "an annotation that is no text": lambda asked: changed(asked, set_in("annotations", {"a": True})),
    "an invalid label": lambda asked: changed(asked, set_in("labels", {"a b": "c d"})),
    "an invalid annotation": lambda asked: changed(asked, set_in("annotations", {"a b": "c d"})),
    "400": lambda asked: (400, {}, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "I do not like it", "code": 400}),
    "404": lambda asked: (404, {"Content-Type": "text/plain"}, b"not here"),
    "500": lambda asked: (500, {"Content-Type": "text/plain"}, b"it broke"),
    "a success of another sort": lambda asked: (204, {}, b""),
    "silence": lambda asked: None,
}


def lies(w):
    w.make("v1", "front", {"hostPort": "localhost:80"})
    for name, lie in LIES.items():
        w.answer(lie)
        w.do("GET", "v2/front", note=name)
    w.answer(review)
    w.do("GET", "v2/front")


def lies_to_writers(w):
    """Which of the two conversions of a write fails depends on what kube-apiserver's cache has."""
    w.masks = [(r"example\.com/v[12]", "example.com/VERSION")]
    w.make("v1", "front", {"hostPort": "localhost:80"})
    for name in ("a failure", "another version", "another name", "an invalid label", "too many objects", "500"):
        w.answer(LIES[name])
        w.do("POST", "v2", w.door("v2", "new", {"host": "a"}), note=name)
        w.do("PATCH", "v2/front", {"spec": {"port": "81"}}, MERGE, note=name)
        w.do("PATCH", "v2/front?fieldManager=m", w.door("v2", "front", {"port": "81"}), APPLY, note=name)
        w.do("DELETE", "v2/front", note=name)
        w.do("GET", "v2/front/scale", note=name)
        w.do("PATCH", "v2/front/status", {"status": {"open": True}}, MERGE, note=name)
    w.do("GET", "v1")


def down(w):
    """Nobody listens."""
    w.make("v1", "front", {"hostPort": "localhost:80"})
    w.quietly("GET", "v2/front")
    w.define(down=True)
    w.do("GET", "v2/front")
    w.do("POST", "v2", w.door("v2", "new", {"host": "a"}))
    w.do("PATCH", "v2/front", {"spec": {"port": "81"}}, MERGE)
    w.do("DELETE", "v2/front")
    w.do("GET", "v1/front")
    w.do("PATCH", "v1/front", {"spec": {"hostPort": "a:1"}}, MERGE)
    w.do("DELETE", "v1/front")


def storage(w):
    """Another version is stored from some day on: objects are rewritten when they are written."""
    w.make("v1", "front", {"hostPort": "localhost:80"})
    w.make("v1", "back", {"hostPort": "localhost:81"})
    w.define(stored="v2")
    w.do("GET", "v2/front")
    w.do("GET", "v1/front")
    w.do("PATCH", "v1/front", {"spec": {"color": "red"}}, MERGE)
    w.do("PATCH", "v2/back", {"metadata": {"labels": {"a": "b"}}}, MERGE)
    w.make("v1", "new", {"hostPort": "localhost:82"})
    w.define(stored="v2", down=True)  # what was written since then can be read in v2 without a webhook
    for name in ("front", "back", "new"):
        w.do("GET", f"v2/{name}")
        w.do("GET", f"v1/{name}")
    w.stored_versions()


def unserved(w):
    """The stored version is not served."""
    w.make("v1", "front", {"hostPort": "localhost:80"})
    w.define(unserved="v1")
    w.do("GET", "v1/front", hides=("answer",))
    w.do("GET", "v2/front")
    w.do("POST", "v2", w.door("v2", "back", {"host": "localhost", "port": "81"}))
    w.do("PATCH", "v2/front", {"spec": {"port": "82"}, "metadata": {"finalizers": ["example.com/wait"]}}, MERGE)
    w.do("PATCH", "v2/front/status", {"status": {"open": True}}, MERGE)
    w.do("DELETE", "v2/front")
    w.do("PATCH", "v2/front", {"metadata": {"finalizers": None}}, MERGE)
    w.do("GET", "v2")
    w.define()
    w.do("GET", "v1")


SCENARIOS = {f.__name__: f for f in (get, lists, selectable, writes, labels, apply, prune, subresources, deletions, defaults, old_review, lies, lies_to_writers, down, storage, unserved)}
