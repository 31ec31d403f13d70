"""Answers in gzip, and request bodies in gzip.

With $CARDEA_PEERS (a folder with kube-apiserver and etcd) the chapters are told of the real server too.
"""
import gzip
import json
import os
import subprocess

from peer import Kube, peers
from server import Cardea, expect, skip
from story import Story

story = Story("compression")

MAPS = "/api/v1/namespaces/default/configmaps"
PROTOBUF = "application/vnd.kubernetes.protobuf"
GZIP = {"Accept-Encoding": "gzip"}


def prepared(server):
    for i in range(3):
        made = server.request("POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"large-{i}"}, "data": {"k": f"{i} " * 100_000}})
        expect(made[0] == 201, f"not created: {made}")
    server.request("POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "small"}, "data": {"k": "x" * 100_000}})
    return server


@story.shared
def cardea():
    with Cardea() as server:
        yield prepared(server)


@story.shared
def kube():
    if not peers():
        skip("there is no kube-apiserver: CARDEA_PEERS names no folder with one")
    with Kube("--authorization-mode=RBAC") as server:
        yield prepared(server)


def packed(server, method, path, headers, body=None):
    """(whether it is compressed, the body as it was before, the headers)"""
    connection = server.connect()
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    is_packed = answer.headers.get("Content-Encoding") == "gzip"
    expect(is_packed == (data[:2] == b"\x1f\x8b"), f"{path}: the header says {is_packed}, the body begins with {data[:2]}")
    expect(is_packed == ("Accept-Encoding" in answer.headers.get("Vary", "")), f"{path}: Vary is {answer.headers.get('Vary')}")
    return is_packed, gzip.decompress(data) if is_packed else data, answer.headers


@story.told_of_both
def large_objects_and_lists_are_compressed_when_the_client_asks(server):
    for path in (f"{MAPS}/large-0", MAPS):
        for kind in ("application/json", PROTOBUF):
            plain = packed(server, "GET", path, {"Accept": kind})
            small = packed(server, "GET", path, {"Accept": kind, **GZIP})
            expect((plain[0], small[0]) == (False, True), f"{path} in {kind}: {plain[0]} {small[0]}")
            expect(plain[1] == small[1], f"{path} in {kind} differs")
            expect(small[2]["Content-Type"] == plain[2]["Content-Type"], f"{small[2]}")


@story.told_of_both
def only_the_plain_word_counts(server):
    for accepted, expected in (("gzip", True), ("deflate, gzip", True), ("br,gzip", True), ("gzip;q=0.5", False), ("gzip;q=0", False), ("GZIP", False), ("*", False),
                               ("identity", False), ("", False)):
        got = packed(server, "GET", f"{MAPS}/large-0", {"Accept-Encoding": accepted})[0]
        expect(got == expected, f"{accepted}: {got}")


@story.told_of_both
def small_answers_are_sent_as_they_are(server):
    expect(not packed(server, "GET", f"{MAPS}/small", GZIP)[0], "an answer under 128 KiB is compressed")
    expect(not packed(server, "GET", f"{MAPS}/absent", GZIP)[0], "a small error is compressed")


@story.told_of_both
def answers_to_writes_are_compressed_too(server):
    body = json.dumps({"metadata": {"labels": {"a": "b"}}})
    is_packed, data, _ = packed(server, "PATCH", f"{MAPS}/large-1", {**GZIP, "Content-Type": "application/merge-patch+json"}, body)
    expect(is_packed and json.loads(data)["metadata"]["labels"] == {"a": "b"}, "the answer to a patch")


@story.told_of_both
def watches_are_never_compressed(server):
    is_packed, data, _ = packed(server, "GET", f"{MAPS}?watch=1&timeoutSeconds=1", GZIP)
    expect(not is_packed and len(data) > 500_000, f"{is_packed} {len(data)}")


@story.told_of_both
def over_http2_too(server):
    d = server.data_dir
    run = subprocess.run(["curl", "--silent", "--http2", "--compressed", "--cacert", os.path.join(d, "ca.crt"), "--cert", os.path.join(d, "admin.crt"), "--key", os.path.join(d, "admin.key"),
                          "--header", "Accept-Encoding: gzip", "--dump-header", "-", server.base + MAPS], stdout=subprocess.PIPE, check=True)
    head, _, body = run.stdout.partition(b"\r\n\r\n")
    expect(head.startswith(b"HTTP/2 200") and b"content-encoding: gzip" in head.lower(), f"{head}")
    expect(len(json.loads(body)["items"]) >= 4, "the list")


@story.told_of_both
def bodies_in_gzip_are_not_unpacked(server):
    """Nothing that a client sends is ever unpacked: a small body cannot become a large one."""
    bomb = gzip.compress(json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "bomb"}, "data": {"k": "x" * 50_000_000}}).encode())
    expect(len(bomb) < 100_000, "not a bomb")
    for encoding in ({}, {"Content-Encoding": "gzip"}):
        for body in (bomb, gzip.compress(b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"packed"}}')):
            status, _, answer = server.request("POST", MAPS, body, {"Content-Type": "application/json", **encoding})
            expect(status == 400, f"{encoding}: {status} {answer}")
    for name in ("bomb", "packed"):
        expect(server.request("GET", f"{MAPS}/{name}")[0] == 404, f"{name} was created")


@story.chapter
def both_refuse_bodies_in_gzip_with_the_same_text(cardea, kube):
    body = gzip.compress(b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"packed"}}', mtime=0)
    for method, path, kind in (("POST", MAPS, "application/json"), ("POST", MAPS, PROTOBUF), ("PUT", f"{MAPS}/small", "application/json"),
                               ("PATCH", f"{MAPS}/small", "application/merge-patch+json")):
        said = [server.request(method, path, body, {"Content-Type": kind, "Content-Encoding": "gzip"}) for server in (cardea, kube)]
        texts = [(status, answer["message"]) for status, _, answer in said]
        expect(texts[0] == texts[1], f"{method} {kind}: {texts}")


if __name__ == "__main__":
    story.main()
