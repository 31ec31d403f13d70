"""The page under /ui/: its files over HTTP, and each of its stories in a headless Chromium (browser/ui.mjs).
The sign-in at an issuer is set up as docs/ui.md says.

    ui.py --packages=FOLDER     where the npm packages go (below the build folder); kept for the next run
    ui.py --images=FOLDER       keeps pictures of the page there: docs/images has those of the documents
    ui.py --page=FOLDER         the browser takes the files of the page from there (`ui`), so that a change needs no build
    ui.py --spaces=N --bindings=N a_large_cluster       how large
"""
import json
import os
import re
import shutil
import ssl
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPSConnection
from pathlib import Path

import npm
from issuers import Issuers
from server import Cardea, exchange, expect, skip
from story import Story

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(__file__).resolve().parent / "browser"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
DECISIONS = "/apis/access.cardea.dev/v1alpha1/decisions"
POLICIES = "/apis/access.cardea.dev/v1alpha1/clusteraccesspolicies"
MARKUP = "<img src=x onerror=struck=1>"
story = Story("ui", options={"packages": str(ROOT / "build" / "browser"), "images": "", "page": "", "spaces": "2500", "bindings": "2500"})


def subject(kind, name):
    return {"kind": kind, "name": name, "apiGroup": "rbac.authorization.k8s.io"}


def reference(kind, name):
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}


def rule(verbs, groups, resources):
    return {"verbs": verbs, "apiGroups": groups, "resources": resources}


def furnish(server):
    """What the stories look at: roles, a policy, and names that are markup."""
    def create(path, document):
        status, _, body = server.request("POST", path, document)
        expect(status == 201, f"POST {path}: {status} {body}")
    create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    shop = f"{RBAC}/namespaces/shop"
    create(f"{shop}/roles", {"metadata": {"name": "cleaner"}, "rules": [
        rule(["get", "list", "delete"], [""], ["pods"]), rule(["get"], [""], ["pods"]), rule(["get"], ["nowhere.example.com"], ["things"])]})
    create(f"{shop}/rolebindings", {"metadata": {"name": "cleaners"}, "roleRef": reference("Role", "cleaner"),
                                    "subjects": [subject("User", "jane"), subject("Group", "night-shift")]})
    create(f"{shop}/roles", {"metadata": {"name": MARKUP}, "rules": [rule(["get"], [""], ["configmaps"])]})
    create(f"{shop}/rolebindings", {"metadata": {"name": MARKUP}, "roleRef": reference("Role", MARKUP), "subjects": [subject("User", MARKUP)]})
    create(f"{RBAC}/clusterroles", {"metadata": {"name": "lonely"}, "rules": [rule(["get"], [""], ["nodes"])]})
    create(f"{RBAC}/clusterrolebindings", {"metadata": {"name": "dangling"}, "roleRef": reference("ClusterRole", "gone"), "subjects": [subject("User", "jane")]})
    create(f"{RBAC}/clusterrolebindings", {"metadata": {"name": "dev-view"}, "roleRef": reference("ClusterRole", "view"), "subjects": [subject("Group", "dev")]})
    create(POLICIES, {"metadata": {"name": "dev-volumes"}, "spec": {
        "effect": "Allow", "description": "volumes of class dev only", "subjects": [{"kind": "User", "name": "jane"}],
        "rules": [rule(["create", "update", "patch"], [""], ["persistentvolumes"])],
        "expression": "request.userInfo.username.startsWith('j') && object.spec.storageClassName == 'dev'"}})
    documents = "/apis/authorization.openshift.io/v1beta3/namespaces/shop"
    create(f"{documents}/policies", {"kind": "Policy"})
    create(f"{documents}/policybindings", {"kind": "PolicyBinding", "policyRef": {"namespace": "shop"}})
    create(f"{documents}/roles", {"kind": "Role", "metadata": {"name": "careful"}, "rules": [
        {"verbs": ["get", "delete"], "resourceKinds": ["pods"]},
        {"deny": True, "verbs": ["delete"], "resourceKinds": ["pods"], "attributeRestrictions": {"labelsContain": ["protected"]}, "description": MARKUP}]})
    create(f"{documents}/rolebindings", {"kind": "RoleBinding", "metadata": {"name": "careful"}, "roleRef": {"namespace": "shop", "name": "careful"},
                                         "userNames": ["edgar", MARKUP], "groupNames": ["editors"]})
    create(POLICIES, {"metadata": {"name": "keep-protected"}, "spec": {
        "effect": "Deny", "description": "what is protected is not deleted", "subjects": [{"kind": "Group", "name": "night-shift"}],
        "rules": [rule(["delete"], [""], ["pods"])], "expression": "oldObject != null && 'protected' in oldObject.metadata.?labels.orValue({})"}})
    create(POLICIES, {"metadata": {"name": "markup"}, "spec": {
        "effect": "Deny", "description": MARKUP, "subjects": [{"kind": "User", "name": MARKUP}],
        "rules": [rule(["delete"], [""], ["configmaps"])], "expression": f"oldObject != null && oldObject.metadata.name != '{MARKUP}'"}})


@story.shared
def server():
    tokens = ROOT / "build" / "ui-tokens.csv"
    tokens.parent.mkdir(exist_ok=True)
    tokens.write_text('admin-token,ada,1,"system:masters"\njane-token,jane,2,"dev"\n'
                      f'markup-token,{MARKUP},3,"{MARKUP},system:masters"\n')
    with Cardea("--ui", f"--token-auth-file={tokens}") as server:
        furnish(server)
        yield server


def stranger(server, method, path, headers=None):
    """A request without any credentials; the path is sent as it is."""
    context = ssl.create_default_context(cafile=os.path.join(server.data_dir, "ca.crt"))
    connection = HTTPSConnection("127.0.0.1", server.port, timeout=60, context=context)
    try:
        return exchange(connection, method, path, None, headers)
    finally:
        connection.close()


@story.chapter
def anybody_gets_the_files_and_nothing_else(server):
    status, headers, body = stranger(server, "GET", "/ui/")
    expect(status == 200 and b"<title>Cardea</title>" in body, f"{status} {body[:200]}")
    policy = headers["Content-Security-Policy"]
    for part in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "trusted-types 'none'"):
        expect(part in policy, f"{part} is not in {policy}")
    expect("unsafe" not in policy and headers["X-Content-Type-Options"] == "nosniff", "the headers are too weak")
    for file in sorted((ROOT / "ui").iterdir()):
        status, headers, body = stranger(server, "GET", f"/ui/{file.name}")
        expect(status == 200 and body == file.read_bytes(), f"{file.name}: {status}")
        status, again, body = stranger(server, "GET", f"/ui/{file.name}", {"If-None-Match": headers["ETag"]})
        expect(status == 304 and body == b"" and again["ETag"] == headers["ETag"], f"{file.name} is sent again: {status}")
    status, headers, body = stranger(server, "HEAD", "/ui/app.js")
    expect(status == 200 and body == b"", "HEAD has a body")
    status, headers, _ = stranger(server, "GET", "/ui")
    expect(status == 301 and headers["Location"] == "/ui/", f"{status} {headers['Location']}")
    for path in ("/ui/../api/v1/secrets", "/ui/%2e%2e/api/v1/secrets", "/ui/..%2f..%2fetc/passwd", "/ui//app.js", "/ui/nothing"):
        expect(stranger(server, "GET", path)[0] == 404, f"{path} is served")
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        expect(stranger(server, method, "/ui/")[0] == 405, f"{method} is served")
    expect(stranger(server, "GET", "/api/v1/secrets")[0] in (401, 403), "secrets are for everybody")


@story.chapter
def no_file_asks_for_markup_or_for_others():
    for file in sorted((ROOT / "ui").iterdir()):
        text = file.read_text()
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "localStorage", "sessionStorage", "document.cookie"):
            expect(word not in text, f"{file.name} has {word}")
        links = re.findall(r"\w+://[^\s\"'<>`]*", text)
        expect(all(link == "http://www.w3.org/2000/svg" for link in links), f"{file.name} names {links}")


@story.chapter
def the_functions_that_need_no_browser():
    if not shutil.which("node"):
        skip("no node: the functions of the page are not tried")
    folder = Path(story.options["packages"]).resolve() / "page"
    shutil.copytree(ROOT / "ui", folder, dirs_exist_ok=True)
    (folder / "package.json").write_text('{"type": "module"}')  # what a browser knows by the word `module`
    run = subprocess.run(["node", str(SOURCE / "functions.mjs"), str(folder)], timeout=120)
    expect(run.returncode == 0, f"functions.mjs ended with status {run.returncode}")


@story.chapter
def a_server_without_the_flag_has_no_page():
    with Cardea() as plain:
        status, _, body = stranger(plain, "GET", "/ui/")
        expect(status in (401, 403, 404), f"{status} {body}")


@story.shared
def browser(server):
    chromium = shutil.which("chromium")
    if not chromium:
        skip("no chromium: the page is not tried in a browser")
    folder = Path(story.options["packages"]).resolve()
    npm.install(folder, "ui.mjs", SOURCE)
    images = story.options["images"]
    if images:
        Path(images).mkdir(parents=True, exist_ok=True)

    def play(chapter, **more):
        settings = {"CARDEA_BASE": server.base, "CARDEA_ADMIN": "admin-token", "CARDEA_JANE": "jane-token", "CARDEA_MARKUP": "markup-token", "CARDEA_CHROMIUM": chromium,
                    "CARDEA_IMAGES": str(Path(images).resolve()) if images else "",
                    "CARDEA_PAGE": str(Path(story.options["page"]).resolve()) if story.options["page"] else "", **more}
        run = subprocess.run(["node", "ui.mjs", chapter], cwd=folder, env={**os.environ, **settings}, timeout=600)
        expect(run.returncode == 0, f"{chapter} ended with status {run.returncode}")
    return play


CHAPTERS = ["signing_in", "me", "may", "who", "grants", "expressions", "change", "change_of_policy_documents", "happened", "names_that_are_markup", "few_permissions", "an_old_server",
            "a_lost_connection", "ten_megabytes_of_yaml", "the_keyboard_alone", "for_everybody"]
for name in CHAPTERS:
    story.add(name, lambda browser, name=name: browser(name))


@contextmanager
def with_an_issuer(packages, **provider):
    """A server whose page offers an OpenID provider, which knows the public client `cardea-ui`."""
    with Issuers(packages) as issuers, tempfile.TemporaryDirectory() as folder:
        issuers.start("provider")  # the server looks for it at once; the client is added when its address is known
        config = Path(folder) / "authentication.json"
        config.write_text(json.dumps({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration", "jwt": [
            {"issuer": {"url": issuers.urls["provider"], "audiences": ["cardea-ui"], "certificateAuthority": issuers.ca},
             "claimMappings": {"username": {"claim": "sub", "prefix": "oidc:"}, "groups": {"claim": "groups", "prefix": "oidc:"}}}]}))
        with Cardea("--ui", f"--authentication-config={config}", "--ui-oidc-client-id=cardea-ui", "--ui-oidc-extra-scope=profile") as server:
            issuers.tell("start", site="provider", redirect=f"{server.base}/ui/", **provider)
            yield server, issuers.urls["provider"]


@story.chapter
def signing_in_at_an_issuer(browser):
    with with_an_issuer(npm.FOLDER) as (server, issuer):
        status, headers, body = stranger(server, "GET", "/ui/sign-in.json")
        expect(status == 200 and (json.loads(body) if isinstance(body, bytes) else body) == {"issuers": [{"issuer": issuer, "clientId": "cardea-ui", "scopes": ["openid", "profile"]}]}, f"{status} {body}")
        policy = stranger(server, "GET", "/ui/")[1]["Content-Security-Policy"]
        expect(f"connect-src 'self' {issuer};" in policy, policy)
        browser("at_an_issuer", CARDEA_BASE=server.base, CARDEA_ISSUER=issuer)


@story.chapter
def an_issuer_without_cors(browser):
    with with_an_issuer(npm.FOLDER, cors=False) as (server, issuer):
        browser("at_an_issuer_without_cors", CARDEA_BASE=server.base, CARDEA_ISSUER=issuer)


@story.chapter
def clients_that_no_issuer_knows():
    with Cardea("--ui", "--ui-oidc-client-id=nobody") as server:
        body = stranger(server, "GET", "/ui/sign-in.json")[2]
        expect((json.loads(body) if isinstance(body, bytes) else body) == {"issuers": []}, f"{body}")
        expect("connect-src 'self';" in stranger(server, "GET", "/ui/")[1]["Content-Security-Policy"], "others can be reached")
        expect("nobody can sign in to the page" in Path(server.log_path).read_text(), "nobody is warned")


@story.chapter
def a_server_that_keeps_no_decisions(server, browser):
    with Cardea("--ui", f"--token-auth-file={ROOT / 'build' / 'ui-tokens.csv'}", "--decision-history=0") as other:
        expect(other.request("GET", DECISIONS)[0] == 404, "decisions are served")
        browser("no_decisions", CARDEA_BASE=other.base)


@story.chapter
def a_large_cluster(server, browser):
    spaces, bindings = int(story.options["spaces"]), int(story.options["bindings"])

    def some(numbers):
        connection = server.connect()
        for i in numbers:
            if i < spaces:
                exchange(connection, "POST", "/api/v1/namespaces", {"metadata": {"name": f"space-{i:05}"}})
            exchange(connection, "POST", f"{RBAC}/clusterrolebindings", {"metadata": {"name": f"many-{i:05}"}, "roleRef": reference("ClusterRole", "many"),
                                                                        "subjects": [subject("User", f"user-{i:05}")]})
        connection.close()
    server.request("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "many"}, "rules": [rule(["get"], [""], ["pods"])]})
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(some, [range(k, bindings, 4) for k in range(4)]))
    browser("a_large_cluster", CARDEA_MANY=str(bindings))


if __name__ == "__main__":
    story.main()
