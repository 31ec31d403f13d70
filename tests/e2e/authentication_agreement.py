"""Compares Cardea with kube-apiserver: both must refuse wrong configurations in the same words, and recognise the same user by a token.

    authentication_agreement.py --packages=FOLDER     where the npm packages go (below the build folder); kept for the next run

Needs $CARDEA_PEERS, a folder with a kube-apiserver and an etcd.
"""
import http.client
import json
import os
import re
import ssl
import subprocess
import tempfile
import time

from issuers import ALGORITHMS, Issuers, openssl
import npm
from server import Cardea, binary, eventually, expect, free_port, skip
from story import Story

story = Story("authentication_agreement", options={"packages": npm.FOLDER})

HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n"
USER = "  claimMappings: {username: {claim: sub, prefix: ''}}\n"
ISSUER = "jwt:\n- issuer: {url: 'https://a', audiences: [x]}\n"


def issuer(text):
    return f"{HEAD}jwt:\n- issuer: {{{text}}}\n{USER}"


def mappings(text):
    return f"{HEAD}{ISSUER}  claimMappings: {{{text}}}\n"


WRONG = [
    "", "{}", "[]", "x", "kind: AuthenticationConfiguration\n",
    '{"apiVersion":"apiserver.config.k8s.io/v1","kind":"AuthenticationConfiguration","jwt":[],"jwt":[],"x":1}',
    HEAD + "jwt: x\n", HEAD + "jwt:\n- null\n", HEAD + "anonymous: {enabled: 'yes'}\n",
    HEAD + "anonymous: {enabled: false, conditions: [{path: /livez}, {path: /x}]}\n",
    issuer("url: 7, audiences: [x]"), issuer("url: 'https://a', audiences: x"), issuer("url: 'https://a', foo: 1, audiences: [x]") + "  bar: 1\n",
    issuer("url: 'https://a', url: 'https://b', audiences: [x]"),
    issuer("url: 'https://u:p@a?x#y', discoveryURL: 'https://u:p@a?x#y/', audiences: ['', 'b', 'b', ''], certificateAuthority: 'x', egressSelectorType: foo"),
    issuer("url: 'http://[::1', audiences: [x]"), issuer("url: 'https://a b', audiences: [x]"), issuer("url: '://x', audiences: [x]"),
    issuer("url: 'https://a/%zz', audiences: [x]"), issuer("url: 'https://@a', audiences: [x]"), issuer("url: a, audiences: [x, y]"),
    issuer("url: 'https://a', audiences: [x], audienceMatchPolicy: All"), issuer("discoveryURL: 'https://b/', audiences: []"),
    issuer("url: 'https://a', discoveryURL: 'https://a//', audiences: [x]"),
    issuer("url: 'https://a', audiences: [x]") + "- issuer: {url: 'https://a', audiences: [x]}\n" + USER,
    mappings("username: {expression: 'claims.sub', prefix: ''}, groups: {expression: 'claims.g', prefix: 'x'}"),
    mappings("username: {claim: '', prefix: x}, groups: {claim: g}, uid: {claim: a, expression: 'claims.b'}"),
    mappings("username: {claim: sub, prefix: ''}, uid: {claim: a, prefix: ''}"),
    mappings("username: {claim: sub, prefix: ''}, extra: [{key: 'Foo/Bar?', valueExpression: ''}, {key: foo, valueExpression: 'claims.x'}, "
             "{key: 'a_b/c', valueExpression: 'claims.x'}, {key: '', valueExpression: 'claims.x'}, {key: 'x.k8s.io/a', valueExpression: 'claims.x'}, "
             "{key: 'x.y/a', valueExpression: 'claims.x'}, {key: 'x.y/a', valueExpression: 'claims.x'}]"),
    mappings("username: {expression: 'claims.email'}, extra: [{key: 'a.b/c', valueExpression: '1 +'}]") + "  userValidationRules: [{expression: 'user.foo'}, {expression: ''}]\n",
    mappings("username: {expression: 'claims.email +'}") + "  claimValidationRules: [{expression: 'claims.foo'}, {expression: 'claims.a == 1 && user.x'}]\n",
    HEAD + ISSUER + USER + "  claimValidationRules: [{claim: a, expression: b}, {}, {claim: c, message: m}, {claim: c}, {expression: 'true', requiredValue: v}, {expression: 'true'}]\n",
    HEAD + ISSUER + USER + "  claimValidationRules: [{expression: 'claims.?email_verified.orValue(true)'}, {expression: 'claims + 1'}, {expression: '\"a\".matches(\"(\")'}]\n",
    HEAD + ISSUER + USER + "  userValidationRules: [{expression: 'user.username'}, {expression: 'claims.x == 1'}, {expression: 'user.groups.all(g, g.x)'}, {expression: 'true'}, {expression: 'true'}]\n",
    HEAD + "jwt:\n" + "".join(f"- issuer: {{url: 'https://a{i}'}}\n" for i in range(65)),
]


def complaint(text, file, quoted):
    """The message of a server about its configuration, without the name of the file. kube-apiserver's log quotes the part that fits on one line."""
    for line in ("invalid authentication configuration: ", "failed to load authentication configuration from file "):
        at = text.find(line)
        if at >= 0:
            said = text[at:]
            break
    else:
        return None
    # Other messages of kube-apiserver may come after it.
    said = re.sub(r"\n[IWEF]\d{4} \d\d:.*", "", said, flags=re.S) if quoted else said
    said = said.replace(file, "FILE").strip()
    if not quoted:  # a line of Cardea's log is one line
        said = said.replace("\\n", "\n")
    if quoted and "\n" in said:
        said = re.sub(r"\n >$", "", said.replace("\n\t", "\n"))
    elif quoted:
        said = json.loads('"' + said)
    return re.sub(r' in scheme ".*?"', "", said).strip()


@story.chapter
def wrong_configurations(peers, folder):
    file = os.path.join(folder, "config.yaml")
    differences = 0
    for text in WRONG:
        with open(file, "w") as out:
            out.write(text)
        port = str(free_port())
        theirs = subprocess.run([os.path.join(peers, "kube-apiserver"), "--etcd-servers=http://127.0.0.1:1", *kube_flags(folder, file, port)], text=True, capture_output=True, timeout=60)
        ours = subprocess.run([binary(), "serve", "--data-dir", os.path.join(folder, "data"), "--secure-port", port, f"--authentication-config={file}"],
                              text=True, capture_output=True, timeout=60)
        expect(ours.returncode != 0, f"accepted:\n{text}")
        want, got = complaint(theirs.stderr, file, True), complaint(ours.stderr, file, False)
        if want != got:
            differences += 1
            print(f"--- for\n{text}\nkube-apiserver: {want}\ncardea:         {got}")
    expect(differences == 0, f"{differences} of {len(WRONG)} complaints differ")
    print(f"{len(WRONG)} wrong configurations are refused in the same words")


def kube_flags(folder, file, port):
    key = os.path.join(folder, "sa.key")
    return [f"--cert-dir={folder}/certs", "--service-account-issuer=https://sa.example", f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}",
            f"--authentication-config={file}", "--authorization-mode=AlwaysAllow", f"--secure-port={port}"]


class Kube:
    """A real kube-apiserver on a real etcd."""

    def __init__(self, peers, folder, file):
        self.port, etcd, peer = free_port(), free_port(), free_port()
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.processes = [
            subprocess.Popen([os.path.join(peers, "etcd"), f"--data-dir={folder}/etcd", f"--listen-client-urls=http://127.0.0.1:{etcd}", f"--advertise-client-urls=http://127.0.0.1:{etcd}",
                              f"--listen-peer-urls=http://127.0.0.1:{peer}", f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}", f"--initial-cluster=default=http://127.0.0.1:{peer}"], **quiet),
            subprocess.Popen([os.path.join(peers, "kube-apiserver"), f"--etcd-servers=http://127.0.0.1:{etcd}", *kube_flags(folder, file, self.port)], **quiet)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.kill()
            process.wait()


REVIEW = json.dumps({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})


def who(port, token):
    """The user that a server recognises by the token, or the status."""
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=ssl._create_unverified_context())
    try:
        connection.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body=REVIEW, headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
        answer = connection.getresponse()
        body = answer.read()
        return json.loads(body)["status"]["userInfo"] if answer.status in (200, 201) else answer.status
    except OSError:
        return None
    finally:
        connection.close()


def indented(text):
    return "".join("      " + line + "\n" for line in text.splitlines())


CONFIG = """{head}jwt:
- issuer:
    url: {plain}
    certificateAuthority: |
{ca}    audiences: [cardea, other]
    audienceMatchPolicy: MatchAny
  claimValidationRules:
  - expression: "claims.?exp.orValue(0.0) - claims.?iat.orValue(0.0) <= 86400.0"
  - expression: "!has(claims.nested) || claims.nested.kubernetes__dot__io == claims.nested['kubernetes.io']"
  claimMappings:
    username: {{expression: "claims.sub + (has(claims.suffix) ? claims.suffix : '')"}}
    groups: {{claim: groups, prefix: "g:"}}
    uid: {{expression: "claims.?uid.orValue('')"}}
    extra:
    - {{key: example.com/a, valueExpression: "claims.?a.orValue(null)"}}
    - {{key: example.com/n, valueExpression: "has(claims.n) ? string(claims.n) : ''"}}
  userValidationRules:
  - expression: "!user.username.startsWith('system:')"
- issuer:
    url: {provider}
    certificateAuthority: |
{ca}    audiences: [RS256]
  claimMappings:
    username: {{claim: email, prefix: ""}}
    groups: {{claim: groups, prefix: ""}}
"""


def tokens(issuers):
    now = int(time.time())
    yield from ((alg, issuers.sign(alg)) for alg in ALGORITHMS)
    claims = [{}, {"aud": ["x", "other"]}, {"aud": "x"}, {"aud": []}, {"aud": None}, {"groups": ["a", ""]}, {"groups": "a"}, {"groups": ""}, {"groups": None}, {"groups": 7}, {"groups": ["a", 7]},
              {"groups": {}}, {"sub": ""}, {"sub": 7}, {"sub": None}, {"sub": "system:admin"}, {"suffix": 7}, {"suffix": "!"}, {"uid": "u"}, {"uid": 7}, {"uid": None}, {"a": "x"}, {"a": ["x", "", "y"]},
              {"a": []}, {"a": 7}, {"a": True}, {"a": {"b": 1}}, {"n": 1700081020}, {"n": 1}, {"n": 1.5}, {"n": 1e30}, {"n": "text"}, {"n": True}, {"jti": "id"}, {"jti": ""}, {"jti": 7},
              {"exp": now - 1}, {"exp": None}, {"exp": "soon"}, {"exp": str(now + 600)}, {"exp": now + 600.7}, {"exp": now + 10 ** 6}, {"nbf": now + 30}, {"nbf": now + 120}, {"nbf": None}, {"nbf": "x"},
              {"iat": "x"}, {"iat": now + 900}, {"nonce": 7}, {"at_hash": "x"}, {"_claim_names": {"x": "y"}}, {"_claim_names": 7}, {"_claim_names": {"groups": "s"}, "_claim_sources": {"s": {"JWT": "x"}}},
              {"nested": {"kubernetes.io": "x"}}, {"nested": {}}, {"nested": 7}, {"iss": "https://nobody.example"}]
    yield from ((json.dumps(more), issuers.sign(**more)) for more in claims)
    yield from ((kind, issuers.tell("attack", kind=kind, claims=issuers.claims())) for kind in ("hmac", "none", "eddsa", "stolen-kid", "several"))
    for more in ({}, {"email": "a@b"}, {"email": "a@b", "email_verified": False}, {"email": "a@b", "email_verified": True}, {"email": "a@b", "email_verified": "true"}, {"email": None}):
        yield json.dumps(more) + " of the provider", issuers.sign("RS256", key_of="provider", aud="RS256", **more)
    yield "an ID token", issuers.tell("id_token", alg="RS256", subject="joe")


@story.chapter
def decisions(peers, folder):
    with Issuers(story.options["packages"]) as issuers:
        for site in ("plain", "provider"):
            issuers.start(site)
        file = issuers.path("config.yaml")
        with open(file, "w") as out:
            out.write(CONFIG.format(head=HEAD, ca=indented(issuers.ca), **issuers.urls))
        # kube-apiserver decodes a whole key set or nothing: the key set of the plain issuer must have no key of an unknown kind.
        issuers.tell("only_known_keys")
        with Kube(peers, folder, file) as kube, Cardea("--authentication-config", file, "--authorization-mode", "AlwaysAllow", "--service-account-issuer", "https://sa.example") as server:
            eventually("kube-apiserver knows the issuer", lambda: isinstance(who(kube.port, issuers.sign()), dict), 90)
            eventually("cardea knows the issuer", lambda: isinstance(who(server.port, issuers.sign()), dict))
            count = differences = 0
            for what, token in tokens(issuers):
                want, got = who(kube.port, token), who(server.port, token)
                count += 1
                if want != got:
                    differences += 1
                    print(f"--- {what}\nkube-apiserver: {want}\ncardea:         {got}")
            expect(differences == 0, f"{differences} of {count} tokens are taken for different users")
            print(f"{count} tokens are taken for the same users, or for nobody, by both")


@story.shared
def peers():
    peers = os.environ.get("CARDEA_PEERS")
    if not peers or not all(os.path.exists(os.path.join(peers, name)) for name in ("kube-apiserver", "etcd")):
        skip("CARDEA_PEERS names no folder with a kube-apiserver and an etcd")
    return peers


@story.shared
def folder():
    with tempfile.TemporaryDirectory(prefix="cardea-agreement-", ignore_cleanup_errors=True) as folder:
        openssl("genrsa", "-out", os.path.join(folder, "sa.key"), "2048")
        yield folder


if __name__ == "__main__":
    story.main()
