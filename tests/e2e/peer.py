"""A real kube-apiserver on a real etcd, with the interface of `server.Cardea`: stories about Kubernetes can run against it too.

    with Kube("--token-auth-file", file) as kube:
        kube.request("GET", "/version")

Needs $CARDEA_PEERS, a folder with a kube-apiserver and an etcd; `peers()` is None without.
"""
import os
import subprocess

from server import Cardea, free_port


def peers():
    folder = os.environ.get("CARDEA_PEERS")
    if not folder or not all(os.path.exists(os.path.join(folder, name)) for name in ("kube-apiserver", "etcd")):
        return None
    return folder


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Kube(Cardea):
    """On an etcd of its own, or on the one at `etcd_url`."""
    etcd = None

    def __init__(self, *flags, data_dir=None, etcd_url=None):
        super().__init__(*flags, data_dir=data_dir)
        self.etcd_url, self.has_own_etcd = etcd_url, etcd_url is None

    def start(self):
        d = self.data_dir
        os.makedirs(d, exist_ok=True)
        if not os.path.exists(f"{d}/ca.crt"):
            openssl("genrsa", "-out", f"{d}/sa.key", "2048")
            openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{d}/ca.key", "-out", f"{d}/ca.crt", "-subj", "/CN=ca", "-days", "3")
            with open(f"{d}/names", "w") as names:
                names.write("subjectAltName=IP:127.0.0.1,IP:127.0.0.2\n")
            for name, subject in (("admin", "/O=system:masters/CN=admin"), ("server", "/CN=server"), ("proxy", "/CN=front-proxy-client")):
                openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{d}/{name}.key", "-out", f"{d}/{name}.csr", "-subj", subject)
                openssl("x509", "-req", "-in", f"{d}/{name}.csr", "-CA", f"{d}/ca.crt", "-CAkey", f"{d}/ca.key", "-CAcreateserial", "-days", "3",
                        "-extfile", f"{d}/names", "-out", f"{d}/{name}.crt")
            with open(self.kubeconfig, "w") as out:
                out.write(f"""apiVersion: v1
kind: Config
clusters: [{{name: k, cluster: {{server: "{self.base}", certificate-authority: {d}/ca.crt}}}}]
users: [{{name: a, user: {{client-certificate: {d}/admin.crt, client-key: {d}/admin.key}}}}]
contexts: [{{name: d, context: {{cluster: k, user: a}}}}]
current-context: d
""")
        if not self.has_own_etcd:
            return super().start()
        client, peer = free_port(), free_port()
        self.etcd_url = f"http://127.0.0.1:{client}"
        self.etcd = subprocess.Popen([os.path.join(peers(), "etcd"), f"--data-dir={d}/etcd", f"--listen-client-urls={self.etcd_url}", f"--advertise-client-urls={self.etcd_url}",
                                      f"--listen-peer-urls=http://127.0.0.1:{peer}", f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
                                      f"--initial-cluster=default=http://127.0.0.1:{peer}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        super().start()

    def command(self):
        d = self.data_dir
        return [os.path.join(peers(), "kube-apiserver"), f"--etcd-servers={self.etcd_url}", f"--cert-dir={d}/certs", "--bind-address", "127.0.0.1", "--secure-port", str(self.port),
                f"--tls-cert-file={d}/server.crt", f"--tls-private-key-file={d}/server.key", f"--client-ca-file={d}/ca.crt", f"--service-account-issuer={self.base}",
                f"--service-account-key-file={d}/sa.key", f"--service-account-signing-key-file={d}/sa.key", "--service-cluster-ip-range=10.0.0.0/24",
                "--disable-admission-plugins=ServiceAccount", *self.flags]

    def kill(self):
        super().kill()
        if self.etcd is not None:
            self.etcd.kill()
            self.etcd.wait()
            self.etcd = None
