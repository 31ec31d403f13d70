"""Clients of other languages with their defaults: kube-rs, the official Java client with its ProtoClient, and fabric8.

What each does is in `tests/peers/programs`: list, watch, create, patch, informers. On Cardea and, under names that begin with
`kubernetes_`, on a kube-apiserver. Only with `./dev test --with-peers`.
"""
import os
import shutil
import subprocess

from cluster import WholeKube, program
from peer import peers
from server import Cardea, expect, skip
from story import Story

story = Story("clients_story")


@story.shared
def server():
    program("")
    with Cardea() as server:
        yield server


@story.shared
def kubernetes():
    program("")
    if not peers():
        skip("no kube-apiserver among the peers")
    with WholeKube() as server:
        yield server


def run(server, *command):
    try:
        done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, env={**os.environ, "KUBECONFIG": server.kubeconfig})
    except subprocess.TimeoutExpired as late:
        raise AssertionError(f"{command[0]} did not end: {(late.stdout or b'').decode()[-3000:]}") from late
    print(done.stdout)
    expect(done.returncode == 0 and done.stdout.rstrip().endswith("done"), f"{command[0]} ended with status {done.returncode}: {done.stdout[-3000:]}")


def java(server, name):
    folder = program("java-client")
    if not shutil.which("java"):
        skip("no Java")
    run(server, "java", "-cp", f"{folder}/*", name)


def kube_rs_does_its_rounds(server):
    run(server, program("rust-client"))


def the_java_client_does_its_rounds_in_json_and_protobuf(server):
    java(server, "ClientJava")


def fabric8_does_its_rounds(server):
    java(server, "Fabric8")


for chapter in (kube_rs_does_its_rounds, the_java_client_does_its_rounds_in_json_and_protobuf, fabric8_does_its_rounds):
    story.add(chapter.__name__, chapter)
    story.add(f"kubernetes_{chapter.__name__}", chapter, using={"server": "kubernetes"})

if __name__ == "__main__":
    story.main()
