"""Impersonation by other projects' clients: kubectl --as and the other flags, the Python and the JavaScript client.

    impersonation_clients.py --packages=FOLDER     where the npm packages go (below the build folder); kept for the next run

carol may impersonate bob, with some groups, for SelfSubjectReviews and to list pods in one namespace.
"""
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import npm
from deputies import AUTHENTICATION, World, rule, write_tokens
from server import Cardea, expect, skip
from story import Story

story = Story("impersonation_clients", options={"packages": npm.FOLDER})


def kubectls():
    peers = os.environ.get("CARDEA_PEERS")
    named = [os.environ.get("CARDEA_KUBECTL"), os.path.join(peers, "kubectl") if peers else None, shutil.which("kubectl")]
    return [k for k in dict.fromkeys(named) if k and os.path.exists(k)]


def write_kubeconfig(path, server, **user):
    config = {"apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "s", "user": "u"}}],
              "clusters": [{"name": "s", "cluster": {"server": server.base, "certificate-authority": os.path.join(server.data_dir, "ca.crt")}}],
              "users": [{"name": "u", "user": {"token": "token-carol", **user}}]}
    with open(path, "w") as out:
        json.dump(config, out)
    return path


@story.chapter
def with_kubectl(server, folder):
    if not kubectls():
        skip("no kubectl for --as")
    for kubectl in kubectls():
        plain = write_kubeconfig(os.path.join(folder, "carol.kubeconfig"), server)

        def run(*arguments, config=plain):
            return subprocess.run([kubectl, "--kubeconfig", config, "--cache-dir", os.path.join(folder, "cache"), *arguments], capture_output=True, text=True)

        def refused(saying, *arguments):
            out = run(*arguments)
            expect(out.returncode != 0 and saying in out.stderr, f"{kubectl} {arguments}: {out.stdout}{out.stderr}")

        def who(*arguments, config=plain):
            out = run("create", "--raw", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "-f", review, *arguments, config=config)
            if "unknown flag" in out.stderr:
                return None
            expect(out.returncode == 0, f"{kubectl} {arguments}: {out.stderr}")
            return json.loads(out.stdout)["status"]["userInfo"]

        review = os.path.join(folder, "review.json")
        with open(review, "w") as out:
            json.dump({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}, out)
        expect(who("--as", "bob") == {"username": "bob", "groups": ["system:authenticated"]}, who("--as", "bob"))
        got = who("--as", "bob", "--as-group", "team", "--as-group", "ops")
        expect(got == {"username": "bob", "groups": ["team", "ops", "system:authenticated"]}, got)
        got = who("--as", "bob", "--as-uid", "7")
        takes_uid = got is not None
        if not takes_uid:
            print(f"skipped: {kubectl} has no --as-uid")
        else:
            expect(got == {"username": "bob", "uid": "7", "groups": ["system:authenticated"]}, got)
        got = who("--as", "bob", "--as-user-extra", "acme.io/scope=view", "--as-user-extra", "acme.io/scope=edit")
        if got is None:
            print(f"skipped: {kubectl} has no --as-user-extra")
        else:
            expect(got["extra"] == {"acme.io/scope": ["view", "edit"]}, got)
        parts = {"as": "bob", "as-groups": ["team"], "as-uid": "7", "as-user-extra": {"acme.io/scope": ["view"]}}
        got = who(config=write_kubeconfig(os.path.join(folder, "bob.kubeconfig"), server, **parts))
        uid = {"uid": "7"} if takes_uid else {}
        expect(got == {"username": "bob", **uid, "groups": ["team", "system:authenticated"], "extra": {"acme.io/scope": ["view"]}}, got)
        listed = run("get", "pods", "-n", "default", "--as", "bob")
        expect(listed.returncode == 0, listed.stderr)
        refused('cannot impersonate-on:user-info:list resource "pods" in API group "" in the namespace "kube-system"', "get", "pods", "-n", "kube-system", "--as", "bob")
        refused('users.authentication.k8s.io "alice" is forbidden', "get", "pods", "-n", "default", "--as", "alice")
        refused('groups.authentication.k8s.io "other" is forbidden', "get", "pods", "-n", "default", "--as", "bob", "--as-group", "other")
        refused("impersonating the system:masters group is not allowed", "get", "pods", "-n", "default", "--as", "bob", "--as-group", "system:masters")
        print(f"{kubectl}: passed")


@story.chapter
def with_python(server):
    try:
        from kubernetes import client
    except ImportError:
        skip("Debian's package python3-kubernetes is not installed")
    configuration = client.Configuration()
    configuration.host, configuration.ssl_ca_cert = server.base, os.path.join(server.data_dir, "ca.crt")
    configuration.api_key = {"authorization": "Bearer token-carol"}
    api = client.ApiClient(configuration)
    api.set_default_header("Impersonate-User", "bob")
    expect(client.CoreV1Api(api).list_namespaced_pod("default").items == [], "pods as bob")
    for headers, saying in (({"Impersonate-User": "alice"}, 'users.authentication.k8s.io "alice"'), ({"Impersonate-User": "bob", "Impersonate-Group": "other"}, 'groups.authentication.k8s.io "other"')):
        other = client.ApiClient(configuration)
        for name, value in headers.items():
            other.set_default_header(name, value)
        try:
            client.CoreV1Api(other).list_namespaced_pod("default")
        except client.ApiException as error:
            expect(error.status == 403 and saying in json.loads(error.body)["message"], error.body)
        else:
            raise AssertionError(f"{headers} should have been refused")


@story.chapter
def with_javascript(server, folder):
    packages = Path(story.options["packages"]).resolve()
    npm.install(packages, "impersonation.mjs")
    config = write_kubeconfig(os.path.join(folder, "js.kubeconfig"), server, **{"as": "bob"})
    run = subprocess.run(["node", "impersonation.mjs"], cwd=packages, env={**os.environ, "KUBECONFIG": config, "EXPECTED": "bob"}, timeout=300)
    expect(run.returncode == 0, f"impersonation.mjs ended with status {run.returncode}")


@story.shared
def folder():
    with tempfile.TemporaryDirectory(prefix="cardea-clients-") as folder:
        yield folder


@story.shared
def server(folder):
    """A server on which carol may impersonate bob, with the group team or ops, and list pods in default."""
    tokens = os.path.join(folder, "tokens")
    write_tokens(tokens, ["carol"])
    with Cardea("--token-auth-file", tokens) as server:
        w = World(server)
        w.grant("carol", rule(["impersonate:user-info"], ["users"], [AUTHENTICATION], ["bob"]), rule(["impersonate:user-info"], ["groups"], [AUTHENTICATION], ["team", "ops"]),
                rule(["impersonate:user-info"], ["uids"], [AUTHENTICATION], ["7"]), rule(["impersonate:user-info"], ["userextras/acme.io/scope"], [AUTHENTICATION]),
                rule(["impersonate-on:user-info:create"], ["selfsubjectreviews"], [AUTHENTICATION]),
                {"verbs": ["impersonate-on:user-info:get"], "nonResourceURLs": ["*"]})
        w.grant("carol", rule(["impersonate-on:user-info:list"], ["pods"]), namespace="default")
        w.grant("bob", rule(["list"], ["pods"]))
        yield server


if __name__ == "__main__":
    story.main()
