"""client-go's informers with streaming lists, over Protobuf alone and over JSON. `tests/peers/programs/informers` has what they expect.

On Cardea and, under a name that begins with `kubernetes_`, on a kube-apiserver. Only with `./dev test --with-peers`.
"""
import os
import subprocess

from cluster import WholeKube, program
from peer import peers
from server import Cardea, expect, skip
from story import Story

story = Story("informers_story")


@story.shared
def server():
    program("informers")
    with Cardea() as server:
        yield server


@story.shared
def kubernetes():
    program("informers")
    if not peers():
        skip("no kube-apiserver among the peers")
    with WholeKube() as server:
        yield server


def run(server, namespace, *flags):
    status, _, body = server.request("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    expect(status == 201, f"{status} {body}")
    done = subprocess.run([program("informers"), "--kubeconfig", server.kubeconfig, "--namespace", namespace, *flags], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=300, env={**os.environ, "KUBE_FEATURE_WatchListClient": "true"})
    print(done.stdout)
    expect(done.returncode == 0, f"informers ended with status {done.returncode}: {done.stdout[-1000:]}")
    return done.stdout


def caches_are_filled_by_streams_of_protobuf(server):
    said = run(server, "protobuf")
    expect("http2: 0 answers" not in said, "nothing went over HTTP/2")
    expect("json: 1 answers" in said, "more came in JSON than what the dynamic client asked for")


def caches_are_filled_by_streams_of_json(server):
    run(server, "json", "--json")


for chapter in (caches_are_filled_by_streams_of_protobuf, caches_are_filled_by_streams_of_json):
    story.add(chapter.__name__, chapter)
    story.add(f"kubernetes_{chapter.__name__}", chapter, using={"server": "kubernetes"})

if __name__ == "__main__":
    story.main()
