"""Encryption at rest on etcd: keys that change while the server runs, and keys of a KMS plugin (docs/migrating.md).

The plugin is tests/peers/programs/kms-plugin, which uses Kubernetes' own API and gRPC; it and kube-apiserver come with the peers.
"""
import base64
import json
import os
import subprocess
import tempfile

from beside_kubernetes import SECRETS, Beside, keys_in_etcd, kube_on, secret, show_the_same
from etcd import Etcd
from peer import peers
from server import Cardea, eventually, expect, skip
from story import Story

story = Story("encryption")


@story.fresh
def folder():
    with tempfile.TemporaryDirectory() as path:
        yield path


@story.fresh
def etcd():
    with Etcd() as etcd:
        yield etcd


def write(folder, *providers, text=None):
    """The configuration, which changes in one step. Returns the flag that names it."""
    path = os.path.join(folder, "encryption.yaml")
    with open(path + ".new", "w") as out:
        out.write(text or json.dumps({"kind": "EncryptionConfiguration", "apiVersion": "apiserver.config.k8s.io/v1",
                                      "resources": [{"resources": ["secrets"], "providers": list(providers)}]}))
    os.rename(path + ".new", path)
    return f"--encryption-provider-config={path}"


def aesgcm(name):
    return {"aesgcm": {"keys": [{"name": name, "secret": base64.b64encode(name[0].encode() * 32).decode()}]}}


IDENTITY = {"identity": {}}


def make(server, name):
    status, _, said = server.request("POST", SECRETS, secret(name))
    expect(status == 201, f"{status} {said}")
    return said


def stored(etcd, name):
    key = f"/registry/secrets/default/{name}".encode()
    return keys_in_etcd(etcd, key)[key]


def is_sealed_with(etcd, name, prefix):
    value = stored(etcd, name)
    return value.startswith(prefix.encode()) and b"sesame" not in value


def write_same(server, name):
    """An update that changes nothing. Returns the versions before and after."""
    status, _, now = server.request("GET", f"{SECRETS}/{name}")
    expect(status == 200, f"{status} {now}")
    status, _, said = server.request("PUT", f"{SECRETS}/{name}", now)
    expect(status == 200 and said["data"] == now["data"], f"{status} {said}")
    return now["metadata"]["resourceVersion"], said["metadata"]["resourceVersion"]


def log_of(server):
    with open(server.log_path) as log:
        return log.read()


@story.chapter
def a_changed_file_is_read_while_the_server_runs(etcd, folder):
    flag = write(folder, aesgcm("one"), IDENTITY)
    with Cardea(f"--etcd-servers={etcd.url}", flag, "--encryption-provider-config-automatic-reload=true") as server:
        make(server, "a")
        expect(is_sealed_with(etcd, "a", "k8s:enc:aesgcm:v1:one:"), f"{stored(etcd, 'a')[:60]}")
        before, after = write_same(server, "a")
        expect(before == after, "an update that changes nothing was written, though the key is the one of today")
        write(folder, aesgcm("two"), aesgcm("one"), IDENTITY)
        eventually("the new file is in use", lambda: "is in use" in log_of(server))
        make(server, "b")
        expect(is_sealed_with(etcd, "b", "k8s:enc:aesgcm:v1:two:"), f"{stored(etcd, 'b')[:60]}")
        before, after = write_same(server, "a")
        expect(before != after and is_sealed_with(etcd, "a", "k8s:enc:aesgcm:v1:two:"), f"{before} {after} {stored(etcd, 'a')[:60]}")
        before, after = write_same(server, "a")
        expect(before == after, "it is written again and again")
        for text, why in (("kind: Nonsense", "must be an EncryptionConfiguration"), ("{", "is not in use"),
                          (json.dumps({"kind": "EncryptionConfiguration", "apiVersion": "apiserver.config.k8s.io/v1", "resources": [{"resources": ["secrets"], "providers": [
                              {"kms": {"apiVersion": "v2", "name": "k", "endpoint": f"unix://{folder}/nobody.sock"}}]}]}), "the KMS plugin `k`")):
            write(folder, text=text)
            eventually("the bad file is told", lambda: why in log_of(server))
            make(server, f"still-{len(why)}")
            expect(is_sealed_with(etcd, f"still-{len(why)}", "k8s:enc:aesgcm:v1:two:"), "a bad file has an effect")
        write(folder, IDENTITY, aesgcm("two"))
        eventually("nothing is encrypted any more", lambda: write_same(server, "a")[0] and not stored(etcd, "a").startswith(b"k8s:enc:"))


class Begun(Cardea):
    """A server that is started and not waited for."""

    def start(self):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def lives(self):
        try:
            return self.request("GET", "/livez", seconds=5)[0] == 200
        except OSError:
            return False


class Plugin:
    """A KMS plugin whose keys are names."""

    def __init__(self, folder):
        self.program = os.path.join(os.environ.get("CARDEA_PEERS", "/nowhere"), "kms-plugin")
        if not os.path.exists(self.program):
            skip("there is no kms-plugin: $CARDEA_PEERS names no folder with one")
        self.socket, self.state, self.log = (os.path.join(folder, name) for name in ("kms.sock", "kms.json", "kms.log"))
        self.process = None
        self.set("key-1")

    def __enter__(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([self.program, self.socket, self.state], stdout=log, stderr=log)
        eventually("the plugin listens", lambda: os.path.exists(self.socket))
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        if os.path.exists(self.socket):
            os.unlink(self.socket)

    def set(self, key, lost=(), healthz="ok"):
        with open(self.state + ".new", "w") as file:
            json.dump({"key": key, "lost": list(lost), "healthz": healthz}, file)
        os.rename(self.state + ".new", self.state)

    def provider(self, **more):
        return {"kms": {"apiVersion": "v2", "name": "cloud", "endpoint": f"unix://{self.socket}", **more}}

    def calls(self, verb):
        with open(self.log) as log:
            return sum(line.startswith(verb) for line in log)


@story.chapter
def values_are_sealed_by_keys_of_a_plugin(etcd, folder):
    plugin = Plugin(folder)
    with plugin:
        flags = [f"--etcd-servers={etcd.url}", write(folder, plugin.provider(), IDENTITY)]
        with Cardea(*flags) as server:
            for i in range(20):
                make(server, f"s{i}")
            value = stored(etcd, "s0")
            expect(value.startswith(b"k8s:enc:kms:v2:cloud:") and b"key-1" in value and b"sesame" not in value, f"{value[:80]}")
            expect(plugin.calls("encrypt") == 1 and plugin.calls("decrypt") == 0, "the plugin is asked for each value")
            before, after = write_same(server, "s0")
            expect(before == after, "an update that changes nothing was written")
            expect(server.request("GET", "/readyz/kms-providers")[0] == 200, "the check of the plugin")
        plugin.set("key-2")
        with Cardea(*flags) as server:  # it knows neither the seed nor the old key
            names = [i["metadata"]["name"] for i in server.request("GET", SECRETS)[2]["items"]]
            expect(sorted(names) == sorted(f"s{i}" for i in range(20)), f"{names}")
            expect(plugin.calls("decrypt") == 1, f"{plugin.calls('decrypt')} calls for one seed")
            before, after = write_same(server, "s0")
            expect(before != after and b"key-2" in stored(etcd, "s0") and b"key-1" in stored(etcd, "s1"), "what is sealed with an old key is not written anew")
            before, after = write_same(server, "s0")
            expect(before == after, "it is written again and again")
    # The plugin is away: a new server waits for it, and shows nothing that it cannot read.
    with Begun(*flags) as waiting:
        eventually("the server tells what it waits for", lambda: "the KMS plugin `cloud`" in log_of(waiting))
        expect(waiting.alive() and not waiting.ready(), "it serves without its keys")
        with plugin:
            eventually("the server is ready when the plugin is", waiting.ready)
            expect(waiting.request("GET", f"{SECRETS}/s1")[0] == 200, "the value is read")
            # A key that is lost for good: the values are damaged, and everything else is served.
            plugin.set("key-3", lost=["key-1"])
            with Cardea(*flags) as server:
                status, _, said = server.request("GET", f"{SECRETS}/s1")
                expect(status == 500 and "cannot be read" in said["message"], f"{status} {said}")
                expect(server.request("PUT", f"{SECRETS}/s1", secret("s1"))[0] == 500, "it was written over")
                expect(server.request("GET", f"{SECRETS}/s0")[0] == 200 and server.request("GET", "/api/v1/namespaces")[0] == 200, "the rest is not served")


@story.chapter
def a_plugin_that_is_not_well_lets_nothing_be_written(etcd, folder):
    plugin = Plugin(folder)
    plugin.set("key-1", healthz="no quorum")
    with plugin, Begun(f"--etcd-servers={etcd.url}", write(folder, plugin.provider(timeout="1s"), IDENTITY)) as server:
        eventually("the server lives", server.lives)
        eventually("everything but the plugin is well", lambda: b"failed" in (said := server.request("GET", "/readyz?verbose")[2]) and said.count(b"[-]") == 1)
        status, _, said = server.request("GET", "/readyz/kms-providers")
        expect(status == 500 and b"no quorum" in said, f"{status} {said}")
        status, _, said = server.request("POST", SECRETS, secret("a"))
        expect(status == 503 and "nothing was stored" in said["message"], f"{status} {said}")
        expect(keys_in_etcd(etcd, b"/registry/secrets/") == {}, "a Secret was stored in clear text")
        status, _, said = server.request("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "a"}})
        expect(status == 201, f"what is not encrypted is not written: {status} {said}")


@story.chapter
def kube_apiserver_and_cardea_read_each_other(folder):
    if not peers():
        skip("there is no kube-apiserver: $CARDEA_PEERS names no folder with one")
    plugin = Plugin(folder)
    with plugin, Etcd() as etcd:
        flag = write(folder, plugin.provider(), IDENTITY)
        files = os.path.join(folder, "kube")
        with kube_on(etcd.url, flag, data_dir=files) as kube:
            make(kube, "by-kubernetes")
            with Beside(kube, flag) as cardea:
                make(cardea, "by-cardea")
                show_the_same(cardea, kube)
                for server in (kube, cardea):
                    for name in ("by-kubernetes", "by-cardea"):
                        status, _, said = server.request("GET", f"{SECRETS}/{name}")
                        expect(status == 200 and base64.b64decode(said["data"]["password"]).decode() == f"open sesame {name}", f"{status} {said}")
                        before, after = write_same(server, name)
                        expect(before == after, f"{name} counts as stale")
            for name in ("by-kubernetes", "by-cardea"):
                expect(is_sealed_with(etcd, name, "k8s:enc:kms:v2:cloud:") and b"key-1" in stored(etcd, name), f"{stored(etcd, name)[:80]}")
        plugin.set("key-2")
        with kube_on(etcd.url, flag, data_dir=files) as kube, Beside(kube, flag) as cardea:
            show_the_same(cardea, kube)
            before, after = write_same(cardea, "by-kubernetes")
            expect(before != after and b"key-2" in stored(etcd, "by-kubernetes"), "Cardea does not write anew what is stale")
            before, after = write_same(kube, "by-cardea")
            expect(before != after and b"key-2" in stored(etcd, "by-cardea"), "nor does kube-apiserver")
            show_the_same(cardea, kube)


if __name__ == "__main__":
    story.main()
