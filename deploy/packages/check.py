"""Tries the packages as their users would. Needs root, mmdebstrap and Debian's mirror.

    check.py OUT        OUT as make.py leaves it

docs/packages.md: the .deb is installed in a clean Debian 12, started as its unit says, shown the tour of the README, stopped and purged: only
the data may be left. The image is unpacked and started with a root that cannot be written. The library is linked against.
"""
import glob
import hashlib
import json
import os
import re
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
import book  # noqa: E402
from server import eventually, expect, free_port  # noqa: E402

SERVICE_USER = 61184  # the first one that systemd gives to services with DynamicUser
HIGHEST_EXPOSURE = 3.0
# What belongs to the system and changes with every installation of anything.
SYSTEMS_OWN = ("var/lib/dpkg", "var/lib/apt", "var/cache", "var/log", "etc/ld.so.cache", "proc", "sys", "dev", "run", "tmp", "var/lib/systemd")


def say(text):
    print(f"== {text}", file=sys.stderr, flush=True)


def inside(root, *command):
    """Runs a command in a root."""
    done = subprocess.run(["chroot", root, *command], text=True, capture_output=True,
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"})
    expect(done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout


def unit():
    """The settings of the unit; a name that is there twice has the values of both."""
    settings = {}
    with open(os.path.join(HERE, "cardea.service"), encoding="utf-8") as file:
        for line in file:
            name, separator, value = line.strip().partition("=")
            if separator and not line.startswith("#"):
                settings.setdefault(name, []).append(value)
    return settings


def check_exposure():
    shown = subprocess.run(["systemd-analyze", "security", "--offline=true", os.path.join(HERE, "cardea.service")], capture_output=True, text=True).stdout
    level = float(re.search(r"Overall exposure level for cardea.service: ([\d.]+)", shown)[1])
    expect(level < HIGHEST_EXPOSURE, f"systemd-analyze security says {level}:\n{shown}")
    say(f"exposure of the unit: {level}")


def clean_debian(folder):
    root = os.path.join(folder, "debian")
    lists = [f for f in ["/etc/apt/sources.list", *sorted(glob.glob("/etc/apt/sources.list.d/debian.sources"))] if os.path.exists(f) and os.path.getsize(f)]
    done = subprocess.run(["mmdebstrap", "--quiet", "--variant=apt", "bookworm", root, *lists[:1]], text=True, capture_output=True)
    expect(done.returncode == 0, done.stderr)
    if os.path.exists("/etc/resolv.conf"):
        shutil.copyfile("/etc/resolv.conf", os.path.join(root, "etc/resolv.conf"))
    return root


def files_of(root):
    out = set()
    for at, folders, files in os.walk(root):
        folders[:] = [f for f in folders if os.path.relpath(os.path.join(at, f), root) not in SYSTEMS_OWN]
        out |= {os.path.relpath(os.path.join(at, name), root) for name in files + folders}
    return {path for path in out if path not in SYSTEMS_OWN}


class Service:
    """The service as systemd would start it, with the settings of the unit that a chroot can keep."""

    def __init__(self, root):
        self.root, settings = root, unit()
        expect(settings["Type"] == ["notify"] and settings["DynamicUser"] == ["yes"], "the unit is not what this test starts")
        [state], [command] = settings["StateDirectory"], settings["ExecStart"]
        self.data = os.path.join(root, "var/lib", state)
        os.makedirs(self.data, mode=int(settings["StateDirectoryMode"][0], 8), exist_ok=True)
        os.chown(self.data, SERVICE_USER, SERVICE_USER)
        environment = {"PATH": "/usr/bin", "NOTIFY_SOCKET": "/run/notify"}
        with open(os.path.join(root, settings["EnvironmentFile"][0].lstrip("/"))) as file:
            environment |= {n: shlex.split(v)[0] if v else "" for n, _, v in (line.strip().partition("=") for line in file if not line.startswith("#"))}
        words = [w for word in command.split() for w in (environment[word[1:]].split() if word.startswith("$") else [word])]
        self.notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        path = os.path.join(root, "run/notify")
        self.notices.bind(path)
        os.chmod(path, 0o777)
        self.log = open(os.path.join(root, "run/log"), "w+")

        def become():
            os.umask(int(settings["UMask"][0], 8))
            os.chroot(root)
            os.chdir("/")
            os.setgroups([])
            os.setgid(SERVICE_USER)
            os.setuid(SERVICE_USER)
        self.process = subprocess.Popen(words, env=environment, preexec_fn=become, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def hear(self, wanted, seconds=60):
        readable, _, _ = select.select([self.notices], [], [], seconds)
        self.log.seek(0)
        expect(readable, f"no {wanted} after {seconds} s: {self.log.read()}")
        heard = self.notices.recv(100).decode()
        expect(heard == wanted, f"{heard} instead of {wanted}")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.hear("STOPPING=1")
        status = self.process.wait(60)
        self.notices.close()
        os.remove(os.path.join(self.root, "run/notify"))
        expect(status == 0, f"the service ended with status {status}")


def check_deb(out, folder):
    [package] = glob.glob(os.path.join(out, "cardea_*.deb"))
    root = clean_debian(folder)
    inside(root, "apt-get", "update")
    before = files_of(root)
    shutil.copy(package, os.path.join(root, "tmp/cardea.deb"))
    inside(root, "apt-get", "install", "-y", "--no-install-recommends", "/tmp/cardea.deb")
    expect(re.match(r"cardea \d+\.\d+\.\d+ \(Kubernetes 1\.\d+\), commit [0-9a-f]{12}", inside(root, "cardea", "version")), "the version")
    for path in ("usr/share/man/man1/cardea.1.gz", "usr/share/doc/cardea/copyright", "lib/systemd/system/cardea.service", "usr/bin/kubectl-cardea"):
        expect(os.path.exists(os.path.join(root, path)), f"{path} is missing")
    port = free_port()
    settings = os.path.join(root, "etc/cardea/cardea.env")
    with open(settings) as file:
        text = file.read()
    with open(settings, "w") as file:
        file.write(text.replace("CARDEA_FLAGS=\n", f"CARDEA_FLAGS=--secure-port={port}\n"))
    wrapper = os.path.join(folder, "cardea")
    with open(wrapper, "w") as file:
        file.write(f'#!/bin/sh\nexport KUBECONFIG=/var/lib/cardea/admin.kubeconfig\nexec chroot {root} cardea "$@"\n')
    os.chmod(wrapper, 0o755)
    service = Service(root)
    try:
        service.hear("READY=1")
        say("the service is ready; the tour of the README")
        book.tour(os.path.join(service.data, "admin.kubeconfig"), wrapper)
        service.stop()
        say("a second start on the same data")
        service = Service(root)
        service.hear("READY=1")
        service.stop()
    finally:
        service.process.kill()
        service.process.wait()
    inside(root, "apt-get", "purge", "-y", "--auto-remove", "cardea")
    left = {path for path in files_of(root) - before if not path.startswith("var/lib/cardea")}
    expect(not left, f"left behind: {sorted(left)}")
    expect(os.path.exists(os.path.join(service.data, "store/cardea.db")), "the data is gone")
    expect(not before - files_of(root), f"taken along: {sorted(before - files_of(root))}")
    say("removed: only the data is left")


def check_image(out, folder):
    layout = os.path.join(out, "cardea-image")

    def blob(entry):
        with open(os.path.join(layout, "blobs/sha256", entry["digest"].partition(":")[2]), "rb") as file:
            data = file.read()
        expect(f"sha256:{hashlib.sha256(data).hexdigest()}" == entry["digest"] and len(data) == entry["size"], f"{entry} is not what it says")
        return data
    with open(os.path.join(layout, "index.json")) as file:
        manifest = json.loads(blob(json.load(file)["manifests"][0]))
    config = json.loads(blob(manifest["config"]))
    root = os.path.join(folder, "image")
    os.mkdir(root)
    for number, entry in enumerate(manifest["layers"]):
        path = os.path.join(folder, f"layer{number}")
        with open(path, "wb") as file:
            file.write(blob(entry))
        with tarfile.open(path) as tar:
            tar.extractall(root)
    user = config["config"]["User"]
    expect(user.split(":")[0] not in ("", "0", "root"), "the image runs as root")
    port = free_port()
    words = [*config["config"]["Entrypoint"], *config["config"]["Cmd"], "--secure-port", str(port)]
    words[words.index("0.0.0.0")] = "127.0.0.1"  # tests serve nobody else
    environment = dict(pair.split("=", 1) for pair in config["config"]["Env"])
    script = (f"mount --bind {root} {root} && mount -o remount,bind,ro {root} && mount -t tmpfs -o uid={user.split(':')[0]},gid={user.split(':')[1]},mode=700 "
              f"tmpfs {root}{config['config']['WorkingDir']} && exec chroot --userspec={user} {root} /usr/bin/env_of_the_image")
    # There is no shell and no env in the image: the variables are set before.
    script = script.replace("/usr/bin/env_of_the_image", shlex.join(words))
    with open(os.path.join(folder, "image.log"), "w+") as log:
        process = subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh", "-c", script], stdout=log, stderr=log,
                                   env={**environment, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
        try:
            def is_ready():
                expect(process.poll() is None, "the image ended: " + open(log.name).read())
                return subprocess.run(["curl", "-sk", f"https://127.0.0.1:{port}/readyz"], capture_output=True, text=True).stdout == "ok"
            eventually("the server of the image is ready", is_ready)
            expect("root, which a server does not need" not in open(log.name).read(), "the image runs as root")
            process.send_signal(signal.SIGTERM)
            expect(process.wait(30) == 0, "the image did not stop cleanly")
        finally:
            process.kill()
            process.wait()
    say("the image runs, with a root that cannot be written")


def check_library(out, folder):
    [package] = glob.glob(os.path.join(out, "libcardea-dev_*.deb"))
    root = os.path.join(folder, "library")
    subprocess.run(["dpkg-deb", "-x", package, root], check=True)
    fields = subprocess.run(["dpkg-deb", "-f", package, "Depends"], check=True, capture_output=True, text=True).stdout
    expect("libre2-dev" in fields and "libstdc++6" in fields, fields)
    source = os.path.join(folder, "use.c")
    with open(source, "w") as file:
        file.write('#include <cardea/version.h>\n#include <cardea/c.h>\n#include <stdio.h>\nint main(void) { puts(CARDEA_VERSION); return 0; }\n')
    [pc] = glob.glob(os.path.join(root, "usr/lib/**/pkgconfig"), recursive=True)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "cardea"], check=True, capture_output=True, text=True, env={**os.environ, "PKG_CONFIG_PATH": pc}).stdout.split()
    program = os.path.join(folder, "use")
    subprocess.run(["clang-19", "-Wl,--no-as-needed", source, "-o", program, *flags], check=True)
    done = subprocess.run([program], check=True, capture_output=True, text=True, env={"LD_LIBRARY_PATH": os.path.dirname(pc)})
    expect(f"libcardea-dev_{done.stdout.strip()}_" in package, done.stdout)
    say("a program is linked with the library")


def check_bill(out):
    [path] = glob.glob(os.path.join(out, "*.spdx.json"))
    with open(path) as file:
        bill = json.load(file)
    names = [p["name"] for p in bill["packages"]]
    identifiers = [p["SPDXID"] for p in bill["packages"]]
    expect(bill["spdxVersion"] == "SPDX-2.3" and len(set(identifiers)) == len(identifiers), "the SBOM")
    for name in ("cardea", "libssl3", "libsqlite3-0", "libre2-9", "libnghttp2-14", "libc6", "libcli11-dev"):
        expect(name in names, f"{name} is not in the SBOM: {names}")
    for link in bill["relationships"]:
        expect(link["relatedSpdxElement"] in identifiers, link)
    say(f"the SBOM names {len(names)} packages")


def main():
    out = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="cardea-packages-") as folder:
        check_exposure()
        check_bill(out)
        check_library(out, folder)
        check_image(out, folder)
        check_deb(out, folder)


if __name__ == "__main__":
    main()
