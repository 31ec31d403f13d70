"""libcardea as users get it: installs it, builds the examples against the installed copy in fresh folders, runs them,
and checks which libraries they are linked with.

    check.py BUILD_FOLDER CXX_COMPILER
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
EMBED, PYTHON = ROOT / "examples/embed", ROOT / "examples/python"
# The engine contains neither the network nor a store.
FOREIGN_LIBRARIES = re.compile(r"sqlite|libssl|libcrypto|nghttp|libz\.")
FOREIGN_SYMBOLS = re.compile(r"\bcardea::(net|http|store|upstream|feeds|rest|app)::|\bsqlite3_|\bSSL_|\bnghttp2_")
OWN_SYMBOLS = re.compile(r"(cardea_(engine|request|change|decision|judgement|program|bindings|residual)_"
                         r"|cardea_(version|string_free)\b|cardea::v1::)")


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def expect(holds, what):
    if not holds:
        sys.exit(f"FAILED: {what}")
    print("ok:", what)


def expect_same(found, wanted, what):
    if found != wanted:
        sys.exit(f"FAILED: {what}\nwanted:\n{wanted}\nfound:\n{found}")
    print("ok:", what)


def needed(file):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", file))


def check_links(name, file):
    libraries = needed(file)
    print(f"{name}: {file.stat().st_size} bytes, needs {' '.join(libraries)}")
    expect(not [l for l in libraries if FOREIGN_LIBRARIES.search(l)], f"{name} needs no library of networks or stores")
    foreign = [l for l in run("nm", "-C", file).splitlines() if FOREIGN_SYMBOLS.search(l)]
    expect(not foreign, f"{name} has no symbol of net, http, store or SQLite" + "".join("\n" + f for f in foreign[:5]))


def check_exports(library):
    names = [l.split(maxsplit=2)[2] for l in run("nm", "-D", "-C", "--defined-only", library).splitlines()]
    names = [n for n in names if "CARDEA_1" != n.split("@")[0]]
    others = [n for n in names if not OWN_SYMBOLS.search(n)]
    expect(not others, f"the shared library shows only its interface, {len(names)} symbols" + "".join("\n" + o for o in others[:9]))
    expect("[libcardea.so.1]" in run("readelf", "-d", library), "its name is libcardea.so.1")


def check_c(compiler, prefix, library, work):
    c_compiler = compiler.replace("clang++", "clang").replace("g++", "gcc")
    program = work / "c11"
    run(c_compiler, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", ROOT / "tests/library/c11.c",
        f"-I{prefix}/include", library, f"-Wl,-rpath,{library.parent}", "-o", program)
    expect_same(run(program), "jane may, joe may not\n", "a program in C11 asks")
    for header in sorted((prefix / "include/cardea").glob("*.h")):
        source = work / "alone.cc"
        source.write_text(f"#include <cardea/{header.name}>\n")
        run(compiler, "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", f"-I{prefix}/include", source)
    expect(True, "every header can be included alone, in C++17")


def check_embed(compiler, prefix, work):
    folder = work / "embed"
    run("cmake", "-S", EMBED, "-B", folder, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCMAKE_PREFIX_PATH={prefix}",
        "-DCMAKE_BUILD_TYPE=Release")
    run("ninja", "-C", folder)
    wanted = (EMBED / "expected.txt").read_text()
    for name in ("embed", "embed_static"):
        expect_same(run(folder / name, EMBED / "policies.yaml"), wanted, f"{name} says what it should")
        check_links(name, folder / name)
    expect("libcardea.so.1" in needed(folder / "embed"), "embed uses the shared library")
    expect("libcardea.so.1" not in needed(folder / "embed_static"), "embed_static does not")


def check_python(library):
    environment = {**os.environ, "CARDEA_LIBRARY": str(library), "PYTHONDONTWRITEBYTECODE": "1"}
    found = run("/usr/bin/python3", PYTHON / "example.py", EMBED / "policies.yaml", env=environment)
    expect_same(found, (EMBED / "expected.txt").read_text(), "Python says the same")


def check_page(compiler, prefix, library, work):
    """The program in docs/library.md, built with the flags of pkg-config."""
    page = (ROOT / "docs/library.md").read_text()
    program, output = (re.search(rf"^```{kind}\n(.*?)^```", page, re.S | re.M)[1] for kind in ("cpp", "text"))
    (work / "page.cc").write_text(program)
    flags = ["-std=c++17", f"-I{prefix}/include", f"-L{library.parent}", "-lcardea"]
    if shutil.which("pkg-config"):
        found = run("pkg-config", "--cflags", "--libs", "cardea",
                    env={**os.environ, "PKG_CONFIG_PATH": str(library.parent / "pkgconfig")})
        flags = ["-std=c++17", *found.split()]
    run(compiler, work / "page.cc", *flags, f"-Wl,-rpath,{library.parent}", "-o", work / "page")
    expect_same(run(work / "page"), output, "the program of docs/library.md does what the page says")


def main():
    build, compiler = pathlib.Path(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory(prefix="cardea-library-") as folder:
        work = pathlib.Path(folder)
        prefix = work / "prefix"
        run("cmake", "--install", build, "--component", "library", "--prefix", prefix)
        library = next(prefix.glob("**/libcardea.so"))
        check_links("libcardea.so", library.resolve())
        check_exports(library)
        archive = library.with_suffix(".a")
        print(f"libcardea.a: {archive.stat().st_size} bytes")
        expect(not [l for l in run("nm", "-C", archive).splitlines() if FOREIGN_SYMBOLS.search(l)],
               "the archive has no symbol of net, http, store or SQLite")
        check_c(compiler, prefix, library, work)
        check_embed(compiler, prefix, work)
        check_python(library)
        check_page(compiler, prefix, library, work)


main()
