"""What the other parts share: folders, one command, one test case, and how the outputs of suites are judged."""
import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
WORK = ROOT / "build" / "suites"
SRC = WORK / "src"
WHEELS = ROOT / "third_party" / "wheels"
TIMEOUT_SECONDS = 180   # what MPICH's own test driver allows


@dataclass
class Case:
    """One test: a program started by the launcher on `ranks` ranks, or (ranks 0) a makefile that launches by itself."""
    suite: str
    name: str
    ranks: int
    argv: list
    cwd: Path
    env: dict = field(default_factory=dict)
    judge: object = None      # (exit code, output) -> (verdict, detail)
    timeout: int = TIMEOUT_SECONDS


def sh(argv, cwd=None, env=None, log=None, check=True):
    """Runs a command; its output goes to `log`. With `check`, a failure ends the script."""
    argv = [str(a) for a in argv]
    with open(log or os.devnull, "a") as out:
        done = subprocess.run(argv, cwd=cwd, env=env, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    if check and done.returncode != 0:
        raise SystemExit(f"suites: {' '.join(argv)} failed" + (f", see {log}" if log else ""))
    return done.returncode


def verdict(good):
    return "pass" if good else "fail"


def judge_mpich(code, out):
    return verdict(code == 0 and re.search(r"No [Ee]rrors", out)), ""


def judge_romio(code, out):
    bad = re.search(r"(?i)\berror|failed|abort|wrong|incorrect|expected", out)
    good = re.search(r"(?i)no errors", out)
    return verdict(code == 0 and (good or not bad)), ""


def judge_hdf5(code, out):
    failed = re.search(r"\*FAILED\*|errors? detected|HDF5-DIAG", out)
    passed = len(re.findall(r"\bPASSED\b", out))
    return verdict(code == 0 and not failed), f"{passed} checks" if passed else ""


def judge_netcdf(code, out):
    return verdict(code == 0 and "Sorry!" not in out), ""


def judge_unittest(code, out):
    """Python's unittest, one report a rank: the smallest count, and the names of what failed."""
    counts = [int(n) for n in re.findall(r"^Ran (\d+) tests? in", out, re.M)]
    skipped = [int(n) for n in re.findall(r"skipped=(\d+)", out)]
    names = sorted(set(re.findall(r"^(?:FAIL|ERROR): (\w+)", out, re.M)))
    detail = f"{min(counts)} tests" if counts else "no report"
    detail += f", {max(skipped)} skipped" if skipped else ""
    detail += f", failing: {', '.join(names[:6])}" + (" ..." if len(names) > 6 else "") if names else ""
    return verdict(code == 0 and counts), detail


def judge_automake(code, out):
    """automake's parallel harness: one PASS/FAIL line a test."""
    passed = re.findall(r"^PASS: (\S+)", out, re.M)
    failed = re.findall(r"^(?:FAIL|ERROR): (\S+)", out, re.M)
    detail = f"{len(passed)} of {len(passed) + len(failed)} programs"
    return verdict(code == 0 and not failed), detail + (f", failing: {', '.join(failed[:6])}" if failed else "")


def judge_ptest(code, out):
    """PnetCDF's parallel targets: one line a program ends in 'pass'; the first failure of a folder ends it."""
    passed = len(re.findall(r"^\*\*\* TESTING .*pass", out, re.M))
    failed = len(re.findall(r"^\*\*\* TESTING .*fail", out, re.M))
    return verdict(code == 0 and not failed), f"{passed} checks passed" + (f", {failed} failed" if failed else "")
