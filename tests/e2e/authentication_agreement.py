"""Authentication configurations that are wrong, shown to us and to kube-apiserver: both refuse, in the same words.

Needs $CARDEA_PEERS, a folder with a kube-apiserver.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from issuers import openssl
from server import binary, expect, free_port, skip, tell

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
    """What a server said about its configuration, without the file's name. kube-apiserver's log quotes what fits on one line."""
    for line in ("invalid authentication configuration: ", "failed to load authentication configuration from file "):
        at = text.find(line)
        if at >= 0:
            said = text[at:]
            break
    else:
        return None
    said = said.replace(file, "FILE").strip()
    if quoted and "\n" in said:
        said = re.sub(r"\n >$", "", said.replace("\n\t", "\n"))
    elif quoted:
        said = json.loads('"' + said)
    return re.sub(r' in scheme ".*?"', "", said).strip()


def story():
    peers = os.environ.get("CARDEA_PEERS")
    if not peers or not os.path.exists(os.path.join(peers, "kube-apiserver")):
        skip("CARDEA_PEERS names no folder with a kube-apiserver")
    folder = tempfile.mkdtemp(prefix="cardea-agreement-")
    try:
        key, file = os.path.join(folder, "sa.key"), os.path.join(folder, "config.yaml")
        openssl("genrsa", "-out", key, "2048")
        differences = 0
        for text in WRONG:
            with open(file, "w") as out:
                out.write(text)
            port = str(free_port())
            theirs = subprocess.run([os.path.join(peers, "kube-apiserver"), "--etcd-servers=http://127.0.0.1:1", f"--cert-dir={folder}/certs", "--service-account-issuer=https://sa.example",
                                     f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}", f"--authentication-config={file}", "--authorization-mode=RBAC",
                                     f"--secure-port={port}"], text=True, capture_output=True, timeout=60)
            ours = subprocess.run([binary(), "serve", "--data-dir", os.path.join(folder, "data"), "--secure-port", port, f"--authentication-config={file}"],
                                  text=True, capture_output=True, timeout=60)
            expect(ours.returncode != 0, f"accepted:\n{text}")
            want, got = complaint(theirs.stderr, file, True), complaint(ours.stderr, file, False)
            if want != got:
                differences += 1
                print(f"--- for\n{text}\nkube-apiserver: {want}\ncardea:         {got}")
        expect(differences == 0, f"{differences} of {len(WRONG)} complaints differ")
        print(f"{len(WRONG)} wrong configurations are refused in the same words")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    tell("authentication_agreement", story)
