"""The command line of the server: what kubeadm writes starts it, and flags do what they say."""
import base64
import http.client
import os
import signal
import ssl
import subprocess
import tempfile

from server import Cardea, binary, eventually, expect, free_port
from story import Story

story = Story("command_line")


def openssl(*arguments, text=None):
    return subprocess.run(["openssl", *arguments], input=text, capture_output=True, text=True, check=True).stdout


@story.shared
def pki():
    """The files that kubeadm makes in /etc/kubernetes/pki, as far as the server reads them."""
    with tempfile.TemporaryDirectory() as folder:
        def at(name):
            return os.path.join(folder, name)

        def authority(name):
            openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                    "-keyout", at(f"{name}.key"), "-out", at(f"{name}.crt"))

        def signed(name, issuer, subject, extension):
            openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", subject, "-keyout", at(f"{name}.key"), "-out", at(f"{name}.csr"))
            with open(at(f"{name}.ext"), "w") as file:
                file.write(extension)
            openssl("x509", "-req", "-in", at(f"{name}.csr"), "-CA", at(f"{issuer}.crt"), "-CAkey", at(f"{issuer}.key"),
                    "-CAcreateserial", "-days", "1", "-extfile", at(f"{name}.ext"), "-out", at(f"{name}.crt"))

        authority("ca")
        authority("front-proxy-ca")
        signed("apiserver", "ca", "/CN=kube-apiserver", "subjectAltName=DNS:localhost,DNS:kubernetes,IP:127.0.0.1\n")
        signed("admin", "ca", "/O=system:masters/CN=kubernetes-admin", "extendedKeyUsage=clientAuth\n")
        signed("named", "ca", "/CN=named", "subjectAltName=DNS:api.example.com\n")
        openssl("genrsa", "-out", at("sa.key"), "2048")
        openssl("rsa", "-in", at("sa.key"), "-pubout", "-out", at("sa.pub"))
        yield folder


def kubeadm_flags(pki):
    def at(name):
        return os.path.join(pki, name)

    return [
        "--advertise-address=192.0.2.10",
        "--allow-privileged=true",
        "--authorization-mode=Node,RBAC",
        f"--client-ca-file={at('ca.crt')}",
        "--enable-admission-plugins=NodeRestriction",
        "--enable-bootstrap-token-auth=true",
        f"--kubelet-client-certificate={at('apiserver.crt')}",
        f"--kubelet-client-key={at('apiserver.key')}",
        "--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname",
        f"--proxy-client-cert-file={at('apiserver.crt')}",
        f"--proxy-client-key-file={at('apiserver.key')}",
        "--requestheader-allowed-names=front-proxy-client",
        f"--requestheader-client-ca-file={at('front-proxy-ca.crt')}",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-username-headers=X-Remote-User",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={at('sa.pub')}",
        f"--service-account-signing-key-file={at('sa.key')}",
        "--service-cluster-ip-range=10.96.0.0/12",
        f"--tls-cert-file={at('apiserver.crt')}",
        f"--tls-private-key-file={at('apiserver.key')}",
    ]


class Kubeadm(Cardea):
    """A server with kubeadm's certificates, and an administrator with kubeadm's."""

    def __init__(self, pki, *flags):
        super().__init__(*kubeadm_flags(pki), *flags)
        self.pki = pki

    def tls(self):
        context = ssl.create_default_context(cafile=os.path.join(self.pki, "ca.crt"))
        context.load_cert_chain(os.path.join(self.pki, "admin.crt"), os.path.join(self.pki, "admin.key"))
        return context

    def log(self):
        with open(self.log_path) as file:
            return file.read()


@story.shared
def kubeadm(pki):
    with Kubeadm(pki, f"--tls-sni-cert-key={pki}/named.crt,{pki}/named.key") as server:
        yield server


def bearer(server, token, path):
    context = ssl.create_default_context(cafile=os.path.join(server.pki, "ca.crt"))
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=30, context=context)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


@story.chapter
def a_line_of_kubeadm_starts_the_server(kubeadm):
    status, _, body = kubeadm.request("GET", "/api/v1/namespaces/kube-system")
    expect(status == 200, f"{status} {body}")
    log = kubeadm.log()
    expect("has no effect" not in log, f"these flags have an effect:\n{log}")


@story.chapter
def the_server_is_found_at_the_advertised_address(kubeadm):
    _, _, endpoints = kubeadm.request("GET", "/api/v1/namespaces/default/endpoints/kubernetes")
    expect(endpoints["subsets"][0]["addresses"] == [{"ip": "192.0.2.10"}], endpoints)
    expect(endpoints["subsets"][0]["ports"][0]["port"] == kubeadm.port, endpoints)
    _, _, slice_ = kubeadm.request("GET", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes")
    expect(slice_["endpoints"][0]["addresses"] == ["192.0.2.10"], slice_)


@story.chapter
def there_is_no_master_namespace_without_namespace_policy(kubeadm):
    status, _, _ = kubeadm.request("GET", "/api/v1/namespaces/master")
    expect(status == 404, status)


@story.chapter
def a_machine_joins_with_a_bootstrap_token(kubeadm):
    data = {"token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true",
            "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token"}
    secret = {"type": "bootstrap.kubernetes.io/token", "metadata": {"name": "bootstrap-token-abcdef"},
              "data": {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}}
    path = "/api/v1/namespaces/kube-system/secrets"
    expect(bearer(kubeadm, "abcdef.0123456789abcdef", "/api/v1/pods")[0] == 401, "the token is known before its Secret")
    status, _, body = kubeadm.request("POST", path, secret)
    expect(status == 201, body)
    status, body = bearer(kubeadm, "abcdef.0123456789abcdef", "/api/v1/pods")
    expect(status == 403 and 'User \\"system:bootstrap:abcdef\\" cannot list' in body, f"{status} {body}")
    expect(bearer(kubeadm, "abcdef.0123456789abcdee", "/api/v1/pods")[0] == 401, "another secret is accepted")
    binding = {"metadata": {"name": "joiners"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
               "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:bootstrappers:kubeadm:default-node-token"}]}
    expect(kubeadm.request("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)[0] == 201, "no binding")
    eventually("the group of the token is known",
               lambda: bearer(kubeadm, "abcdef.0123456789abcdef", "/api/v1/pods")[0] == 200)
    expect(kubeadm.request("DELETE", f"{path}/bootstrap-token-abcdef")[0] == 200, "not deleted")
    expect(bearer(kubeadm, "abcdef.0123456789abcdef", "/api/v1/pods")[0] == 401, "a deleted token is accepted")


def certificate_for(server, name):
    return openssl("s_client", "-connect", f"127.0.0.1:{server.port}", "-servername", name, text="")


@story.chapter
def a_name_has_its_own_certificate(kubeadm):
    expect("CN = named" in certificate_for(kubeadm, "api.example.com"), "not the certificate of the name")
    expect("CN = kube-apiserver" in certificate_for(kubeadm, "localhost"), "not the certificate of the server")


def refused(*flags):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([binary(), "serve", "--data-dir", os.path.join(folder, "d"), "--secure-port", str(free_port()), *flags],
                              capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


@story.chapter
def what_would_be_unsafe_to_ignore_is_refused():
    for flag in ("--etcd-servers-overrides=/events#https://127.0.0.1:2379", "--encryption-provider-config=/etc/keys.yaml"):
        status, said = refused(flag)
        expect(status == 2 and " is refused: " in said and said.count("\n") == 1, f"{flag}: {status} {said}")
    status, said = refused("--no-such-flag")
    expect(status == 2 and "unknown flag `--no-such-flag`" in said, said)


def names_of(server):
    return openssl("x509", "-noout", "-ext", "subjectAltName", "-in", os.path.join(server.data_dir, "server.crt"))


@story.chapter
def the_certificate_follows_the_flags():
    with Cardea("--cert-san=api.example.com,192.0.2.7") as server:
        names = names_of(server)
        expect("DNS:api.example.com" in names and "IP Address:192.0.2.7" in names, names)
        with open(os.path.join(server.data_dir, "ca.crt")) as file:
            authority = file.read()
        server.stop()
        server.start()
        expect(names_of(server) == names, "made again without a reason")
        server.stop()
        server.flags = ["--advertise-address=192.0.2.8"]
        server.start()
        expect("IP Address:192.0.2.8" in names_of(server), names_of(server))
        with open(os.path.join(server.data_dir, "ca.crt")) as file:
            expect(file.read() == authority, "clients no longer trust the server")


@story.chapter
def the_key_of_admin_is_one_that_every_client_reads(kubeadm):
    text = openssl("pkey", "-in", os.path.join(kubeadm.data_dir, "admin.key"), "-noout", "-text")
    expect("Private-Key: (2048 bit" in text and "publicExponent" in text, text[:100])


@story.chapter
def an_old_version_of_tls_can_be_refused():
    with Cardea("--tls-min-version=VersionTLS13") as server:
        old = server.tls()
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=30, context=old)
        try:
            connection.request("GET", "/version")
            raise AssertionError("TLS 1.2 was accepted")
        except ssl.SSLError:
            pass


@story.chapter
def a_server_that_stops_serves_on_for_a_while():
    with Cardea("--shutdown-delay-duration=10m") as server:
        server.process.send_signal(signal.SIGTERM)
        eventually("/readyz says no", lambda: server.request("GET", "/readyz")[0] == 500)
        expect(server.request("GET", "/livez")[0] == 200, "/livez says no")
        expect(server.request("GET", "/api/v1/namespaces/default")[0] == 200, "no longer served")
        expect(server.stop(signal.SIGTERM) == 0, "the second signal did not end it")


@story.chapter
def events_go_away():
    with Cardea("--event-ttl=1s") as server:
        event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}, "reason": "r", "message": "m"}
        status, _, body = server.request("POST", "/api/v1/namespaces/default/events", event)
        expect(status == 201, body)
        eventually("the Event is gone", lambda: server.request("GET", "/api/v1/namespaces/default/events/e")[0] == 404)


if __name__ == "__main__":
    story.main()
