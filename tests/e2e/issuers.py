"""Issuers of tokens for stories: js/issuers.mjs as a process, its certificates made with openssl."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from npm import install
from server import expect, free_port, skip

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"]


def openssl(*args):
    subprocess.run(["openssl", *args], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Issuers:
    """A real OpenID provider (`provider`) and a plain issuer (`plain`); neither is started."""

    def __init__(self, packages):
        if not shutil.which("openssl"):
            skip("no openssl: certificates for issuers cannot be made")
        install(Path(packages).resolve(), "issuers.mjs")
        self.packages = packages
        self.folder = tempfile.mkdtemp(prefix="cardea-issuers-")

    def path(self, name):
        return os.path.join(self.folder, name)

    def __enter__(self):
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=test CA",
                "-keyout", self.path("ca.key"), "-out", self.path("ca.crt"), "-addext", "keyUsage=critical,keyCertSign")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=issuers", "-keyout", self.path("tls.key"), "-out", self.path("tls.csr"))
        with open(self.path("extensions"), "w") as file:
            file.write("subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth\n")
        openssl("x509", "-req", "-in", self.path("tls.csr"), "-CA", self.path("ca.crt"), "-CAkey", self.path("ca.key"), "-CAcreateserial", "-days", "2",
                "-extfile", self.path("extensions"), "-out", self.path("tls.crt"))
        with open(self.path("ca.crt")) as file:
            self.ca = file.read()
        self.process = subprocess.Popen(["node", "issuers.mjs", self.path("tls.crt"), self.path("tls.key"), str(free_port()), str(free_port())],
                                        cwd=self.packages, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.urls = self.read()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def read(self):
        while True:
            line = self.process.stdout.readline()
            expect(line, "issuers.mjs has ended")
            if line.startswith("{"):  # the provider prints its own advice
                answer = json.loads(line)
                expect("error" not in answer, f"issuers.mjs: {answer.get('error')}")
                return answer["result"]

    def tell(self, cmd, **args):
        self.process.stdin.write(json.dumps({"cmd": cmd, **args}) + "\n")
        self.process.stdin.flush()
        return self.read()

    def start(self, site): self.tell("start", site=site)
    def stop(self, site): self.tell("stop", site=site)
    def rotate(self, site): self.tell("rotate", site=site)
    def fetches(self, site, path): return self.tell("fetches", site=site, path=path)

    def claims(self, site="plain", **more):
        now = int(time.time())
        return {"iss": self.urls[site], "sub": "jane", "aud": "cardea", "iat": now, "exp": now + 600, **more}

    def sign(self, alg="ES256", header=None, key_of="plain", **more):
        return self.tell("sign", alg=alg, claims=self.claims(key_of, **more), header=header or {}, key_of=key_of)


def decoded(token):
    payload = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
