"""Tokens of real issuers: every algorithm, two issuers at once, rotation, outages, discovery elsewhere, reload under load.

    authentication_story.py --packages=FOLDER     where the npm packages go (below the build folder); kept for the next run
"""
import http.client
import json
import os
import re
import ssl
import subprocess
import threading
import time
from pathlib import Path

from issuers import ALGORITHMS, Issuers, decoded
import npm
from server import Cardea, binary, eventually, expect, free_port
from story import Story

story = Story("authentication_story", options={"packages": npm.FOLDER})

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
BODY = json.dumps({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})
RELOADS = "apiserver_authentication_config_controller_automatic_reloads_total"


class Client:
    """Requests with a token and no certificate, on one connection."""

    def __init__(self, server):
        context = ssl.create_default_context(cafile=os.path.join(server.data_dir, "ca.crt"))
        self.connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=60, context=context)

    def send(self, method, path, token=None, body=None):
        headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
        if body:
            headers["Content-Type"] = "application/json"
        self.connection.request(method, path, body=body, headers=headers)
        answer = self.connection.getresponse()
        return answer.status, answer.read()

    def who(self, token):
        """The user as the server sees it, or the status."""
        status, body = self.send("POST", WHO, token, BODY)
        return json.loads(body)["status"]["userInfo"] if status in (200, 201) else status


def indented(text, by):
    return "".join(" " * by + line + "\n" for line in text.splitlines())


def config(issuers, prefix="jose:", plain=True, rules="", more=""):
    text = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n" + more
    text += f"""jwt:
- issuer:
    url: {issuers.urls['provider']}
    certificateAuthority: |
{indented(issuers.ca, 6)}    audiences: [{", ".join(ALGORITHMS)}]
    audienceMatchPolicy: MatchAny
  claimMappings:
    username: {{expression: '"oidc:" + claims.sub'}}
    groups: {{claim: groups, prefix: "oidc:"}}
"""
    if plain:
        text += f"""- issuer:
    url: {issuers.urls['plain']}
    certificateAuthority: |
{indented(issuers.ca, 6)}    audiences: [cardea]
  claimMappings:
    username: {{claim: sub, prefix: "{prefix}"}}
    groups: {{claim: groups, prefix: ""}}
    extra:
    - key: example.com/tenant
      valueExpression: claims.?tenant.orValue("")
  userValidationRules:
  - expression: "user.groups.all(g, !g.startsWith('system:'))"
    message: groups of the cluster itself are not for issuers to give
{rules}- issuer:
    url: https://unreachable.example
    discoveryURL: {issuers.urls['plain']}/elsewhere/discovery
    certificateAuthority: |
{indented(issuers.ca, 6)}    audiences: [cardea]
  claimMappings:
    username: {{claim: sub, prefix: "elsewhere:"}}
"""
    return text


def metric(server, name, **labels):
    _, _, body = server.request("GET", "/metrics")
    for line in body.decode().splitlines():
        if line.startswith(name + "{") and all(f'{k}="{v}"' in line for k, v in labels.items()):
            return float(line.rsplit(" ", 1)[1])
    return 0


class Load:
    """Requests on several connections; all must succeed. `token` may change in the meantime."""

    def __init__(self, server, token, connections=4):
        self.server, self.token, self.ending = server, token, False
        self.names, self.failures, self.sent = set(), [], 0
        self.threads = [threading.Thread(target=self.run) for _ in range(connections)]

    def run(self):
        client = Client(self.server)
        while not self.ending:
            user = client.who(self.token)
            self.sent += 1
            if isinstance(user, int):
                self.failures.append(user)
            else:
                self.names.add(user["username"])

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ending = True
        for thread in self.threads:
            thread.join()


@story.shared
def issuers():
    with Issuers(story.options["packages"]) as issuers:
        issuers.start("plain")
        yield issuers


@story.shared
def file(issuers):
    file = issuers.path("authentication.yaml")
    with open(file, "w") as out:
        out.write(config(issuers))
    return file


@story.shared
def server(issuers, file):
    with Cardea("--authentication-config", file, "--authorization-mode", "AlwaysAllow") as server:
        yield server


@story.shared
def client(server):
    return Client(server)


@story.chapter
def issuers_are_found_when_they_come_up(issuers, client):
    expect(eventually("the plain issuer is known", lambda: not isinstance(client.who(issuers.sign()), int)), "")
    early = issuers.sign(key_of="provider", alg="RS256", aud="RS256")
    expect(client.who(early) == 401, "an issuer that is down vouches for somebody")
    issuers.start("provider")
    eventually("the provider is found once it is up", lambda: client.who(early) != 401)
    user = client.who(issuers.sign(iss="https://unreachable.example"))
    expect(user["username"] == "elsewhere:jane", f"discovery at another URL: {user}")


@story.chapter(needs=["issuers_are_found_when_they_come_up"])
def every_algorithm(issuers, client):
    for alg in ALGORITHMS:
        user = client.who(issuers.sign(alg, groups=["a", "b"], tenant="t1", jti="id-1"))
        expect(user == {"username": "jose:jane", "groups": ["a", "b", "system:authenticated"],
                        "extra": {"example.com/tenant": ["t1"], "authentication.kubernetes.io/credential-id": ["JTI=id-1"]}}, f"{alg} by jose: {user}")
        token = issuers.tell("id_token", alg=alg, subject="joe")
        expect(decoded(token)["iss"] == issuers.urls["provider"], "the provider is not who it should be")
        user = client.who(token)
        expect(user == {"username": "oidc:joe", "groups": ["oidc:dev", "oidc:ops", "system:authenticated"]}, f"{alg} by the provider: {user}")
    print("every algorithm, two issuers at once")


@story.chapter(needs=["issuers_are_found_when_they_come_up"])
def bad_tokens(issuers, client, server):
    now = int(time.time())
    good = issuers.sign()
    head, payload, signature = good.split(".")
    bad = {kind: issuers.tell("attack", kind=kind, claims=issuers.claims()) for kind in ("hmac", "none", "eddsa", "jwk", "stolen-kid", "several")}
    bad.update({
        "truncated": good[:-10], "no signature": f"{head}.{payload}.", "not base64": f"{head}.{payload}.!!!", "four parts": good + ".x",
        "too large": issuers.sign(pad="x" * 17000), "expired": issuers.sign(exp=now - 1), "future": issuers.sign(nbf=now + 3600),
        "another audience": issuers.sign(aud="someone-else"), "no audience": issuers.sign(aud=None), "wrong type": issuers.sign(exp="tomorrow"),
        "another issuer": issuers.sign(iss=issuers.urls["provider"]), "nobody's": issuers.sign(iss="https://nobody.example"),
        "groups of ours": issuers.sign(groups=["system:masters"]), "garbage": "x" * 100, "json": "{}", "crit": None,
    })
    bad["crit"] = f"{head}.{payload}.{signature}".replace(head, "eyJhbGciOiJFUzI1NiIsImNyaXQiOlsiZXhwIl19")
    shapes = set()
    for kind, token in bad.items():
        status, body = client.send("GET", "/api", token)
        expect(status == 401, f"{kind}: {status}")
        shapes.add(body)
    expect(len(shapes) == 1, f"refusals differ: {shapes}")
    with open(server.log_path, errors="replace") as log:
        text = log.read()
    for kind, token in bad.items():
        expect(len(token) < 20 or token not in text, f"{kind}: the token is in the log")
    expect(signature not in text and payload not in text, "parts of a token are in the log")
    expect(client.who(good)["username"] == "jose:jane", "a good token was refused after bad ones")
    print(f"{len(bad)} kinds of bad tokens: 401, one shape, nothing in the log")


@story.chapter(needs=["issuers_are_found_when_they_come_up"])
def unknown_keys(issuers, client):
    before = issuers.fetches("plain", "/keys")
    for i in range(50):
        expect(client.who(issuers.sign(header={"kid": f"unknown-{i}"})) == 401, "an unknown key was accepted")
    fetched = issuers.fetches("plain", "/keys") - before
    expect(fetched <= 3, f"{fetched} fetches for 50 tokens with unknown keys")
    print(f"50 tokens with unknown keys: {fetched} fetches of the key set")


@story.chapter(needs=["issuers_are_found_when_they_come_up"])
def rotation(issuers, server, client):
    with Load(server, issuers.sign(sub="loaded")) as load:
        eventually("the load runs", lambda: load.sent > 20)
        issuers.rotate("plain")
        load.token = issuers.sign(sub="rotated")  # accepted when the key set may be fetched again
        eventually("rotated keys are accepted", lambda: "jose:rotated" in load.names, 30)
        load.failures.clear()
        begun = load.sent
        eventually("the load runs on", lambda: load.sent > begun + 100)
    expect(not load.failures, f"failures after the rotation: {load.failures[:5]}")
    print("keys rotated under load")


@story.chapter(needs=["issuers_are_found_when_they_come_up"])
def outage(issuers, client):
    token = issuers.sign(key_of="provider", alg="RS256", aud="RS256", sub="later")
    issuers.stop("provider")
    expect(client.who(token)["username"] == "oidc:later", "known keys do not survive an outage")
    expect(client.who(issuers.sign(key_of="provider", alg="RS256", aud="RS256", header={"kid": "new"})) == 401, "an unknown key during an outage")
    expect(client.who(issuers.sign(key_of="provider", alg="RS256", aud="RS256", sub="still"))["username"] == "oidc:still", "a failed fetch spoiled the known keys")
    issuers.start("provider")
    print("known keys survive an outage")


@story.chapter(needs=["issuers_are_found_when_they_come_up"])
def reload(issuers, server, client, file):
    def put(text):
        with open(file + ".new", "w") as new:
            new.write(text)
        os.rename(file + ".new", file)

    def reloads(status):
        return metric(server, RELOADS, status=status)

    token = issuers.sign(groups=["g"])
    expect(client.who(token)["username"] == "jose:jane", "not as configured")
    with Load(server, token) as load:
        for round_ in range(5):
            done = reloads("success")
            put(config(issuers, prefix=f"round{round_}:"))
            eventually("the file is taken over", lambda: reloads("success") > done)
            expect(client.who(token)["username"] == f"round{round_}:jane", "the new configuration is not in force")
        eventually("the load runs on", lambda: len(load.names) > 4)
    expect(not load.failures, f"{len(load.failures)} of {load.sent} requests failed during reloads: {load.failures[:5]}")

    failed = reloads("failure")
    for text in ("jwt: [", "", config(issuers) + "surprise: 1\n", config(issuers, rules="  claimValidationRules: [{expression: 'claims.x'}]\n"),
                 config(issuers, more="anonymous: {enabled: true}\n")):
        put(text)
        failed += 1
        eventually("the refusal is counted", lambda: reloads("failure") == failed)
        expect(client.who(token)["username"] == "round4:jane", "a bad file replaced a good one")

    done = reloads("success")
    put(config(issuers, plain=False))
    eventually("the file is taken over", lambda: reloads("success") > done)
    expect(client.who(token) == 401, "a configuration that was withdrawn still works")
    put(config(issuers))
    eventually("the issuer is back", lambda: client.who(token) != 401)
    print(f"reloads under load: {load.sent} requests, none dropped; bad files refused; a withdrawn issuer ends at once")


@story.chapter
def flags_and_the_file_they_migrate_to(issuers):
    """The same issuer by flags, and by the file that `cardea migrate` makes from the flags."""
    flags = [f"--oidc-issuer-url={issuers.urls['plain']}", "--oidc-client-id=cardea", f"--oidc-ca-file={issuers.path('ca.crt')}", "--oidc-groups-claim=groups",
             "--oidc-groups-prefix=g:", "--oidc-required-claim=tenant=t1", "--oidc-signing-algs=RS256,ES256"]
    migrated = subprocess.run([binary(), "migrate", "oidc-flags", "--secure-port=1", *flags], text=True, capture_output=True)
    expect(migrated.returncode == 0, f"migrate: {migrated.stderr}")
    file = issuers.path("migrated.yaml")
    with open(file, "w") as out:
        out.write(migrated.stdout)
    token = issuers.sign(groups=["a"], tenant="t1")
    want = {"username": f"{issuers.urls['plain']}#jane", "groups": ["g:a", "system:authenticated"]}
    for given in (flags, ["--authentication-config", file]):
        with Cardea(*given, "--authorization-mode", "AlwaysAllow") as server:
            client = Client(server)
            user = eventually("the issuer is known", lambda: (u := client.who(token)) != 401 and u)
            expect(user == want, f"{given}: {user}")
            expect(client.who(issuers.sign(groups=["a"], tenant="t2")) == 401, "a required claim was not required")
            expect((client.who(issuers.sign(alg="PS256", groups=["a"], tenant="t1")) == 401) == (given is flags), "algorithms are not as configured")
    both = subprocess.run([binary(), "serve", "--authentication-config", file, flags[0]], text=True, capture_output=True)
    expect(both.returncode != 0 and "mutually exclusive" in both.stderr, f"file and flags together: {both.stderr}")
    print("flags, and the file they migrate to, mean the same")


@story.chapter
def the_documented_example(issuers):
    """The example of docs/authentication.md, with an issuer that exists."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "authentication.md").read_text()
    text = next(block for block in re.findall(r"```yaml\n(.*?)```", page, re.S) if "kind: AuthenticationConfiguration" in block)
    text = text.replace("https://login.example.com", issuers.urls["plain"] + f"\n    certificateAuthority: |\n{indented(issuers.ca, 6)}    #")
    file = issuers.path("documented.yaml")
    with open(file, "w") as out:
        out.write(text)
    with Cardea("--authentication-config", file) as server:
        client = Client(server)
        good = issuers.sign(aud="kubernetes", hd="example.com", roles="a,b", tenant="t")
        user = eventually("the issuer is known", lambda: (u := client.who(good)) != 401 and u)
        expect(user == {"username": "corp:jane", "groups": ["a", "b", "system:authenticated"], "extra": {"example.com/tenant": ["t"]}}, f"documented: {user}")
        for wrong in ({"roles": "a"}, {"hd": "example.com"}, {"hd": "example.com", "roles": "a,system:masters"}, {"hd": 7, "roles": "a"}):
            expect(client.who(issuers.sign(aud="kubernetes", **wrong)) == 401, f"accepted: {wrong}")
        with open(server.log_path) as log:
            expect("only people of example.com" in log.read(), "the log does not say why a token was refused")
        for path, status in (("/livez", 200), ("/readyz", 200), ("/livez/", 401), ("/version", 401), ("/api", 401), ("/livez/ping", 401)):
            got = client.send("GET", path)[0]
            expect(got == status, f"anonymous {path}: {got}")
        expect(client.send("GET", "/livez", "wrong")[0] == 401, "a wrong token became anonymous")
    print("the documented example; anonymous only where the file says so")


@story.chapter
def always_allow_and_anonymous_never_meet(issuers):
    """Anonymous requests and AlwaysAllow are never both on, whichever file or flag sets them."""
    head = "apiVersion: apiserver.config.k8s.io/{}\nkind: {}Configuration\n"
    chain, file = issuers.path("chain.yaml"), issuers.path("anonymous.yaml")
    with open(chain, "w") as out:
        out.write(head.format("v1", "Authorization") + "authorizers: [{type: AlwaysAllow, name: alwaysallow}]\n")

    def anonymous(section):
        with open(file, "w") as out:
            out.write(head.format("v1", "Authentication") + section)

    ways = (["--authorization-mode", "AlwaysAllow"], ["--authorization-mode", "RBAC,AlwaysAllow"], ["--authorization-config", chain])
    for section in ("anonymous: {enabled: true}\n", "anonymous: {enabled: true, conditions: [{path: /livez}]}\n"):
        anonymous(section)
        for way in ways:
            done = subprocess.run([binary(), "serve", "--data-dir", issuers.path("never"), "--secure-port", str(free_port()), "--authentication-config", file, *way],
                                  text=True, capture_output=True, timeout=60)
            expect(done.returncode in (1, 2) and "AlwaysAllow needs" in done.stderr, f"{section} {way}: {done.returncode} {done.stderr}")
    anonymous("anonymous: {enabled: false}\n")
    for way in ways:
        with Cardea("--authentication-config", file, *way) as server:
            expect(Client(server).send("GET", "/api/v1/secrets")[0] == 401, f"{way}: somebody without credentials is let in")
    print("AlwaysAllow and anonymous requests are refused together")


if __name__ == "__main__":
    story.main()
