"""Authentication: tokens of service accounts, token reviews, front proxies, and certificates that change while the server runs.

The real binary over TLS. `kubectl create token` and `kubectl auth whoami` are used if there is a kubectl that has
them; with $CARDEA_PEERS a real kube-apiserver uses Cardea as its authentication webhook.
"""
import base64
import contextlib
import http.client
import json
import os
import shutil
import ssl
import subprocess

from server import Cardea, eventually, exchange, expect, free_port
from story import Story

story = Story("service_accounts")

# The exact request of kube-apiserver 1.36 to its token webhook.
RECORDED = '{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","metadata":{},"spec":{"token":"%s","audiences":["%s"]},"status":{"user":{}}}\n'
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"


def connect(server, identity=None):
    """A connection without admin's certificate; `identity` is its own (certificate, key)."""
    context = ssl.create_default_context(cafile=os.path.join(server.data_dir, "ca.crt"))
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if identity:
        context.load_cert_chain(*identity)
    return http.client.HTTPSConnection("127.0.0.1", server.port, timeout=60, context=context)


def call(server, method, path, body=None, headers=None, identity=None):
    connection = connect(server, identity)
    try:
        return exchange(connection, method, path, body, headers)
    finally:
        connection.close()


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def must(answer, status, what):
    expect(answer[0] == status, f"{what}: {answer[0]} instead of {status}: {answer[2]}")
    return answer[2]


def claims(token):
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def authority(folder, name):
    path = os.path.join(folder, name)
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", path + ".key", "-out", path + ".crt", "-subj", f"/CN={name}", "-days", "2")
    return path


def signed(folder, ca, name, subject):
    path = os.path.join(folder, name)
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", path + ".key", "-out", path + ".csr", "-subj", subject)
    openssl("x509", "-req", "-in", path + ".csr", "-CA", ca + ".crt", "-CAkey", ca + ".key", "-CAcreateserial", "-days", "2", "-out", path + ".crt")
    return path + ".crt", path + ".key"


def replace(path, text):
    """Writes a new file and renames it, as careful operators do."""
    with open(path + ".next", "w") as file:
        file.write(text)
    os.rename(path + ".next", path)


def text_of(path):
    with open(path) as file:
        return file.read()


def make_account(server, namespace="shop", name="till"):
    must(server.request("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}}), 201, "a namespace")
    must(server.request("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": name}}), 201, "an account")


def token_for(server, spec, namespace="shop", name="till"):
    body = must(server.request("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token", {"spec": spec}), 201, "a token")
    return body["status"]["token"]


@story.chapter
def bound_tokens():
    with Cardea("--authorization-mode=AlwaysAllow", "--v=4") as server:
        make_account(server)
        pods = "/api/v1/namespaces/shop/pods"
        must(server.request("POST", "/api/v1/nodes", {"metadata": {"name": "n1"}}), 201, "a node")
        pod = {"metadata": {"name": "p"}, "spec": {"serviceAccountName": "till", "nodeName": "n1", "containers": [{"name": "c", "image": "i"}]}}
        made = must(server.request("POST", pods, pod), 201, "a pod")
        volume = made["spec"]["volumes"][0]
        expect(volume["name"].startswith("kube-api-access-"), f"the pod has no token volume: {volume}")
        expect(made["spec"]["containers"][0]["volumeMounts"][0]["mountPath"] == "/var/run/secrets/kubernetes.io/serviceaccount", "no mount")
        pod["metadata"]["name"], pod["spec"]["serviceAccountName"] = "q", "nobody"
        refused = must(server.request("POST", pods, pod), 403, "a pod of a missing account")
        expect('serviceaccount "nobody" not found' in refused["message"], refused["message"])

        token = token_for(server, {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p"}})
        connection = connect(server)
        status, _, who = exchange(connection, "POST", WHO, {}, bearer(token))
        expect(status == 201, f"the token is not accepted: {who}")
        user = who["status"]["userInfo"]
        expect(user["username"] == "system:serviceaccount:shop:till", user)
        expect(user["groups"] == ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"], user)
        extra = {key.split("/")[1]: value[0] for key, value in user["extra"].items()}
        expect(extra["pod-name"] == "p" and extra["pod-uid"] == made["metadata"]["uid"] and extra["node-name"] == "n1", extra)
        expect(extra["credential-id"] == "JTI=" + claims(token)["jti"], extra)

        must(server.request("DELETE", pods + "/p?gracePeriodSeconds=0"), 200, "deleting the pod")
        status, headers, body = exchange(connection, "POST", WHO, {}, bearer(token))
        expect(status == 401, f"a token of a deleted pod still works: {body}")
        expect(body == {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "Unauthorized",
                        "reason": "Unauthorized", "code": 401}, body)

        vault = token_for(server, {"audiences": ["vault"]})
        must(call(server, "GET", "/api", headers=bearer(vault)), 401, "a token for others")
        review = must(server.request("POST", REVIEWS, {"spec": {"token": vault, "audiences": ["vault", "x"]}}), 201, "a review")
        expect(review["status"]["authenticated"] and review["status"]["audiences"] == ["vault"], review)
        review = must(server.request("POST", REVIEWS, {"spec": {"token": vault}}), 201, "a review")
        expect("authenticated" not in review["status"] and "is invalid for the target audiences" in review["status"]["error"], review)

        plain = token_for(server, {})
        must(call(server, "GET", "/api", headers=bearer(plain)), 200, "a plain token")
        must(call(server, "GET", "/api", headers=bearer(plain[:-4] + "AAAA")), 401, "a token with another signature")
        must(call(server, "GET", "/api", headers=bearer("a" * 17000)), 401, "an oversized token")
        raw = connect(server)
        raw.putrequest("GET", "/api")
        raw.putheader("Authorization", f"Bearer {plain}")
        raw.putheader("Authorization", f"Bearer {plain}")
        raw.endheaders()
        expect(raw.getresponse().status == 401, "two Authorization headers are accepted")
        must(server.request("DELETE", "/api/v1/namespaces/shop/serviceaccounts/till"), 200, "deleting the account")
        must(call(server, "GET", "/api", headers=bearer(plain)), 401, "a token of a deleted account")

        log = text_of(server.log_path)
        expect(f'credential-id="JTI={claims(plain)["jti"]}"' in log and 'issuer="https://127.0.0.1' in log, "the log does not name the credential")
        for secret in (token, vault, plain):
            expect(secret not in log and secret.split(".")[2] not in log, "a token is in the log")

        found = must(call(server, "GET", "/.well-known/openid-configuration", headers=bearer(token_after_restart(server))), 200, "discovery")
        expect(found["issuer"] == server.base and found["jwks_uri"] == server.base + "/openid/v1/jwks", found)


def token_after_restart(server):
    """Keys survive a restart, and so do the tokens they signed."""
    must(server.request("POST", "/api/v1/namespaces/shop/serviceaccounts", {"metadata": {"name": "till"}}), 201, "the account again")
    token = token_for(server, {})
    server.stop()
    server.start()
    must(call(server, "GET", "/api", headers=bearer(token)), 200, "a token after a restart")
    keys = must(call(server, "GET", "/openid/v1/jwks", headers=bearer(token)), 200, "the keys")
    head = json.loads(base64.urlsafe_b64decode(token.split(".")[0] + "=="))
    expect([k["kid"] for k in keys["keys"]] == [head["kid"]], f"{keys} does not hold {head}")
    return token


def kubectls():
    peers = os.environ.get("CARDEA_PEERS")
    named = [os.environ.get("CARDEA_KUBECTL"), os.path.join(peers, "kubectl") if peers else None, shutil.which("kubectl")]
    return [k for k in dict.fromkeys(named) if k and os.path.exists(k)]


@story.chapter
def with_kubectl():
    if not kubectls():
        print("skipped: no kubectl for `create token` and `auth whoami`")
        return
    for kubectl in kubectls():
        with Cardea("--authorization-mode=AlwaysAllow") as server:
            make_account(server)

            def run(*arguments):
                return subprocess.run([kubectl, "--kubeconfig", server.kubeconfig, *arguments], capture_output=True, text=True)

            made = run("create", "token", "till", "-n", "shop", "--duration", "20m", "--audience", server.base)
            if any(said in made.stderr for said in ("unknown command", "unknown flag", "must specify")):
                print(f"skipped: {kubectl} has no `create token`")
                continue
            expect(made.returncode == 0, made.stderr)
            token = made.stdout.strip()
            lifetime = claims(token)["exp"] - claims(token)["iat"]
            expect(lifetime == 1200, f"asked for 20 minutes, got {lifetime} s")
            who = run("auth", "whoami", "-o", "json", "--token", token, "--client-certificate=", "--client-key=")
            if "unknown command" in who.stderr:
                print(f"skipped: {kubectl} has no `auth whoami`")
                continue
            who = run("auth", "whoami", "-o", "json")
            expect(who.returncode == 0, who.stderr)
            expect(json.loads(who.stdout)["status"]["userInfo"]["username"] == "admin", who.stdout)


@story.chapter
def front_proxy():
    with Cardea("--authorization-mode=AlwaysAllow") as server:
        folder = server.folder
        proxies, users = authority(folder, "proxies"), authority(folder, "users")
        front, back = signed(folder, proxies, "front", "/CN=front"), signed(folder, proxies, "back", "/CN=back")
        jane = signed(folder, users, "jane", "/O=dev/CN=jane")
        server.flags += ["--requestheader-client-ca-file", proxies + ".crt", "--requestheader-allowed-names=front",
                         "--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
                         "--requestheader-extra-headers-prefix=X-Remote-Extra-", "--requestheader-uid-headers=X-Remote-Uid",
                         "--client-ca-file", users + ".crt"]
        server.stop()
        server.start()
        said = {"X-Remote-User": "bob", "X-Remote-Group": "ops", "X-Remote-Extra-Team": "red", "X-Remote-Uid": "7"}
        who = must(call(server, "POST", WHO, {}, said, front), 201, "a front proxy")["status"]["userInfo"]
        expect(who == {"username": "bob", "uid": "7", "groups": ["ops", "system:authenticated"], "extra": {"team": ["red"]}}, who)
        must(call(server, "POST", WHO, {}, said, back), 401, "a front proxy of another name")
        must(call(server, "POST", WHO, {}, {}, front), 401, "a front proxy that names nobody")
        must(call(server, "POST", WHO, {}, said), 401, "headers without a certificate")
        who = must(call(server, "POST", WHO, {}, said, jane), 201, "headers of a client")["status"]["userInfo"]
        expect(who["username"] == "jane" and "bob" not in json.dumps(who), who)
        config = must(server.request("GET", "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"), 200, "the CAs")
        own = text_of(os.path.join(server.data_dir, "front-proxy-ca.crt"))
        expect(config["data"]["requestheader-client-ca-file"] == text_of(proxies + ".crt") + own, config)
        expect(json.loads(config["data"]["requestheader-allowed-names"]) == ["front", "front-proxy-client"], config)


@story.chapter
def certificates_change():
    with Cardea("--authorization-mode=AlwaysAllow") as server:
        folder = server.folder
        first, second, serving = authority(folder, "first"), authority(folder, "second"), authority(folder, "serving")
        jane, joe = signed(folder, first, "jane", "/CN=jane"), signed(folder, second, "joe", "/CN=joe")
        cas = os.path.join(folder, "clients.crt")
        replace(cas, text_of(first + ".crt"))
        certificate, key = signed(folder, serving, "server", "/CN=before")
        server.flags += ["--client-ca-file", cas, "--tls-cert-file", certificate, "--tls-private-key-file", key]
        server.stop()
        server.process = subprocess.Popen(server.command(), stderr=open(server.log_path, "ab"))
        eventually("ready", lambda: quietly(server))
        old = connect(server, jane)
        must(exchange(old, "POST", WHO, {}), 201, "jane before")
        must(call(server, "POST", WHO, {}, {}, joe), 401, "joe before")
        replace(cas, text_of(second + ".crt"))
        eventually("joe is known", lambda: call(server, "POST", WHO, {}, {}, joe)[0] == 201)
        must(exchange(old, "POST", WHO, {}), 401, "jane on her old connection, after her CA was withdrawn")
        replace(cas, "nonsense")
        eventually("nonsense is refused", lambda: "certificates not reloaded: cannot read" in text_of(server.log_path))
        must(call(server, "POST", WHO, {}, {}, joe), 201, "joe, whose CA a damaged file did not take away")
        replace(cas, text_of(second + ".crt") + text_of(first + ".crt"))
        eventually("both are known", lambda: all(call(server, "POST", WHO, {}, {}, i)[0] == 201 for i in (jane, joe)))
        after, after_key = signed(folder, serving, "after", "/CN=after")
        replace(key, text_of(after_key))
        replace(certificate, text_of(after))
        eventually("another certificate is served", lambda: ssl.get_server_certificate(("127.0.0.1", server.port)) == text_of(after))


def quietly(server):
    try:
        return call(server, "GET", "/readyz", identity=(os.path.join(server.data_dir, "admin.crt"), os.path.join(server.data_dir, "admin.key")))[0] == 200
    except OSError:
        return False


@story.chapter
def webhook_for_kubernetes():
    """Cardea answers the token reviews of a kube-apiserver: recorded ones, and those of a real one if there is one."""
    with Cardea("--authorization-mode=AlwaysAllow") as server:
        tokens = os.path.join(server.folder, "tokens.csv")
        replace(tokens, 'secret-of-jane,jane,u7,"dev,ops"\n')
        server.flags += ["--token-auth-file", tokens, "--api-audiences=https://kubernetes.default.svc"]
        server.stop()
        server.start()
        for token, known in (("secret-of-jane", True), ("wrong", False)):
            status, headers, review = server.request("POST", REVIEWS + "?timeout=30s", RECORDED % (token, "https://kubernetes.default.svc"),
                                                     {"Content-Type": "application/json", "Accept": "application/json, */*",
                                                      "User-Agent": "Go-http-client/1.1"})
            expect(status == 201 and review["kind"] == "TokenReview" and review["apiVersion"] == "authentication.k8s.io/v1", review)
            expect(review["status"].get("authenticated", False) == known, review)
            if known:
                expect(review["status"]["user"] == {"username": "jane", "uid": "u7", "groups": ["dev", "ops", "system:authenticated"]}, review)
                expect(review["status"]["audiences"] == ["https://kubernetes.default.svc"], review)
        peers = os.environ.get("CARDEA_PEERS")
        if not peers or not os.path.exists(os.path.join(peers, "kube-apiserver")):
            print("skipped: no kube-apiserver to be a webhook for ($CARDEA_PEERS)")
            return
        real_webhook(server, peers)


def real_webhook(server, peers):
    folder = server.folder
    config = os.path.join(folder, "webhook.kubeconfig")
    replace(config, text_of(server.kubeconfig).replace(server.base, server.base + REVIEWS))
    port, client, peer = free_port(), free_port(), free_port()
    openssl("genrsa", "-out", os.path.join(folder, "sa.key"), "2048")
    with contextlib.ExitStack() as running:
        def start(*command):
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
            running.callback(process.wait)
            running.callback(process.kill)

        start(os.path.join(peers, "etcd"), "--data-dir", "etcd", "--listen-client-urls", f"http://127.0.0.1:{client}", "--advertise-client-urls",
              f"http://127.0.0.1:{client}", "--listen-peer-urls", f"http://127.0.0.1:{peer}", "--initial-advertise-peer-urls",
              f"http://127.0.0.1:{peer}", "--initial-cluster", f"default=http://127.0.0.1:{peer}")
        start(os.path.join(peers, "kube-apiserver"), f"--etcd-servers=http://127.0.0.1:{client}", "--cert-dir=certs", "--bind-address=127.0.0.1",
              f"--secure-port={port}", "--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=sa.key",
              "--service-account-signing-key-file=sa.key", "--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/24",
              f"--authentication-token-webhook-config-file={config}", "--authentication-token-webhook-version=v1")

        def who(token):
            connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=ssl._create_unverified_context())
            try:
                return exchange(connection, "POST", WHO, {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"}, bearer(token))
            except (OSError, http.client.HTTPException):
                return 0, None, None
            finally:
                connection.close()

        answer = eventually("kube-apiserver knows jane through Cardea", lambda: (lambda a: a if a[0] == 201 else None)(who("secret-of-jane")), 120)
        expect(answer[2]["status"]["userInfo"]["username"] == "jane", answer[2])
        expect(who("wrong")[0] == 401, "kube-apiserver accepts what Cardea does not know")


@story.chapter
def cardea_behind_a_webhook():
    """The other direction: one Cardea asks another which user a token belongs to."""
    with Cardea("--authorization-mode=AlwaysAllow") as knows:
        tokens = os.path.join(knows.folder, "tokens.csv")
        replace(tokens, "secret-of-jane,jane,u7,dev\n")
        knows.flags += ["--token-auth-file", tokens, "--api-audiences=both"]
        knows.stop()
        knows.start()
        config = os.path.join(knows.folder, "webhook.kubeconfig")
        replace(config, text_of(knows.kubeconfig).replace(knows.base, knows.base + REVIEWS))
        with Cardea("--authorization-mode=AlwaysAllow", "--api-audiences=both", "--authentication-token-webhook-config-file", config,
                    "--authentication-token-webhook-version=v1") as asks:
            who = must(call(asks, "POST", WHO, {}, bearer("secret-of-jane")), 201, "a token that the other knows")
            expect(who["status"]["userInfo"]["username"] == "jane", who)
            must(call(asks, "POST", WHO, {}, bearer("wrong")), 401, "a token that nobody knows")
            knows.stop()
            must(call(asks, "POST", WHO, {}, bearer("secret-of-jane")), 201, "a token that is remembered")
            must(call(asks, "POST", WHO, {}, bearer("new")), 401, "a token while the webhook is away")


@story.chapter
def keys_and_limits():
    """An own signing key, rotated; issuers and lifetimes by flags."""
    with Cardea() as server:
        old, new = os.path.join(server.folder, "old.key"), os.path.join(server.folder, "new.key")
        openssl("genrsa", "-out", old, "2048")
        openssl("ecparam", "-genkey", "-name", "secp384r1", "-noout", "-out", new)
        openssl("rsa", "-in", old, "-pubout", "-out", old + ".pub")

        def again(*flags):
            server.flags = ["--authorization-mode=AlwaysAllow", *flags]
            server.stop()
            server.start()

        again("--service-account-signing-key-file", old, "--service-account-issuer=https://first")
        make_account(server)
        first = token_for(server, {"expirationSeconds": 7200})
        must(call(server, "GET", "/api", headers=bearer(first)), 200, "a token by the old key")
        again("--service-account-signing-key-file", new, "--service-account-key-file", old + ".pub", "--service-account-issuer=https://second",
              "--service-account-issuer=https://first", "--service-account-max-token-expiration=1h", "--api-audiences=https://first,api")
        must(call(server, "GET", "/api", headers=bearer(first)), 200, "a token by the old key, after the new one came")
        status, headers, body = server.request("POST", "/api/v1/namespaces/shop/serviceaccounts/till/token", {"spec": {"expirationSeconds": 7200}})
        expect("shortened to 3600 seconds" in headers.get("Warning", ""), f"no warning: {headers}")
        said = claims(body["status"]["token"])
        expect(said["exp"] - said["iat"] == 3600 and said["iss"] == "https://second" and said["aud"] == ["https://first", "api"], said)
        must(call(server, "GET", "/api", headers=bearer(body["status"]["token"])), 200, "a token by the new key")
        keys = must(server.request("GET", "/openid/v1/jwks"), 200, "the keys")["keys"]
        expect(sorted(k["alg"] for k in keys) == ["ES384", "RS256"], keys)
        again("--service-account-signing-key-file", new, "--service-account-issuer=https://second", "--service-account-issuer=https://first",
              "--api-audiences=https://first,api")
        must(call(server, "GET", "/api", headers=bearer(first)), 401, "a token by a key that was dropped")
        config = must(server.request("GET", "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"), 200, "the CAs")
        expect(config["data"]["client-ca-file"] == text_of(os.path.join(server.data_dir, "ca.crt")), config)


@story.chapter
def issuer_for_another():
    """One server trusts the service accounts of another through its discovery document and keys, as it would trust a cluster's."""
    with Cardea() as issuer:
        issuer.flags = [f"--service-account-issuer={issuer.base}"]
        issuer.stop()
        issuer.start()
        make_account(issuer)
        must(issuer.request("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
            "metadata": {"name": "discovery"}, "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:unauthenticated"}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:service-account-issuer-discovery"}}), 201, "discovery for everybody")
        config = os.path.join(issuer.folder, "authentication.json")
        with open(config, "w") as file:
            json.dump({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration", "jwt": [{
                "issuer": {"url": issuer.base, "audiences": ["elsewhere"], "certificateAuthority": text_of(os.path.join(issuer.data_dir, "ca.crt"))},
                "claimMappings": {"username": {"claim": "sub", "prefix": "abroad:"}}}]}, file)
        with Cardea("--authentication-config", config) as server:
            token = token_for(issuer, {"audiences": ["elsewhere"]})
            who = must(call(server, "POST", WHO, {}, bearer(token)), 201, "a token of the other server")["status"]["userInfo"]
            expect(who["username"] == "abroad:system:serviceaccount:shop:till", who)
            must(call(server, "POST", WHO, {}, bearer(token_for(issuer, {}))), 401, "a token for the issuer itself")


if __name__ == "__main__":
    story.main()
