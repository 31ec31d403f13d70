"""`cardea store copy`: from SQLite to etcd and back, and everything is there (docs/replicas.md)."""
import os
import shutil
import subprocess
import tempfile

from etcd import Etcd
from server import Cardea, binary, expect
from story import Story

story = Story("store_copy")

MAPS = "/api/v1/namespaces/default/configmaps"


def copy(source, target):
    done = subprocess.run([binary(), "store", "copy", "--from", source, "--to", target], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def content(server):
    """All ConfigMaps and Secrets, without what a copy changes."""
    out = {}
    for kind in ("configmaps", "secrets", "serviceaccounts"):
        status, _, listed = server.request("GET", f"/api/v1/{kind}")
        expect(status == 200, f"{status} {listed}")
        for item in listed["items"]:
            del item["metadata"]["resourceVersion"]
            out[kind, item["metadata"]["namespace"], item["metadata"]["name"]] = item
    return out


@story.chapter
def there_and_back():
    with Etcd() as etcd, tempfile.TemporaryDirectory() as folder:
        home = os.path.join(folder, "data")
        with Cardea(data_dir=home) as server:
            for i in range(60):
                status, _, said = server.request("POST", MAPS, {"metadata": {"name": f"m{i}"}, "data": {"k": "v" * 100 * i}})
                expect(status == 201, f"{status} {said}")
            before = content(server)
            code, said = copy(f"sqlite:{home}", f"etcd:{etcd.url}")
            expect(code == 2 and "another" in said, f"the store of a running server was copied: {code} {said}")
        code, said = copy(f"sqlite:{home}", f"etcd:{etcd.url}")
        expect(code == 0 and "sha256" in said, f"{code} {said}")
        code, said = copy(f"sqlite:{home}", f"etcd:{etcd.url}")
        expect(code == 2 and "not empty" in said, f"{code} {said}")
        with Cardea(f"--etcd-servers={etcd.url}", data_dir=home) as server:
            after = content(server)
            expect({key: after.get(key) for key in before} == before, f"{set(before) - set(after)} are missing, or differ")
            expect(server.request("POST", MAPS, {"metadata": {"name": "on-etcd"}})[0] == 201, "the copy takes writes")
            before = content(server)
        second = os.path.join(folder, "second")
        os.mkdir(second)
        for name in os.listdir(home):  # certificates and keys
            if os.path.isfile(os.path.join(home, name)):
                shutil.copy2(os.path.join(home, name), second)
        code, said = copy(f"etcd:{etcd.url}", f"sqlite:{second}")
        expect(code == 0, f"{code} {said}")
        with Cardea(data_dir=second) as server:
            after = content(server)
            expect({key: after.get(key) for key in before} == before, f"{set(before) - set(after)} are missing, or differ")


@story.chapter
def what_makes_no_sense():
    with tempfile.TemporaryDirectory() as folder:
        for source, target, why in ((f"sqlite:{folder}/none", f"sqlite:{folder}/x", "there is no database"), ("redis:x", f"sqlite:{folder}/x", "neither sqlite:DIR nor etcd:URL"),
                                    (f"sqlite:{folder}", f"sqlite:{folder}", "the same")):
            code, said = copy(source, target)
            expect(code == 2 and why in said, f"{source} {target}: {code} {said}")
        expect(os.listdir(folder) == [], f"something was made: {os.listdir(folder)}")


if __name__ == "__main__":
    story.main()
