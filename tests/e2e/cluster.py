"""A server with the programs of a cluster attached: kube-controller-manager, kube-scheduler, and KWOK as its nodes (docs/ecosystem.md).

    with Cluster(Cardea()) as cluster:
        cluster.kubectl("create", "deployment", "web", "--image=web")

Each program has a client certificate with the name that kubeadm gives it, so that its permissions are those of Kubernetes' own roles.
No flag changes the content type of a program. Needs $CARDEA_PEERS; `missing` says what the folder lacks.
"""
import collections
import json
import os
import re
import shutil
import subprocess
import tempfile

from peer import Kube, openssl
from server import eventually, expect, free_port, skip

PROGRAMS = ("kube-controller-manager", "kube-scheduler", "kwok")


def program(name):
    """The path of a program that `tests/peers/programs/build` or `shared/peers/build` made; skips the chapter without it."""
    if os.environ.get("CARDEA_WITH_PEERS") != "1":
        skip("programs are attached with `./dev test --with-peers`")
    path = os.path.join(os.environ.get("CARDEA_PEERS", ""), name)
    if not os.path.exists(path):
        skip(f"no {name} among the peers")
    return path


class WholeKube(Kube):
    """A kube-apiserver as kubeadm starts it: with all default admission plugins, and with permissions."""

    def command(self):
        return [f for f in super().command() if f != "--disable-admission-plugins=ServiceAccount"] + ["--authorization-mode=Node,RBAC"]


class Process:
    """A program that runs beside a server. Its output goes to a file."""

    def __init__(self, name, command, folder, environment=None):
        self.name, self.command, self.environment = name, command, environment
        self.log_path = os.path.join(folder, f"{name}.log")
        self.process = None

    def start(self):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=os.path.dirname(self.log_path),
                                            env={**os.environ, **(self.environment or {})})
        return self

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def stop(self):
        if self.alive():
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
        if self.process is not None:
            self.process.wait()

    def log(self):
        if not os.path.exists(self.log_path):
            return ""
        with open(self.log_path, errors="replace") as log:
            return log.read()


class Attached:
    """Programs attached to a server; the end of the `with` block stops both."""

    def __init__(self, server):
        self.server, self.processes = server, []
        self.folder = tempfile.mkdtemp(prefix="cardea-cluster-")

    def __enter__(self):
        try:
            self.server.__enter__()
            self.attach()
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(self, kind, error, trace):
        for process in reversed(self.processes):
            process.stop()
        keep = os.environ.get("CARDEA_KEEP_LOGS")
        for process in self.processes if keep else ():
            os.makedirs(keep, exist_ok=True)
            shutil.copy(process.log_path, os.path.join(keep, f"{type(self.server).__name__}-{process.name}.log"))
        self.server.__exit__(None, None, None)
        shutil.rmtree(self.folder, ignore_errors=True)

    def attach(self):
        """Starts the programs."""

    def run(self, name, *command, environment=None):
        process = Process(name, list(command), self.folder, environment)
        self.processes.append(process)
        return process.start()

    def kubeconfig_of(self, name, *groups):
        """A kubeconfig with a client certificate for the user `name`, signed by the server's CA."""
        at, data = os.path.join(self.folder, re.sub(r"[^\w-]", "_", name)), self.server.data_dir
        subject = "".join(f"/O={group}" for group in groups) + f"/CN={name}"
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{at}.key", "-out", f"{at}.csr", "-subj", subject, "-addext", "extendedKeyUsage=clientAuth")
        openssl("x509", "-req", "-copy_extensions", "copy", "-in", f"{at}.csr", "-CA", f"{data}/ca.crt", "-CAkey", f"{data}/ca.key", "-CAcreateserial",
                "-CAserial", f"{at}.srl", "-days", "3", "-out", f"{at}.crt")
        with open(f"{at}.kubeconfig", "w") as out:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                       "clusters": [{"name": "c", "cluster": {"server": self.server.base, "certificate-authority": f"{data}/ca.crt"}}],
                       "users": [{"name": "u", "user": {"client-certificate": f"{at}.crt", "client-key": f"{at}.key"}}],
                       "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}, out)
        return f"{at}.kubeconfig"

    def kubectl(self, *arguments, stdin=None, fails=False, kubeconfig=None, seconds=300):
        """Runs the current kubectl; returns what it printed. With `fails` it must fail, and its errors are returned."""
        done = subprocess.run([program("kubectl"), "--kubeconfig", kubeconfig or self.server.kubeconfig, *arguments], input=stdin, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds, env={**os.environ, "HOME": self.folder})
        if fails:
            expect(done.returncode != 0, f"kubectl {' '.join(arguments)} succeeded: {done.stdout}")
            return done.stderr
        expect(done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}{done.stdout}")
        return done.stdout

    def apply(self, *objects):
        self.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))

    def get(self, *what):
        """What kubectl prints as JSON, or None if there is no such object."""
        text = self.kubectl("get", *what, "-o", "json", "--ignore-not-found")
        return json.loads(text) if text.strip() else None

    def items(self, *what):
        found = self.get(*what)
        return found["items"] if found else []

    def wait(self, what, condition, *arguments, seconds=120):
        self.kubectl("wait", what, f"--for={condition}", f"--timeout={seconds}s", *arguments, seconds=seconds + 30)

    def lives(self, processes=None):
        for process in processes or self.processes:
            expect(process.alive(), f"{process.name} has ended:\n{process.log()[-3000:]}")


class Cluster(Attached):
    """With the controller-manager, the scheduler and two nodes."""

    nodes = ("node-1", "node-2")

    def attach(self):
        manager, scheduler, kwok = (program(name) for name in PROGRAMS)
        data, server = self.server.data_dir, self.server
        key = next(k for k in (f"{data}/service-account.key", f"{data}/sa.key") if os.path.exists(k))
        own = self.kubeconfig_of("system:kube-controller-manager")
        self.manager = self.run("kube-controller-manager", manager, f"--kubeconfig={own}", f"--authentication-kubeconfig={own}", f"--authorization-kubeconfig={own}",
                                "--bind-address=127.0.0.1", f"--secure-port={free_port()}", f"--cert-dir={self.folder}/manager", "--use-service-account-credentials",
                                f"--service-account-private-key-file={key}", f"--root-ca-file={data}/ca.crt", f"--client-ca-file={data}/ca.crt",
                                f"--cluster-signing-cert-file={data}/ca.crt", f"--cluster-signing-key-file={data}/ca.key")
        own = self.kubeconfig_of("system:kube-scheduler")
        self.scheduler = self.run("kube-scheduler", scheduler, f"--kubeconfig={own}", f"--authentication-kubeconfig={own}", f"--authorization-kubeconfig={own}",
                                  "--bind-address=127.0.0.1", f"--secure-port={free_port()}", f"--cert-dir={self.folder}/scheduler")
        port = free_port()
        self.kwok = self.run("kwok", kwok, f"--kubeconfig={server.kubeconfig}", "--manage-all-nodes=true", "--node-lease-duration-seconds=40", f"--server-address=127.0.0.1:{port}",
                             "--node-ip=127.0.0.1", f"--node-port={port}", "--config=/dev/null")
        for name in self.nodes:
            self.add_node(name)
        for name in self.nodes:
            self.wait(f"node/{name}", "condition=Ready")
        eventually("the service account of the default namespace is there", lambda: self.get("serviceaccount", "default", "-n", "default"), 120)

    def add_node(self, name):
        self.apply({"apiVersion": "v1", "kind": "Node",
                    "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "type": "kwok"}},
                    "status": {"allocatable": {"cpu": "32", "memory": "256Gi", "pods": "110"}, "capacity": {"cpu": "32", "memory": "256Gi", "pods": "110"}}})

    def errors(self):
        """What the programs complained about, as sets of normalised messages by program."""
        return {process.name: complaints(process.log()) for process in self.processes}


VARYING = (
    (r'(\\?")[\w.-]+/[\w.-]+(\\?")', r"\1OBJECT\2"), (r"[\w.-]+/[\w.-]+ failed with", "OBJECT failed with"),
    (r"https?://[^/\s\"\\]+", "URL"), (r"127\.0\.0\.1:\d+", "ADDRESS"), (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
    (r"\b\d{4}-\d\d-\d\dT[\d:.]+Z?", "TIME"), (r"\b(\w[\w.-]*)-[0-9a-f]{6,10}-[a-z0-9]{5}\b", r"\1-HASH"), (r"\b[0-9a-f]{8,10}\b", "HASH"),
    (r"\b([a-z][\w-]*)-[bcdfghjklmnpqrstvwxz2456789]{5}\b", r"\1-HASH"), (r"[\w.-]+-HASH\b", "NAME-HASH"), (r"\d+(\.\d+)?(ms|s|m|µs)\b", "DURATION"), (r"\d+", "N"))


# What a controller logs when it was faster than its own watch, and then tries again: the answer to its write came, and before the event
# of that write was taken from the queues of its informer, something else asked for the same work. Both servers have these lines; which
# objects they are about is chance. `stale_reads` has those that must not last.
RACES = ("the object has been modified; please apply your changes", "is not as new as written version")


def normalised(message):
    for pattern, by in VARYING:
        message = re.sub(pattern, by, message)
    return message


def stale_reads(log):
    """How often a controller found its cache older than what it had written: (written version, resource) -> times."""
    return collections.Counter(re.findall(r"is not as new as written version: (\d+) for group resource ([\w.]+)", log))


def complaints(log):
    """The error lines of a log (klog's, or JSON's), without what differs from one run to the next: normalised message -> one line."""
    found = {}
    for line in log.splitlines():
        if any(race in line for race in RACES):
            continue
        klog = re.match(r"[EF]\d{4} [\d:.]+ +\d+ (\S+?):\d+\] (.*)", line)
        if klog:
            found.setdefault(normalised(f"{klog[1]}: {klog[2]}"), line)
        elif line.startswith("{"):
            entry = json.loads(line)
            if entry.get("level", "").lower() in ("error", "fatal", "panic"):
                found.setdefault(normalised(f"{entry.get('msg')}: {entry.get('err') or entry.get('error')}"), line)
        elif line.startswith(("panic:", "fatal error:")):
            found.setdefault(line, line)
    return found

