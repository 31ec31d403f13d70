"""Makes the packages of a build.

    make.py BUILD OUT

BUILD is a build folder with `cardea`, `cardea_shared` and `cardea_static`. OUT gets

    cardea_VERSION_ARCH.deb          the program, its unit, its configuration, man pages, completions, documentation
    libcardea-dev_VERSION_ARCH.deb   the library for other programs: headers, shared and static
    cardea-image/                    an OCI image layout: the program and the libraries it needs, and nothing else
    cardea-VERSION.spdx.json         what is in them (SPDX 2.3)

The same commit and the same Debian packages give the same bytes, in whichever folders: times are those of
$SOURCE_DATE_EPOCH, else of the commit, and the program is stripped of everything that knows where it was built.
"""
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
USER = 65532  # of the image, as distroless images call it: nonroot


def run(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout.strip()


def version():
    with open(os.path.join(ROOT, "include", "cardea", "version.h"), encoding="utf-8") as header:
        return re.search(r'define CARDEA_VERSION "(\d+\.\d+\.\d+)"', header.read())[1]


def source_date():
    given = os.environ.get("SOURCE_DATE_EPOCH")
    return int(given or run("git", "-C", ROOT, "log", "-1", "--format=%ct"))


def put(folder, path, source=None, text=None, mode=0o644):
    """Writes one file below `folder`, from another file or from text."""
    target = os.path.join(folder, path.lstrip("/"))
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if source:
        shutil.copyfile(source, target)
    else:
        with open(target, "wb") as out:
            out.write(text if isinstance(text, bytes) else text.encode())
    os.chmod(target, mode)
    return target


def put_compressed(folder, path, text):
    put(folder, path + ".gz", text=gzip.compress(text.encode(), 9, mtime=0))


def strip(source, target):
    """Without debugging information and without the build id, which is a hash of it."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    run("strip", "--strip-all", "-R", ".note.gnu.build-id", "-R", ".comment", "-o", target, source)
    os.chmod(target, 0o755)


def libraries(program):
    """The files that the loader maps for a program, by the names it asks for."""
    found = {}
    for line in run("ldd", program).splitlines():
        words = line.split()
        if "=>" in words and words[2].startswith("/"):
            found[words[0]] = words[2]
        elif words[0].startswith("/"):
            found[words[0]] = words[0]
    return found


def owner(path):
    """The Debian package of a file: name, version, source, and the license file's path."""
    for candidate in (path, os.path.realpath(path), "/usr" + path, "/usr" + os.path.realpath(path), re.sub("^/usr", "", path)):
        done = subprocess.run(["dpkg-query", "-S", candidate], capture_output=True, text=True)
        if done.returncode == 0:
            name = done.stdout.split(": ")[0].split(",")[0]
            shown = run("dpkg-query", "-W", "-f", "${Package}\t${Version}\t${Architecture}\t${source:Package}", name)
            return tuple(shown.split("\t"))
    raise SystemExit(f"no Debian package has {path}")


def settle(folder, when):
    """Gives everything below `folder` one time, and folders one mode."""
    for at, folders, files in os.walk(folder, topdown=False):
        for name in files:
            os.utime(os.path.join(at, name), (when, when), follow_symlinks=False)
        os.chmod(at, 0o755)
        os.utime(at, (when, when))


# --- Debian packages ---------------------------------------------------------------------------------------------


def needed(folder, programs):
    """What dpkg-shlibdeps says these files depend on."""
    with tempfile.TemporaryDirectory() as place:
        put(place, "debian/control", text="Source: cardea\n\nPackage: cardea\nArchitecture: any\n")
        out = run("dpkg-shlibdeps", "-O", "--ignore-missing-info", *[f"-e{p}" for p in programs], cwd=place)
    return re.sub(r"^shlibs:Depends=", "", out)


def control(name, folder, depends, section, summary, text, recommends=""):
    size = sum(os.path.getsize(os.path.join(at, f)) for at, _, files in os.walk(folder) for f in files)
    lines = [f"Package: {name}", f"Version: {version()}", f"Architecture: {run('dpkg', '--print-architecture')}",
             "Maintainer: The Cardea project <cardea@localhost>", f"Installed-Size: {(size + 1023) // 1024}", f"Depends: {depends}"]
    if recommends:
        lines.append(f"Recommends: {recommends}")
    lines += [f"Section: {section}", "Priority: optional", f"Description: {summary}", *[f" {line}" for line in text]]
    return "\n".join(lines) + "\n"


def checksums(folder):
    lines = []
    for at, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            path = os.path.join(at, name)
            if not os.path.islink(path) and not at.endswith("/DEBIAN"):
                with open(path, "rb") as file:
                    lines.append(f"{hashlib.md5(file.read()).hexdigest()}  {os.path.relpath(path, folder)}")
    return "\n".join(sorted(lines, key=lambda line: line[34:])) + "\n"


def pack(folder, out, when):
    settle(folder, when)
    name = os.path.join(out, os.path.basename(folder) + ".deb")
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "--build", folder, name], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "SOURCE_DATE_EPOCH": str(when)})
    return name


def said(program, *arguments):
    """What the program prints, or nothing when it does not know these arguments."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""


def put_documents(folder, name):
    place = f"usr/share/doc/{name}"
    with open(os.path.join(ROOT, "LICENSE"), encoding="utf-8") as text:
        put(folder, f"{place}/copyright", text="Cardea. License: Apache-2.0\n\n" + text.read())
    with open(os.path.join(ROOT, "CHANGELOG.md"), encoding="utf-8") as text:
        put_compressed(folder, f"{place}/changelog", text.read())


def put_man_pages(folder, program):
    """One page of the program, made from what its parser knows."""
    with tempfile.TemporaryDirectory() as place:
        if subprocess.run([program, "man", "--dir", place], capture_output=True).returncode == 0 and os.listdir(place):
            for page in sorted(os.listdir(place)):
                with open(os.path.join(place, page), encoding="utf-8") as text:
                    put_compressed(folder, f"usr/share/man/man1/{page}", text.read())
            return
    put_compressed(folder, "usr/share/man/man1/cardea.1", man_page_from_help(program))


def man_page_from_help(program):
    def escaped(text):
        return "".join("\\&" + line.replace("\\", "\\e").replace("-", "\\-") + "\n" for line in text.rstrip().splitlines())
    listed = said(program, "--help")
    names = re.findall(r"^  ([a-z-]+(?: [a-z-]+)?)  ", listed.partition("Commands:")[2], re.M)
    parts = [f'.TH CARDEA 1 "" "cardea {version()}"\n.SH NAME\ncardea \\- access control for Kubernetes\\-style APIs\n',
             f".SH SYNOPSIS\n.nf\n{escaped(listed)}.fi\n"]
    for name in names:
        parts.append(f'.SH "{name.upper()}"\n.nf\n{escaped(said(program, *name.split(), "--help"))}.fi\n')
    return "".join(parts)


def put_completions(folder, program):
    for shell, path in (("bash", "usr/share/bash-completion/completions/cardea"), ("zsh", "usr/share/zsh/vendor-completions/_cardea"),
                        ("fish", "usr/share/fish/vendor_completions.d/cardea.fish")):
        script = said(program, "completion", shell)
        if script:
            put(folder, path, text=script)


def server_package(build, out, place, when):
    folder = os.path.join(place, f"cardea_{version()}_{run('dpkg', '--print-architecture')}")
    program = os.path.join(folder, "usr/bin/cardea")
    strip(os.path.join(build, "cardea"), program)
    os.symlink("cardea", os.path.join(folder, "usr/bin/kubectl-cardea"))
    put(folder, "lib/systemd/system/cardea.service", os.path.join(HERE, "cardea.service"))
    put(folder, "etc/cardea/cardea.env", os.path.join(HERE, "cardea.env"))
    put_man_pages(folder, program)
    put_completions(folder, program)
    put_documents(folder, "cardea")
    docs = os.path.join(ROOT, "docs")
    for at, _, files in os.walk(docs):
        for name in files:
            if name.endswith(".md"):
                put(folder, os.path.join("usr/share/doc/cardea", os.path.relpath(os.path.join(at, name), docs)), os.path.join(at, name))
    for name in ("postinst", "prerm", "postrm"):
        put(folder, f"DEBIAN/{name}", os.path.join(HERE, name), mode=0o755)
    put(folder, "DEBIAN/conffiles", text="/etc/cardea/cardea.env\n")
    put(folder, "DEBIAN/md5sums", text=checksums(folder))
    put(folder, "DEBIAN/control", text=control(
        "cardea", folder, needed(folder, [program]), "net", "access control for Kubernetes-style APIs",
        ["An API server for Kubernetes' API that decides who may do what: by RBAC, by", "policies with conditions on the object, and down to single fields. Also an",
         "authorization webhook for an existing kube-apiserver."], recommends="ca-certificates, tzdata"))
    return pack(folder, out, when)


def library_package(build, out, place, when):
    folder = os.path.join(place, f"libcardea-dev_{version()}_{run('dpkg', '--print-architecture')}")
    run("cmake", "--install", build, "--component", "library", "--prefix", os.path.join(folder, "usr"))
    shared = []
    for at, _, files in os.walk(folder):
        for name in files:
            path = os.path.join(at, name)
            if re.search(r"\.so\.\d+\.\d+\.\d+$", name):
                strip(path, path)
                shared.append(path)
            elif not os.path.islink(path):
                os.chmod(path, 0o644)
    put_documents(folder, "libcardea-dev")
    put(folder, "usr/share/doc/libcardea-dev/library.md", os.path.join(ROOT, "docs", "library.md"))
    put(folder, "DEBIAN/triggers", text="activate-noawait ldconfig\n")
    put(folder, "DEBIAN/md5sums", text=checksums(folder))
    depends = needed(folder, shared) + ", libre2-dev, libyaml-cpp-dev, libabsl-dev"
    put(folder, "DEBIAN/control", text=control(
        "libcardea-dev", folder, depends, "libdevel", "decision engine of Cardea as a library",
        ["Headers, the shared and the static library, a CMake package and a pkg-config", "file: who may do what to a Kubernetes-style API, for C++, C and Python."]))
    return pack(folder, out, when)


# --- the image ---------------------------------------------------------------------------------------------------


def image_files(build, place):
    """The root of the image: the program, its libraries under the names it asks for, zones and CAs."""
    root = os.path.join(place, "image-root")
    strip(os.path.join(build, "cardea"), os.path.join(root, "usr/bin/cardea"))
    for name, path in libraries(os.path.join(build, "cardea")).items():
        target = name if name.startswith("/") else "/usr/lib/" + name
        put(root, target, os.path.realpath(path), mode=0o755)
    put(root, "etc/passwd", text=f"root:x:0:0:root:/:/none\ncardea:x:{USER}:{USER}:cardea:/var/lib/cardea:/none\n")
    put(root, "etc/group", text=f"root:x:0:\ncardea:x:{USER}:\n")
    put(root, "etc/nsswitch.conf", text="hosts: files dns\n")
    authorities = "/etc/ssl/certs/ca-certificates.crt"
    if os.path.exists(authorities):
        put(root, authorities, authorities)
    if os.path.isdir("/usr/share/zoneinfo"):
        shutil.copytree("/usr/share/zoneinfo", os.path.join(root, "usr/share/zoneinfo"), symlinks=True,
                        ignore=shutil.ignore_patterns("posix", "right", "posixrules", "localtime"))
    for folder in ("var/lib/cardea", "tmp", "usr/lib"):
        os.makedirs(os.path.join(root, folder), exist_ok=True)
    return root


def layer(root, when):
    """The files below `root` as one tar, the same bytes for the same files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        paths = sorted(os.path.relpath(os.path.join(at, name), root) for at, folders, files in os.walk(root) for name in folders + files)
        for path in paths:
            entry = tar.gettarinfo(os.path.join(root, path), path)
            if entry.islnk():  # gettarinfo makes links of files it met before
                entry.type, entry.linkname = tarfile.REGTYPE, ""
                entry.size = os.path.getsize(os.path.join(root, path))
            entry.mtime, entry.uname, entry.gname = when, "", ""
            is_data = path == "var/lib/cardea"
            entry.uid = entry.gid = USER if is_data else 0
            if entry.isdir():
                entry.mode = 0o1777 if path == "tmp" else 0o700 if is_data else 0o755
            elif entry.isreg():
                entry.mode = 0o755 if os.access(os.path.join(root, path), os.X_OK) else 0o644
            if entry.isreg():
                with open(os.path.join(root, path), "rb") as file:
                    tar.addfile(entry, file)
            else:
                tar.addfile(entry)
    return buffer.getvalue()


def image(build, out, place, when):
    folder = os.path.join(out, "cardea-image")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "blobs/sha256"))

    def blob(kind, data):
        digest = hashlib.sha256(data).hexdigest()
        put(folder, f"blobs/sha256/{digest}", text=data)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(data)}

    def document(value):
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    architecture = run("dpkg", "--print-architecture")
    created = run("date", "-u", "-d", f"@{when}", "+%Y-%m-%dT%H:%M:%SZ")
    tar = layer(image_files(build, place), when)
    packed = blob("layer.v1.tar+gzip", gzip.compress(tar, 9, mtime=0))
    labels = {"org.opencontainers.image.title": "cardea", "org.opencontainers.image.version": version(),
              "org.opencontainers.image.licenses": "Apache-2.0", "org.opencontainers.image.revision": run("git", "-C", ROOT, "rev-parse", "HEAD")}
    config = blob("config.v1+json", document({
        "created": created, "architecture": architecture, "os": "linux",
        "config": {"User": f"{USER}:{USER}", "Entrypoint": ["/usr/bin/cardea"], "WorkingDir": "/var/lib/cardea", "Labels": labels,
                   "Cmd": ["serve", "--data-dir", "/var/lib/cardea", "--bind-address", "0.0.0.0"], "StopSignal": "SIGTERM",
                   "Env": ["PATH=/usr/bin", "LD_LIBRARY_PATH=/usr/lib"], "ExposedPorts": {"6443/tcp": {}}, "Volumes": {"/var/lib/cardea": {}}},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(tar).hexdigest()]},
        "history": [{"created": created, "created_by": "deploy/packages/make.py"}]}))
    manifest = blob("manifest.v1+json", document({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                                                  "config": config, "layers": [packed], "annotations": labels}))
    manifest["annotations"] = {"org.opencontainers.image.ref.name": version()}
    manifest["platform"] = {"architecture": architecture, "os": "linux"}
    put(folder, "oci-layout", text=document({"imageLayoutVersion": "1.0.0"}))
    put(folder, "index.json", text=document({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [manifest]}))
    return folder, manifest["digest"]


# --- the bill of materials -----------------------------------------------------------------------------------------


def bill(build, out, when, digest):
    """SPDX 2.3: Cardea, the Debian packages whose files it loads, and those whose headers are compiled in."""
    packages = {owner(path) for path in libraries(os.path.join(build, "cardea")).values()}
    for header in ("/usr/include/boost/container/small_vector.hpp", "/usr/include/CLI/CLI.hpp"):
        if os.path.exists(header):
            packages.add(owner(header))
    commit = run("git", "-C", ROOT, "rev-parse", "HEAD")

    def described(identifier, name, number, license, **more):
        return {"SPDXID": identifier, "name": name, "versionInfo": number, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
                "licenseConcluded": license, "licenseDeclared": license, "copyrightText": "NOASSERTION", **more}
    listed = [described("SPDXRef-cardea", "cardea", version(), "Apache-2.0", sourceInfo=f"commit {commit}",
                        checksums=[{"algorithm": "SHA256", "checksumValue": digest.partition(":")[2]}], comment="the checksum is that of the image's manifest")]
    links = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-cardea"}]
    for name, number, architecture, source in sorted(packages):
        identifier = "SPDXRef-deb-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)
        url = f"pkg:deb/debian/{name.replace('+', '%2B')}@{number.replace('+', '%2B').replace(':', '%3A')}?arch={architecture}"
        listed.append(described(identifier, name, number, "NOASSERTION", sourceInfo=f"Debian source package {source}",
                                externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": url}]))
        links.append({"spdxElementId": "SPDXRef-cardea", "relationshipType": "DEPENDS_ON", "relatedSpdxElement": identifier})
    document = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"cardea-{version()}",
                "documentNamespace": f"https://cardea.dev/spdx/cardea-{version()}-{commit[:12]}-{digest[7:19]}",
                "creationInfo": {"created": run("date", "-u", "-d", f"@{when}", "+%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: deploy/packages/make.py"]},
                "packages": listed, "relationships": links}
    path = os.path.join(out, f"cardea-{version()}.spdx.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=2, sort_keys=True)
        file.write("\n")
    return path


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: make.py BUILD OUT")
    build, out = (os.path.abspath(a) for a in sys.argv[1:])
    os.umask(0o022)
    os.makedirs(out, exist_ok=True)
    when = source_date()
    with tempfile.TemporaryDirectory() as place:
        print(server_package(build, out, place, when))
        print(library_package(build, out, place, when))
        folder, digest = image(build, out, place, when)
        print(f"{folder} {digest}")
        print(bill(build, out, when, digest))


if __name__ == "__main__":
    main()
