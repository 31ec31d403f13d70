"""The commands that ask a server or check files: whoami, who-can, explain, matrix, authn, config, completion.

They share flags, exit statuses (0 yes, 1 no, 2 cannot tell, 3 yes if) and forms of output.
"""
import base64
import json
import os
import re
import subprocess
import tempfile
import time

from server import Cardea, binary, expect
from story import Story

story = Story("one_tool")

USERS = """token-jane,jane,1,"dev"
token-eve,eve,2
"""
POLICY = {"apiVersion": "access.cardea.dev/v1alpha1", "kind": "ClusterAccessPolicy", "metadata": {"name": "dev-volumes"},
          "spec": {"effect": "Allow", "subjects": [{"kind": "User", "name": "jane"}],
                   "rules": [{"apiGroups": [""], "resources": ["persistentvolumes"], "verbs": ["create"]}],
                   "expression": "object.spec.storageClassName == 'dev'"}}


class World:
    def __init__(self, server, folder):
        self.server, self.folder = server, folder

    def run(self, *words, token=None, stdin=None, context=None):
        """Exit status, standard output, standard error."""
        config = self.server.kubeconfig if token is None else self.kubeconfig(token)
        more = [] if words[0] in ("authn", "config", "completion") else ["--kubeconfig", config]
        done = subprocess.run([binary(), *words, *more], capture_output=True, text=True, timeout=60, input=stdin)
        return done.returncode, done.stdout, done.stderr

    def kubeconfig(self, token, namespace="shop"):
        path = os.path.join(self.folder, f"{token}.kubeconfig")
        with open(path, "w") as file:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                       "clusters": [{"name": "k", "cluster": {"server": self.server.base, "certificate-authority": os.path.join(self.server.data_dir, "ca.crt")}}],
                       "users": [{"name": "u", "user": {"token": token}}],
                       "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u", "namespace": namespace}}]}, file)
        return path

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text if isinstance(text, str) else json.dumps(text))
        return path

    def create(self, path, body):
        status, _, said = self.server.request("POST", path, body)
        expect(status == 201, f"{path}: {status} {said}")


@story.shared
def w():
    with tempfile.TemporaryDirectory() as folder:
        users = os.path.join(folder, "users.csv")
        with open(users, "w") as file:
            file.write(USERS)
        with Cardea("--token-auth-file", users, "--feature-gates=ConditionalAuthorization=true") as server:
            world = World(server, folder)
            world.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
            rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/shop"
            world.create(f"{rbac}/roles", {"metadata": {"name": "cleaner"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["delete", "list"]}]})
            world.create(f"{rbac}/rolebindings", {"metadata": {"name": "jane"}, "subjects": [{"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}],
                                                  "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "cleaner"}})
            world.create("/apis/access.cardea.dev/v1alpha1/clusteraccesspolicies", POLICY)
            yield world


@story.chapter
def whoami(w):
    code, out, err = w.run("whoami", token="token-jane")
    expect(code == 0 and "Username   jane" in out and "dev, system:authenticated" in out, f"{code} {out} {err}")
    code, out, _ = w.run("whoami", "-o", "json", "--as", "robot", "--as-group", "g", "--as-uid", "7", "--as-user-extra", "example.com/a b=c")
    user = json.loads(out)
    expect(code == 0 and user["username"] == "robot" and user["uid"] == "7" and "g" in user["groups"] and user["extra"] == {"example.com/a b": ["c"]}, user)
    code, _, err = w.run("whoami", "--as-group", "g")
    expect(code == 2 and "`--as-group` needs `--as`" in err, err)
    code, _, err = w.run("whoami", token="token-nobody")
    expect(code == 2 and "401" in err and err.count("\n") == 1, err)


@story.chapter
def can_i_uses_the_namespace_of_the_context(w):
    expect(w.run("can-i", "delete", "pods", token="token-jane")[0] == 0, "the namespace of the context counts")
    expect(w.run("can-i", "delete", "pods", "-n", "default", token="token-jane")[0] == 1, "-n wins")
    expect(w.run("can-i", "delete", "pods", "-A", token="token-jane")[0] == 1, "-A asks about all namespaces")
    code, out, _ = w.run("can-i", "delete", "pods", "-o", "json", token="token-jane")
    expect(code == 0 and json.loads(out)["allowed"] is True, out)
    code, out, _ = w.run("can-i", "create", "persistentvolumes", "-o", "yaml", token="token-jane")
    expect(code == 3 and "conditionsChain:" in out, f"{code} {out}")


@story.chapter
def can_i_asks_about_virtual_resources(w):
    code, out, err = w.run("can-i", "impersonate:user-info", "users.authentication.k8s.io", "jane")
    expect(code == 0 and out == "yes\n" and "no resource `users.authentication.k8s.io`" in err, f"{code} {out} {err}")
    expect(w.run("can-i", "impersonate", "users", "jane", token="token-eve")[0] == 1, "eve may not")


@story.chapter
def who_can(w):
    code, out, err = w.run("who-can", "delete", "pods", "-n", "shop")
    expect(code == 0 and "RoleBinding shop/jane, Role shop/cleaner" in out and "system:masters" in out, f"{code} {out} {err}")
    code, out, _ = w.run("who-can", "delete", "pods", "-n", "shop", "-o", "json")
    expect(any(s["name"] == "jane" for s in json.loads(out)["subjects"]), out)
    code, out, err = w.run("who-can", "delete", "pods", token="token-eve")
    expect(code == 2 and out == "" and "403" in err, f"who may not ask is told so: {code} {out} {err}")


@story.chapter
def explain(w):
    code, out, err = w.run("explain", "delete", "pods", "-n", "shop", "--as", "jane")
    expect(code == 0 and out.startswith("yes\n") and "rbac (RBAC): yes" in out and "cleaner" in out, f"{code} {out} {err}")
    code, out, _ = w.run("explain", "create", "persistentvolumes", "--as", "jane")
    expect(code == 3 and out.startswith("yes, if\n") and 'allowed if object.spec.storageClassName == "dev"' in out, f"{code} {out}")
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": {"storageClassName": "prod"}}
    code, out, _ = w.run("explain", "create", "persistentvolumes", "--as", "jane", "-f", w.file("prod.yaml", volume))
    expect(code == 1 and out.startswith("no\n") and "for this object: no opinion" in out, f"{code} {out}")
    volume["spec"]["storageClassName"] = "dev"
    expect(w.run("explain", "create", "persistentvolumes", "--as", "jane", "-f", "-", stdin=json.dumps(volume))[0] == 0, "class dev is allowed")
    code, _, err = w.run("explain", "create", "persistentvolumes", "-f", w.file("broken.yaml", "a: ["))
    expect(code == 2 and "broken.yaml" in err, err)
    code, _, err = w.run("explain", "get", "pods", token="token-eve")
    expect(code == 2 and "403" in err, f"who may not ask is told so: {code} {err}")


@story.chapter
def impersonation_is_planned(w):
    """The example of docs/impersonation.md, with the answer that the page shows."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "impersonation.md"), encoding="utf-8") as page:
        text = page.read()
    for document in re.search(r"```yaml\n(.*?)```", text, re.S)[1].split("---\n"):
        kind = re.search(r"kind: (\w+)", document)[1]
        namespace = "namespaces/default/" if kind.startswith("Role") else ""
        status, _, said = w.server.request("POST", f"/apis/rbac.authorization.k8s.io/v1/{namespace}{kind.lower()}s", document, {"Content-Type": "application/yaml"})
        expect(status == 201, f"{kind}: {status} {said}")
    command = re.search(r"`cardea (explain [^`]* --impersonation [^`]*)`", text)[1]
    code, out, err = w.run(*command.split())
    expect(code == 1 and f"```\n{out}```" in text, f"{code} {out} {err}")
    code, out, _ = w.run("explain", "list", "pods", "-n", "default", "--as", "jane", "--impersonation", "--sender", "carol")
    expect(code == 0 and out.startswith("yes, in the mode user-info\n"), f"{code} {out}")
    code, out, _ = w.run("explain", "list", "pods", "--as", "jane", "--impersonation", "-o", "json")
    expect(code == 0 and json.loads(out)["allowed"], out)
    expect(w.run("explain", "list", "pods", "--impersonation")[0] == 2, "somebody must be impersonated")


@story.chapter
def matrix(w):
    code, out, err = w.run("matrix", "-n", "shop", "--as", "jane", "--verbs", "list,create,delete")
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines()}
    expect(code == 0 and rows["NAME"] == ["LIST", "CREATE", "DELETE"], f"{code} {out} {err}")
    expect(rows["pods"] == ["yes", "no", "yes"] and rows["persistentvolumes"] == ["no", "if", "no"] and "secrets" not in rows, rows)
    own = w.run("matrix", "--verbs", "list,create,delete", token="token-jane")
    expect(own[0] == 0 and own[1] == out, f"jane sees the same of herself, question by question: {own}")
    code, out, _ = w.run("matrix", "--all-resources", "-A", "-o", "json", "--as", "eve")
    expect(code == 0 and json.loads(out)["secrets"]["list"] == "no", out)


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def signed_token(folder, claims):
    """A token and the key set of its signer, made with openssl."""
    key = os.path.join(folder, "rsa.key")
    if not os.path.exists(key):
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
    modulus = subprocess.run(["openssl", "rsa", "-in", key, "-noout", "-modulus"], check=True, capture_output=True, text=True).stdout.strip().split("=")[1]
    jwks = {"keys": [{"kty": "RSA", "kid": "k1", "alg": "RS256", "use": "sig", "e": "AQAB", "n": b64(bytes.fromhex(modulus))}]}
    content = f'{b64(json.dumps({"alg": "RS256", "kid": "k1"}).encode())}.{b64(json.dumps(claims).encode())}'
    signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", key], input=content.encode(), check=True, capture_output=True).stdout
    return f"{content}.{b64(signature)}", jwks


AUTHENTICATION = """apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
- issuer:
    url: https://issuer.example
    audiences: [cardea]
  claimValidationRules:
  - expression: claims.hd == 'example.com'
    message: only people of example.com
  claimMappings:
    username: {claim: sub, prefix: "oidc:"}
    groups: {expression: claims.roles}
"""


@story.chapter
def authn(w):
    config = w.file("authn.yaml", AUTHENTICATION)
    claims = {"iss": "https://issuer.example", "aud": "cardea", "sub": "jane", "hd": "example.com", "roles": ["a", "b"], "exp": int(time.time()) + 600}
    token, jwks = signed_token(w.folder, claims)
    keys = w.file("keys.json", jwks)
    code, out, err = w.run("authn", "test", "--config", config, "--jwks", keys, stdin=token + "\n")
    expect(code == 0 and "oidc:jane (from the claim `sub` with the prefix `oidc:`)" in out and "a, b (from the expression `claims.roles`)" in out and "accepted" in out, f"{code} {out} {err}")
    expect(token not in out + err, "the token is printed")
    token, _ = signed_token(w.folder, {**claims, "hd": "other"})
    code, out, _ = w.run("authn", "test", "--config", config, "--jwks", keys, "--token", token, "-o", "json")
    expect(code == 1 and "only people of example.com" in json.loads(out)["result"], out)
    for change, why in (({"aud": "x"}, "audience"), ({"exp": 1}, "expired"), ({"iss": "https://x"}, "no issuer of the configuration")):
        token, _ = signed_token(w.folder, {**claims, **change})
        code, out, _ = w.run("authn", "test", "--config", config, "--jwks", keys, "--token", token)
        expect(code == 1 and why in out, f"{change}: {code} {out}")
    token, _ = signed_token(w.folder, claims)
    head, body, signature = token.split(".")
    forged = f"{head}.{b64(json.dumps({**claims, 'sub': 'root'}).encode())}.{signature}"
    code, out, _ = w.run("authn", "test", "--config", config, "--jwks", keys, "--token", forged)
    expect(code == 1 and "none of the issuer's 1 keys made the signature" in out, f"a forged token: {code} {out}")
    expect(w.run("authn", "test", "--config", config, "--jwks", keys, "--token", "nonsense")[0] == 1, "nonsense is refused")
    expect(w.run("authn", "test", "--config", w.file("empty.json", "{"), "--token", token)[0] == 2, "a broken file")
    code, out, _ = w.run("authn", "explain", "--config", config)
    expect(code == 0 and "tokens of https://issuer.example" in out and "only people of example.com" in out, out)


@story.chapter
def config_validate(w):
    good = w.file("good.yaml", AUTHENTICATION)
    audit = w.file("audit.yaml", "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Metadata\n- level: Sometimes\n")
    bad = w.file("bad.yaml", AUTHENTICATION.replace("url: https://issuer.example", "url: http://issuer.example"))
    authz = w.file("authz.yaml", "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:\n- {type: Access, name: access}\n- {type: Magic, name: magic}\n")
    code, out, err = w.run("config", "validate", good)
    expect((code, out, err) == (0, "", ""), f"{code} {out} {err}")
    code, out, _ = w.run("config", "validate", good, audit, bad, authz)
    lines = out.splitlines()
    expect(code == 1 and len(lines) == 3, out)
    expect(lines[0].startswith(f"{audit}:5: rules[1].level: ") and lines[1].startswith(f"{bad}:5: jwt[0].issuer.url: ") and lines[2].startswith(f"{authz}:5: "), out)
    code, out, _ = w.run("config", "validate", w.file("other.yaml", "apiVersion: v1\nkind: Pod\n"))
    expect(code == 1 and ":2: `Pod` of `v1` is not a configuration" in out, out)
    code, _, err = w.run("config", "validate", os.path.join(w.folder, "absent"))
    expect(code == 2 and "absent" in err, err)


@story.chapter
def completion(w):
    """bash itself completes, with the printed script."""
    script = f"""
PATH={os.path.dirname(binary())}:$PATH
source <(cardea completion bash)
COMP_WORDS=(cardea can-i get pods --names); COMP_CWORD=4; _cardea
echo "${{COMPREPLY[@]}}"
COMP_WORDS=(cardea who); COMP_CWORD=1; _cardea
echo "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
    expect(done.stdout == "--namespace\nwho-can whoami\n", f"{done.stdout} {done.stderr}")


@story.chapter
def as_a_plugin_of_kubectl(w):
    link = os.path.join(w.folder, "kubectl-cardea")
    os.symlink(binary(), link)
    done = subprocess.run([link, "whoami", "--kubeconfig", w.server.kubeconfig], capture_output=True, text=True, timeout=60)
    expect(done.returncode == 0 and "Username" in done.stdout, f"{done.stdout} {done.stderr}")


if __name__ == "__main__":
    story.main()
