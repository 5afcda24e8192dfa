# SPDX-License-Identifier: MIT
# Spack's package, imported with the few names of Spack that it uses: for each set of variants, what it gives to make
# builds with the libraries of these variants alone, and installs below the prefix.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
cat >spack.py <<'PY'
"""The directives of Spack as lists of what they were given, and make as `make -n` in the repository."""
import itertools, os, re, subprocess, sys, types

ROOT = os.environ["ROOT"]
given = {name: [] for name in ("license", "version", "variant", "depends_on")}
commands = []


class MakefilePackage:
    def __init__(self, spec, prefix):
        self.spec, self.prefix = spec, prefix


def make(*arguments):
    run = subprocess.run(["make", "-n", "-C", ROOT, "B=" + os.getcwd() + "/b", "DEPS_ROOT=", *arguments],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    if run.returncode != 0:
        print("make", *arguments, run.stdout[-400:])
    commands.append(run.stdout)


def load(since_1_0):
    """The class: where MakefilePackage lies before Spack 1.0, and since."""
    names = {name: lambda *a, _list=into, **k: _list.append((a, k)) for name, into in given.items()}
    spack = types.ModuleType("spack.package")
    spack.__dict__.update(names, make=make)
    if since_1_0:
        makefile = types.ModuleType("spack_repo.builtin.build_systems.makefile")
        makefile.MakefilePackage = MakefilePackage
        parts = makefile.__name__.split(".")
        for n in range(1, len(parts)):
            sys.modules[".".join(parts[:n])] = types.ModuleType(".".join(parts[:n]))
        sys.modules[makefile.__name__] = makefile
    else:
        spack.MakefilePackage = MakefilePackage
    sys.modules.update({"spack": types.ModuleType("spack"), "spack.package": spack})
    package = {"__name__": "package"}
    path = os.path.join(ROOT, "packaging/spack/package.py")
    exec(compile(open(path).read(), path, "exec"), package)
    return package["Specter"]


load(False)
for into in given.values():
    into.clear()
Specter = load(True)
variants = [a[0] for a, _ in given["variant"]]
optional = {name.upper() for name in variants} - {"MPI"}
known = set(re.findall(r"^\$\(call optional,\S+,(\w+),", open(os.path.join(ROOT, "scripts/deps.mk")).read(), re.M))
if optional | {"XLSX"} != known:
    print("variants:", optional, "the build knows:", known)
if [k.get("when") for _, k in given["depends_on"] if "when" in k] != ["+" + name for name in variants]:
    print("a variant without its library:", given["depends_on"])
here = os.environ["HAVE"].split()
for chosen in (variants, [], ["yaml"]):
    commands.clear()
    package = Specter({"+" + name for name in chosen}, "/p/specter")
    package.build(package.spec, package.prefix)
    package.install(package.spec, package.prefix)
    built, installed = commands
    flags = set(re.findall(r"-DSPECTER_HAVE_(\w+)", built))
    if flags != {name.upper() for name in chosen} & set(here):
        print(chosen, "builds with", flags)
    if "mpi" not in chosen and "specter_bench_mpi" in built or "specter_bench_gloo" in built:
        print(chosen, "builds modules for the system's libraries")
    for line in installed.splitlines():
        if line.startswith("install ") and " /p/specter/" not in line:
            print("installs elsewhere:", line)
    if not re.search(r"^install .* /p/specter/bin/specter$", installed, re.M):
        print("does not install the program")
PY
# The optional libraries that this system has.
HAVE=$(for pair in SQLITE:sqlite3 ZSTD:zstd YAML:yaml; do
    echo "#include <${pair#*:}.h>" | $CC -E -xc - >/dev/null 2>&1 && echo "${pair%:*}"
done) PYTHONDONTWRITEBYTECODE=1 python3 spack.py
