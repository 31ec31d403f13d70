"""The server's own log: one line per event, in text or JSON, and no secrets in it."""
import http.client
import json
import os
import re
import ssl
import subprocess
import tempfile

from server import Cardea, binary, eventually, expect
from story import Story

story = Story("log")

TOKEN = "sesame-opens-the-door"
SECRETS = (TOKEN, "wrong-guess-of-a-token", "token-in-the-query", "cGFzc3dvcmQtb2YtdGhlLWRhdGFiYXNl", "password-in-plain-text")
TEXT = re.compile(r'^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z (error|warning|info|debug) \S.*$')


@story.shared
def folder():
    with tempfile.TemporaryDirectory() as folder:
        yield folder


@story.shared
def users(folder):
    path = os.path.join(folder, "users.csv")
    with open(path, "w") as file:
        file.write(f'{TOKEN},jane,1,"system:masters"\n')
    yield path


def send(server, method, path, token, body=None):
    """With a token instead of a certificate."""
    context = ssl.create_default_context(cafile=os.path.join(server.data_dir, "ca.crt"))
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=30, context=context)
    try:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection.request(method, path, body=json.dumps(body) if body else None, headers=headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def use(server):
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"},
              "data": {"password": "cGFzc3dvcmQtb2YtdGhlLWRhdGFiYXNl"}, "stringData": {"plain": "password-in-plain-text"}}
    secrets = "/api/v1/namespaces/default/secrets"
    expect(send(server, "POST", f"{secrets}?fieldManager=story", TOKEN, secret) == 201, "the secret is not created")
    expect(send(server, "GET", f"{secrets}/db?token=token-in-the-query&access_token=token-in-the-query", TOKEN) == 200, "the secret is not read")
    expect(send(server, "GET", secrets, "wrong-guess-of-a-token") == 401, "a wrong token is accepted")
    expect(send(server, "POST", secrets, TOKEN, {**secret, "metadata": {"name": "Not A Name"}}) == 422, "a bad name is accepted")
    expect(send(server, "GET", "/api/v1/namespaces/default/pods/a%0Ab%0A2026-01-01T00:00:00.000000Z%20error%20forged", TOKEN) in (400, 404), "a path with line ends")


def lines_of(server, said):
    def read():
        with open(server.log_path, encoding="utf-8") as log:
            return log.read()
    eventually(f"the log says {said}", lambda: said in read())
    text = read()
    for secret in SECRETS:
        expect(secret not in text, f"a secret is in the log: {secret}")
    return text.splitlines()


@story.chapter
def as_text(users):
    with Cardea("--v=9", f"--token-auth-file={users}") as server:
        use(server)
        lines = lines_of(server, "forged")
        for line in lines:
            expect(TEXT.match(line), f"no line of the log: {line!r}")
        expect(any(f" info ready on https://127.0.0.1:{server.port}" in line for line in lines), "the log does not say that the server is ready")
        expect(any(" warning unable to authenticate the request" in line for line in lines), "the log does not say that a token was refused")
        expect(any('debug request method="POST" path="/api/v1/namespaces/default/secrets" status="201" user="jane"' in line for line in lines), "the request is not in the log")
        expect(not any(line.startswith("2026-01-01T00:00:00.000000Z") for line in lines), "a client wrote a line of the log")


@story.chapter
def as_json(users):
    with Cardea("-v", "4", "--log-format=json", f"--token-auth-file={users}") as server:
        use(server)
        events = [json.loads(line) for line in lines_of(server, "forged")]
        for event in events:
            expect(list(event)[:3] == ["time", "level", "message"], f"{event}")
        request = next(e for e in events if e["message"] == "request" and e["status"] == "201" and e["user"] == "jane")
        expect(int(request["microseconds"]) > 0, f"{request}")
        expect((request["level"], request["method"], request["path"]) == ("debug", "POST", "/api/v1/namespaces/default/secrets"), f"{request}")


@story.chapter
def by_default_requests_are_not_in_it(users):
    for level in ("0", "3"):
        with Cardea("-v", level, f"--token-auth-file={users}") as server:
            use(server)
            lines = lines_of(server, "unable to authenticate")
            expect(not any(" debug request " in line for line in lines), f"{lines}")


@story.chapter
def a_wrong_format_is_refused(folder):
    done = subprocess.run([binary(), "serve", "--data-dir", os.path.join(folder, "data"), "--log-format=xml"], capture_output=True, text=True, timeout=30)
    expect(done.returncode == 2 and "--log-format" in done.stderr, f"{done.returncode} {done.stderr}")


if __name__ == "__main__":
    story.main()
