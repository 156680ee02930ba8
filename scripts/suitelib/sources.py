"""The suites' sources: Debian's source packages through apt, mpi4py through pip.

apt is asked with lists of its own below build/suites, so that nothing of the system's set-up is touched and no root is
needed. Where the archive is, which proxy to use and which key signs it come from the sources the machine has.
"""
import re
import sys
from pathlib import Path

from .base import SRC, WORK, sh

DEBIAN_PACKAGES = ("mpich", "pnetcdf", "hdf5", "netcdf")
MPI4PY_VERSION = "4.1.2"   # the same as the wheel's in scripts/setup.sh


def codename():
    text = Path("/etc/os-release").read_text()
    found = re.search(r"^VERSION_CODENAME=(\w+)", text, re.M)
    return found.group(1) if found else "stable"


def deb822_entries(text):
    """(types, address, suites, components, key) of each paragraph of a .sources file."""
    for paragraph in re.split(r"\n\s*\n", text):
        lines = [line for line in paragraph.splitlines() if not line.startswith("#")]
        fields = dict(line.split(":", 1) for line in lines if re.match(r"[\w-]+:", line))
        words = {key.lower(): value.split() for key, value in fields.items()}
        if words.get("uris") and "no" not in words.get("enabled", []):
            key = words.get("signed-by", [""])
            yield words.get("types", []), words["uris"][0], words.get("suites", []), words.get("components", []), key[0] if key else ""


def one_line_entries(text):
    """The same of a .list file."""
    for line in text.splitlines():
        found = re.match(r"\s*(deb|deb-src)\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s+(.*)", line)
        if found:
            key = re.search(r"signed-by=(\S+)", found.group(2) or "")
            yield [found.group(1)], found.group(3), [found.group(4)], found.group(5).split(), key.group(1) if key else ""


def source_entry(etc=Path("/etc/apt")):
    """The deb-src line that belongs to the machine's own entry for this release's main component."""
    wanted = codename()
    files = [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*"))]
    for path in (p for p in files if p.suffix in (".list", ".sources") and p.is_file()):
        entries = deb822_entries if path.suffix == ".sources" else one_line_entries
        for _, address, suites, components, key in entries(path.read_text()):
            if wanted in suites and "main" in components:
                signed = f"[signed-by={key}] " if key else ""
                return f"deb-src {signed}{address} {wanted} main"
    raise SystemExit(f"suites: no entry for '{wanted} main' in {etc}: the sources of {', '.join(DEBIAN_PACKAGES)} can't be had")


def apt_get(*words, cwd=None):
    home = WORK / "apt"
    for folder in ("lists/partial", "cache/archives/partial"):
        (home / folder).mkdir(parents=True, exist_ok=True)
    (home / "sources.list").write_text(source_entry() + "\n")
    options = {"Dir::Etc::sourcelist": home / "sources.list", "Dir::Etc::sourceparts": "-", "Dir::State::lists": home / "lists",
               "Dir::Cache": home / "cache", "APT::Get::List-Cleanup": "0", "APT::Sandbox::User": ""}
    sh(["apt-get", "-q", *(w for k, v in options.items() for w in ("-o", f"{k}={v}")), *words], cwd=cwd, log=WORK / "fetch.log")


def unpack(archive, name):
    """Into a folder that has its name only when everything is there."""
    partial = SRC / f"{name}.partial"
    sh(["rm", "-rf", partial])
    partial.mkdir(parents=True)
    sh(["tar", "xf", archive, "-C", partial, "--strip-components=1"], log=WORK / "fetch.log")
    if name == "pnetcdf":
        sh(["autoreconf", "-i"], cwd=partial, log=WORK / "fetch.log")
    partial.rename(SRC / name)


def fetch(packages=DEBIAN_PACKAGES):
    SRC.mkdir(parents=True, exist_ok=True)
    missing = [name for name in packages if not (SRC / name).is_dir() or not list(SRC.glob(f"{name}_*.dsc"))]
    if missing:
        print(f"suites: fetching the sources of {', '.join(missing)}", flush=True)
        apt_get("update")
        apt_get("source", "--download-only", *missing, cwd=SRC)
        for name in missing:
            sh(["rm", "-rf", SRC / name])
            unpack(next(SRC.glob(f"{name}_*orig.tar*[!c]")), name)
    if not (SRC / "mpi4py").is_dir():
        print("suites: fetching the sources of mpi4py", flush=True)
        sh([sys.executable, "-m", "pip", "download", "--no-binary", "mpi4py", "--no-deps", f"mpi4py=={MPI4PY_VERSION}", "-d", SRC],
           log=WORK / "fetch.log")
        unpack(next(SRC.glob("mpi4py-*.tar.gz")), "mpi4py")


def versions():
    """Suite -> where its tests come from."""
    found = {path.name.split("_")[0]: path.stem.split("_")[1] for path in sorted(SRC.glob("*.dsc"))}
    return {"romio": f"ROMIO of mpich {found.get('mpich', '?')} (Debian source)", "mpich": f"mpich {found.get('mpich', '?')} (Debian source)",
            "mpi4py": f"mpi4py {MPI4PY_VERSION} (PyPI source)", "pnetcdf": f"pnetcdf {found.get('pnetcdf', '?')} (Debian source)",
            "hdf5": f"testpar of hdf5 {found.get('hdf5', '?')} (Debian source) with Debian's libhdf5",
            "netcdf": f"the parallel tests of netcdf {found.get('netcdf', '?')} (Debian source) on Debian's libhdf5 and the pnetcdf above"}
