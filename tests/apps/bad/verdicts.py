#!/usr/bin/env python3
"""Programs with one known I/O fault each, and programs without any, under --report: the report must name the fault first.

   verdicts.py [--factors [--json FILE]] LAUNCHER FOLDER [NAME...]    FOLDER has the programs as bad.MPI, bad_hdf5.MPI, ...

Which finding costs most depends on times, which vary on a busy machine. Therefore each program has three tries, and at most two programs
may have their fault named, but not first. With --factors no program may. Then every alternative of every remedy is followed: by the program
itself, or by the hints that the remedy exports. The predicted factor of the best remedy must be within two of the measured one (median of
several runs; reports name no factor above 50) in all but two programs, and no alternative may make a program slower than 0.95. Then the
files are in memory, unless the fault needs a disk: a disk's stalls are as long as the runs. Needs a quiet machine."""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOGETHER = "replace MPI_File_write by MPI_File_write_all"
LATE = {"divide that work": 1, "see what rank": 2}
READ_TOGETHER = "replace MPI_File_read by MPI_File_read_all"
SLOWEST, LARGEST, MOST_OFF, MOST_BEHIND = 0.95, 50, 2, 2
FEWEST, MOST = 5, 15   # runs with a remedy and without; more than the fewest where it seems to make the program slower


@dataclass
class Case:
    name: str
    fault: str = ""          # empty: there is nothing to gain
    # A part of a remedy's text, and the argument with which the program follows that remedy.
    follows: dict = field(default_factory=dict)
    program: str = "bad"
    never: str = "\0"        # must not be in the report: a remedy that would make the program slower, or a finding it hasn't
    only_factors: bool = False
    on_disk: bool = False    # the fault costs nothing in memory


def fault(name, remedy, **more):
    return Case(name, more.pop("fault", name), {remedy: 1}, **more)


CASES = [
    fault("small_writes", "move many records with one call"),
    fault("small_reads", "move many records with one call"),
    fault("strided_reads", READ_TOGETHER),
    fault("strided_writes", TOGETHER),
    Case("amplified_reads", "amplified_reads", {"drop romio_ds_read": 1, READ_TOGETHER: 2, "closer together": 3}),
    Case("merged_writes", "merged_writes", {"drop romio_ds_write": 1, TOGETHER: 2}),
    fault("one_aggregator", "drop the hint cb_nodes=1"),
    Case("straggler", "straggler", LATE),
    Case("half_late", "straggler", LATE),
    Case("late_opens", "straggler", LATE),
    Case("late_syncs", "straggler", LATE),
    Case("late_sizes", "straggler", LATE, never="[resized]"),
    Case("late_in_turns", "straggler", {"balance what": 1, "see what makes": 2}),
    fault("slow_together", "slows down the storage of rank 1", fault="slow_storage"),
    fault("slow_alone", "slows down the storage of rank 1", fault="slow_storage", never="[straggler]"),
    fault("resized", "set the size once"),
    fault("size_queries", "ask once"),
    fault("view_loop", "set the view once", fault="many_views"),
    fault("setting_loop", "once, before the loop", fault="many_settings"),
    fault("small_collectives", "move many records with one call"),
    fault("shared_log", "MPI_File_write_ordered", fault="small_writes", never="set_view"),
    fault("serial", "open the file on MPI_COMM_WORLD"),
    fault("reopened", "out of the loop"),
    fault("many_syncs", "remove MPI_File_sync", on_disk=True),
    fault("same_data_read", "read it once, and keep it", never="MPI_Bcast"),
    fault("small_stripes", "striping_unit"),
    Case("misaligned", "misaligned", {"begin records at multiples": 1, TOGETHER: 2}),
    fault("ignored_hints", "correct or drop"),
    fault("steps", "move many records with one call", fault="small_writes"),
    fault("many_files", "keep one file open"),
    fault("unlike_files", "keep one file open", fault="many_files"),
    fault("own_files", "keep one file open", fault="many_files", only_factors=True),
    fault("columns", TOGETHER, fault="merged_writes", never="romio_ds_write=disable"),
    fault("holes_together", "write without holes", fault="merged_writes"),
    fault("hdf5", "H5FD_MPIO_COLLECTIVE", fault="small_writes", program="bad_hdf5"),
    fault("h5py", "with dset.collective", fault="small_writes", program="bad_h5py"),
    fault("netcdf4", "NC_COLLECTIVE", fault="small_writes", program="bad_netcdf"),
    fault("pnetcdf", "ncmpi_put_vara_..._all", fault="strided_writes", program="bad_pnetcdf", never="ignored_hints"),
] + [Case(name) for name in ("good_collective", "good_steps", "good_little", "good_reads", "good_shares", "good_overlap", "good_handed_on",
                                 "good_columns", "good_halves", "good_aside", "good_views")]


class Runner:
    def __init__(self, launcher, folder, scratch, memory):
        self.mpi = "openmpi" if "openmpi" in launcher else "mpich"
        self.folder, self.scratch, self.memory, self.mercutio = Path(folder), Path(scratch), Path(memory), os.environ["MERCUTIO"]
        self.start = [launcher, "-n", "4"]
        if self.mpi == "openmpi":
            self.start += ["--oversubscribe"] + (["--allow-run-as-root"] if os.getuid() == 0 else [])
        self.environment = {k: v for k, v in os.environ.items() if k not in ("MERCUTIO_HINTS", "MERCUTIO_DISABLE", "ROMIO_HINTS", "LD_PRELOAD")}
        if os.environ.get("SHIM"):
            self.environment["LD_PRELOAD"] = os.environ["SHIM"]

    def command(self, case):
        """None: the program was not built for this MPI."""
        if case.program == "bad_h5py":   # Debian's h5py is for Open MPI
            there = self.mpi == "openmpi" and Path("/usr/lib/python3/dist-packages/h5py/_debian_h5py_mpi").exists()
            return ["/usr/bin/python3", str(HERE / "bad_h5py.py")] if there else None
        program = self.folder / f"{case.program}.{self.mpi}"
        return [str(program)] + ([case.name] if case.program == "bad" else []) if program.exists() else None

    def run(self, case, arguments=(), options=(), scale=1, hints=None):
        """The seconds that the program prints."""
        data = (self.scratch if case.on_disk else self.memory) / "data"
        shutil.rmtree(data, ignore_errors=True)
        data.mkdir()
        environment = dict(self.environment, BAD_SCALE=str(scale), **({"MERCUTIO_HINTS": hints} if hints else {}))
        done = subprocess.run([self.mercutio, "run", *options, "--", *self.start, *self.command(case), str(data / "data"), *map(str, arguments)],
                              env=environment, stdout=subprocess.PIPE, text=True, timeout=120)
        found = re.search(r"^seconds ([0-9.]+)$", done.stdout, re.M)
        if done.returncode != 0 or not found:
            raise SystemExit(f"{case.name}: FAILED with exit code {done.returncode}")
        return float(found[1])

    def report(self, case, scale=1):
        """The text of the report and the findings."""
        text, trace = self.scratch / "report", self.scratch / "trace"
        self.run(case, options=[f"--report={text}", f"--trace={trace}"], scale=scale)
        found = subprocess.run([self.mercutio, "report", str(trace), "--json", "--events", "0"], stdout=subprocess.PIPE, check=True).stdout
        return text.read_text(), json.loads(found)["findings"]

    def first(self, case, scale=1):
        """The first finding's id, with the report, in up to three tries."""
        for _ in range(3):
            text, findings = self.report(case, scale)
            named = re.search(r"^1\. .*\[(.*)\]", text, re.M)
            if (named[1] if named else "") == case.fault:
                break
        return (named[1] if named else ""), text, findings


def way_of(case, remedy):
    """How a remedy is followed: arguments and hints; None: nobody knows."""
    for part, number in case.follows.items():
        if part in remedy:
            return (number,), None
    exported = re.match(r'export MERCUTIO_HINTS="?([^" ]+)', remedy)
    return ((), exported[1]) if exported else None


class Factors:
    """Follows the remedies of a program."""

    def __init__(self, runner, case):
        self.runner, self.case = runner, case
        self.fault = case.fault
        # So that 0.4 s are left with the remedy, or 2 s without; 10 times would be many opens.
        self.scale = max(1, min(9, int(4 * 0.4 / runner.run(case, (1,), scale=4)) + 1, int(2 / runner.run(case))))

    def predictions(self):
        """{way: (text, median factor)}, the best first."""
        found, texts = {}, {}
        for _ in range(3):
            findings = [one for one in self.runner.report(self.case, self.scale)[1] if one["id"] == self.fault]
            for remedy in findings[0]["remedies"] if findings else []:
                way = way_of(self.case, remedy["text"])
                if way is None:
                    raise SystemExit(f"{self.case.name}: FAILED, no program follows '{remedy['text']}'")
                found.setdefault(way, []).append(remedy["factor"])
                texts[way] = remedy["text"]
        ranked = sorted(found, key=lambda way: -statistics.median(found[way]))
        return {way: (texts[way], statistics.median(found[way])) for way in ranked}

    def measure(self):
        """[(text, predicted factor, measured factor)], the best remedy first."""
        predicted = self.predictions()
        before, after = [], {way: [] for way in predicted}

        def factor_of(way):
            return statistics.median(before) / statistics.median(after[way])

        while len(before) < FEWEST or (len(before) < MOST and any(factor_of(way) < SLOWEST for way in after)):
            before.append(self.runner.run(self.case, scale=self.scale))
            for (arguments, hints), times in after.items():
                times.append(self.runner.run(self.case, arguments, scale=self.scale, hints=hints))
        return [(text, factor, factor_of(way)) for way, (text, factor) in predicted.items()]


class Check:
    def __init__(self, runner, factors):
        self.runner, self.factors, self.rows = runner, factors, []
        self.failed = self.behind = self.off = 0

    def fail(self, case, why, text=""):
        self.failed += 1
        print(f"{case.name}: FAILED, {why}\n{text}", flush=True)

    def one(self, case):
        first, text, findings = self.runner.first(case)
        behind = case.fault in [finding["id"] for finding in findings]
        if first == case.fault:
            print(f"{case.name}: {'found' if case.fault else 'nothing to gain'}", flush=True)
        elif case.fault and behind and not self.factors and self.behind < MOST_BEHIND:
            self.behind += 1
            print(f"{case.name}: found, behind {first}", flush=True)
        else:
            self.fail(case, f"the report names '{first}' first:", text)
        if case.never in text:
            self.fail(case, f"'{case.never}' is wrong:", text)
        if len(text.splitlines()) > 20:
            self.fail(case, "the report has more than 20 lines:", text)
        if self.factors and case.fault:
            self.follow(case, first)
        elif self.factors:
            self.add_row(case, first)

    def add_row(self, case, first, remedy="", predicted=None, measured=None):
        """Numbers as text: those of other tables of results are rounded."""
        two = lambda value: "" if value is None else f"{value:.2f}"   # noqa: E731
        self.rows.append({"MPI": self.runner.mpi, "program": case.name, "first cause": first or "nothing to gain", "remedy": remedy if len(remedy) <= 60 else remedy[:57] + "...",
                          "predicted": two(predicted), "measured": two(measured), "ratio": two(measured / predicted) if measured else ""})

    def follow(self, case, first):
        for number, (text, predicted, measured) in enumerate(Factors(self.runner, case).measure()):
            off = number == 0 and not 0.5 <= min(measured, LARGEST) / predicted <= 2
            self.off += off
            self.add_row(case, first, text, predicted, measured)
            print(f"  predicted {predicted:.2f}, measured {measured:.2f}{' OFF' if off else ''}: {text[:90]}", flush=True)
            if measured < SLOWEST:
                self.fail(case, "this remedy makes it slower")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--factors", action="store_true", help="follow the remedies and compare times")
    parser.add_argument("--json", type=Path, help="with --factors: the rows are put into this file, where those of other programs stay")
    parser.add_argument("launcher")
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    memory = "/dev/shm" if arguments.factors and os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory(dir=memory) as in_memory:
        runner = Runner(arguments.launcher, arguments.folder, scratch, in_memory)
        check = Check(runner, arguments.factors)
        for case in CASES:
            chosen = case.name in arguments.names if arguments.names else arguments.factors or not case.only_factors
            if chosen and runner.command(case):
                check.one(case)
        if arguments.json:
            rows = json.loads(arguments.json.read_text()) if arguments.json.exists() else []
            done = {(row["MPI"], row["program"]) for row in check.rows}
            rows = [row for row in rows if (row["MPI"], row["program"]) not in done] + check.rows
            order = [case.name for case in CASES]
            rows.sort(key=lambda row: (order.index(row["program"]), row["MPI"]))
            arguments.json.write_text(json.dumps(rows, indent=1))
        if arguments.factors:
            print(f"{check.off} factors are off by more than two")
    return check.failed > 0 or check.off > MOST_OFF


sys.exit(main())
