"""The command: options, order of events, what is said. Exit codes: 0 a profile was written; 3 nothing is better than the
default; 1 something is wrong; 2 wrong usage; 130 stopped."""
import argparse
import json
import math
import os
import shlex
import signal
import sys
import tempfile
import time
import warnings

from . import files, profile, runs, space as spaces, stopped
from .runs import CommandRunner, NotApplied, PatternRunner, RunError, TooLong
from .search import Search
from .verify import Pairs, SURE, WORTH

NOTHING_BETTER, STOPPED = 3, 130
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Rules:
    """What trials are judged by, and where progress goes."""

    class Differs(Exception):
        pass

    def __init__(self, options):
        self.options = options
        self.factor, self.grace, self.seed = options.factor, 1.0, options.seed
        self.patience = None          # of a run in a pair
        self.reference = {}           # digests of the default's files
        self.unstable = set()         # files that differ from one default run to the next
        self.started = time.monotonic()
        self.differing = []
        self.live = sys.stderr.isatty() and not options.quiet

    def measure(self, run):
        return run.io_seconds if self.options.objective == "io" else run.seconds

    def compared(self):
        return sorted(path for path in self.reference if path not in self.unstable)

    def same(self, run):
        for path in self.compared():
            if run.digests.get(path) != self.reference[path]:
                self.differing.append(path)
                return f"{path} differs from what the default makes"
        return ""

    def out_of_time(self, search):
        if not self.options.time_limit:
            return False
        ahead = (2 * self.options.pairs + 1) * search.default.run.seconds
        return time.monotonic() - self.started + ahead > self.options.time_limit

    def progress(self, text):
        if self.live:
            print(f"\r{text[:118]:<118}", end="", file=sys.stderr, flush=True)
        elif self.options.verbose:
            print(text, file=sys.stderr, flush=True)

    def tell(self, search, trial):
        value = trial.trouble.splitlines()[0] if trial.trouble else f"{trial.values[-1]:.4f} s"
        hints = " ".join(f"{hint}={setting}" for hint, setting in trial.hints.items())
        self.progress(f"run {search.runs}: {value} (best {search.best.value:.4f} s) {hints}")

    def tell_pair(self, pairs):
        self.progress(f"pair {pairs.done} of {pairs.planned}: {pairs.default[-1]:.4f} s by default, {pairs.tuned[-1]:.4f} s tuned")

    def end_progress(self):
        if self.live:
            print(f"\r{'':<118}\r", end="", file=sys.stderr, flush=True)


def whole(least, most):
    """Of a number on the command line."""
    def read(text):
        if not text.isascii() or not text.isdigit() or len(text) > 18 or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"'{text[:40]}' must be a whole number from {least} to {most}")
        return int(text)
    return read


def decimal(above, most):
    def read(text):
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not above < number <= most:
            raise argparse.ArgumentTypeError(f"'{text[:40]}' must be a number of more than {above}, and at most {most}")
        return number
    return read


def parse(words):
    at = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(
        prog="mercutio tune", usage="mercutio tune [options] -- command... | mercutio tune --pattern trace [options] [-- launcher...]",
        description="Search the hints with which a command, or a recorded pattern, does its I/O fastest, and keep them for later runs.",
        epilog="Exit code: 0 a profile was written, 3 nothing is better than the default, 1 a problem, 2 wrong usage, 130 stopped.")
    parser.add_argument("--pattern", metavar="TRACE", help="replay this trace instead of running a command (default: run the command)")
    parser.add_argument("--trials", type=whole(1, 1_000_000), default=24, metavar="N", help="maximum number of runs of the search (default 24)")
    parser.add_argument("--pairs", type=whole(5, 1000), default=8, metavar="N", help="pairs of runs that decide in the end, at least 5, as fewer are not beyond noise (default 8)")
    parser.add_argument("--time-limit", type=decimal(0, 1e9), metavar="S", help="maximum time of everything in seconds (default: none)")
    parser.add_argument("--search", action="append", default=[], metavar="HINT=V1,V2", help="search this hint with these values; may be repeated (default: hints that can matter)")
    parser.add_argument("--output", action="append", default=[], metavar="FILE", help="a file that must stay the same; may be repeated (default: those that the command writes)")
    parser.add_argument("--fresh", action="store_true", help="remove those files before each run; needed to search striping (default: off)")
    parser.add_argument("--file", metavar="GLOB", help="files the hints are for (default: the ending of those used most)")
    parser.add_argument("--objective", choices=("io", "time"), default="io", help="io: how long the calls of MPI-IO hold the slowest rank (default); time: the whole command")
    parser.add_argument("--factor", type=decimal(1, 1e6), default=1.5, metavar="F", help="end a trial that takes F times as long as the best (default 1.5)")
    parser.add_argument("--profile", metavar="FILE", help="write the profile to this file (default: where later runs find it)")
    parser.add_argument("--verify", metavar="PROFILE", help="search nothing and compare the hints of this profile with the default, in pairs (default: search)")
    parser.add_argument("--to", metavar="DIR", help="with --pattern: directory of the replay's files (default: beside the original ones)")
    parser.add_argument("--force", action="store_true", help="replace a frozen profile (default: off)")
    parser.add_argument("--anew", action="store_true", help="begin from the start after a search that was stopped (default: continue it)")
    parser.add_argument("--seed", type=whole(0, 2**32 - 1), default=1, metavar="N", help="random seed of the search (default 1)")
    parser.add_argument("--json", metavar="FILE", help="write all trials to this file (default: none)")
    parser.add_argument("--quiet", action="store_true", help="show no progress on a terminal (default: off)")
    parser.add_argument("--verbose", action="store_true", help="print a line for each run on stderr, also without a terminal (default: off)")
    options = parser.parse_args(words[:at])
    options.command = words[at + 1:]
    if not options.pattern and not options.command:
        parser.error("nothing to run; for example: mercutio tune -- mpirun -n 4 ./app")
    try:
        options.space = spaces.wanted(options.search)
    except spaces.SpaceError as error:
        parser.error(str(error))
    if options.fresh and options.pattern:
        parser.error("--fresh goes with a command; replays always begin without files")
    return options


unsaid = []    # errors of standard output, which end nothing


def lose_output(error):
    unsaid.append(error)
    complain(f"standard output: {error.strerror}")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())   # what is left of it, too


def say(text=None):
    """Nothing: only what is still in the buffer."""
    try:
        print(f"mercutio tune: {text}" if text else "", end="\n" if text else "", flush=True)
    except OSError as error:
        lose_output(error)


def complain(text):
    print(f"mercutio tune: {text}", file=sys.stderr)
    return 1


def listed(hints):
    return " ".join(f"{hint}={value}" for hint, value in hints.items())


class Tuning:
    def __init__(self, mercutio, options, scratch):
        self.mercutio, self.options, self.scratch = mercutio, options, scratch
        self.rules = Rules(options)
        self.search = self.pairs = None
        self.candidate = {}

    def make_runner(self):
        options = self.options
        if options.pattern:
            return PatternRunner(self.mercutio, self.scratch, "*", options.pattern, options.command, options.to)
        return CommandRunner(self.mercutio, self.scratch, options.file, options.command, options.output, options.fresh)

    def begin(self):
        """The default, twice: what it takes, and which files are the same each time."""
        self.runner = self.make_runner()
        self.rules.progress("the default, twice")
        first, second = self.runner.run({}), self.runner.run({})
        self.rules.reference = first.digests
        self.rules.unstable = {path for path, value in first.digests.items() if not value or second.digests.get(path) != value}
        self.default = min(first, second, key=self.rules.measure)
        self.rules.patience = 20 * max(first.seconds, second.seconds) + 60
        self.glob = self.options.file or profile.glob_for(self.default)
        self.runner.glob = "*" if self.options.pattern else self.glob   # replays have their own directories
        self.path = self.options.profile or profile.path_for(self.default)
        for path in sorted(self.rules.unstable):
            say(f"note: {path} is not the same after each run of the default, so it can't be compared")
        if not self.rules.compared():
            say("note: there is no file to compare; --output FILE names one")

    def make_space(self):
        fresh = self.options.fresh or bool(self.options.pattern)
        space = dict(self.options.space) or spaces.usual(self.default, fresh)
        for hint, origin in spaces.fixed_by_user(self.default).items():
            if space.pop(hint, None):
                say(f"note: {hint} is left as it is: {origin} sets it, which wins over the tuner")
        return space

    def stopped_path(self):
        return f"{self.path}.stopped"

    def stopped_search(self):
        """What a search must have in common with an earlier one to go on with it."""
        return {"command": self.options.command, "pattern": self.options.pattern, "objective": self.options.objective, "space": self.search.space}

    def find(self, optuna):
        """False where there is nothing to search."""
        space = self.make_space()
        if not space:
            self.rules.end_progress()
            say("nothing is kept: there is no hint that could matter for this I/O; --search HINT=VALUE,VALUE names one")
            return False
        self.search = Search(self.runner, space, self.rules)
        earlier = [] if self.options.anew else stopped.read(self.stopped_path(), self.stopped_search())
        if earlier:
            say(f"going on with a search that was stopped, after {len(earlier)} choices of hints; --anew begins from the start")
        self.search.begin(self.default, earlier)
        self.search.go(optuna, self.options.trials)
        self.candidate = self.search.best.hints
        return True

    def decide(self):
        """The pairs; True when the candidate is to be kept."""
        self.pairs = Pairs(self.options.pairs)
        if not self.candidate:
            return False
        try:
            self.pairs.take(self.runner, self.candidate, self.rules)
        except (self.rules.Differs, RunError, TooLong) as trouble:
            complain(f"{listed(self.candidate)}: {trouble or 'took too long'}")
            return False
        return self.pairs.won()

    def text(self, verified):
        evidence = {"pairs": self.pairs or Pairs(0), "verified": verified, "runs": self.runner.count, "compared": self.rules.compared(),
                    "command": shlex.join(self.options.command) or f"replay of {self.options.pattern}",
                    "objective": "seconds that MPI-IO held the slowest rank" if self.options.objective == "io" else "seconds of the whole run"}
        return profile.text_of(self.default, profile.place_of(self.default), self.glob, self.candidate, evidence)

    def conclude(self, kept):
        unit = "I/O" if self.options.objective == "io" else "the run"
        pairs = self.pairs
        if self.rules.differing:
            complain(f"with some hints {', '.join(sorted(set(self.rules.differing)))} came out differently; these hints were left out, and this is an error worth a report")
        if kept:
            say(f"{unit} is {pairs.gain:.2f} times as fast with {listed(self.candidate)}")
            say(f"it won {pairs.wins} of {pairs.done} pairs of runs (sign test {pairs.level:.4f}); {self.runner.count} runs in all")
            profile.write(self.path, self.text(True))
            stopped.forget(f"{self.path}.unverified")
            stopped.forget(self.stopped_path())
            say(f"written to {self.path}; later runs use it by themselves" if not self.options.profile else f"written to {self.path}; use it with MERCUTIO_PROFILE={self.path}")
            return 0
        stopped.forget(self.stopped_path())
        if self.candidate:
            say(f"nothing is kept: {listed(self.candidate)} seemed better; it won {pairs.wins} of {pairs.done} pairs of runs "
                f"at {pairs.gain:.2f} times the speed (needed: a sign test of at most {SURE} over {pairs.planned} pairs, and {WORTH} times)")
        elif self.search and len(self.search.trials) == 1:
            say(f"nothing is kept: the time limit was reached before any hint was tried, after {self.runner.count} runs of the default; --time-limit gives more")
        else:
            say(f"nothing is kept: no hints were faster than the default, in {self.runner.count} runs")
        return NOTHING_BETTER

    def interrupted(self):
        if self.search:
            self.candidate = self.candidate or self.search.best.hints
            stopped.write(self.stopped_path(), self.stopped_search(), self.search.trials[1:])   # first: what follows may fail
        if hasattr(self, "runner"):
            self.write_json()
        if not self.search:
            complain("stopped; nothing was measured yet, and nothing is kept" if not self.options.verify else f"stopped; {self.options.verify} is as it was")
            return STOPPED
        default, measured = self.search.default.value, f"stopped after {self.runner.count} runs"
        if not self.candidate:
            complain(f"{measured}; nothing was faster than the default until then ({default:.4f} s); the same command goes on from here")
            return STOPPED
        path = f"{self.path}.unverified"
        profile.write(path, self.text(False))
        best = self.search.known(dict(dict.fromkeys(self.search.space, spaces.DEFAULT), **self.candidate))
        figures = f" ({best.value:.4f} s; {default:.4f} s by default)" if best and best.value is not None else ""
        complain(f"{measured}; the best until then, {listed(self.candidate)}{figures}, is in {path}. Later runs don't use it by themselves, as it was "
                 f"not compared with the default: the same command goes on from here, --verify {path} only compares, and MERCUTIO_PROFILE={path} uses it as it is")
        return STOPPED

    def write_json(self):
        """False where it can't be written."""
        if not self.options.json:
            return True
        trials = [{"hints": trial.hints, "seconds": trial.value, "runs": trial.values, "trouble": trial.trouble} for trial in (self.search.trials if self.search else [])]
        pairs = {"default": self.pairs.default, "tuned": self.pairs.tuned} if self.pairs else None
        try:
            with open(self.options.json, "w", encoding="utf-8") as stream:
                json.dump({"trials": trials, "best": self.candidate, "pairs": pairs, "runs": self.runner.count}, stream, indent=1)
        except OSError as error:
            complain(f"--json {self.options.json}: {error.strerror}")
            return False
        return True

    def run(self, optuna):
        self.candidate = files.check(self.options)
        self.begin()
        if profile.is_frozen(self.path) and not self.options.force:
            return complain(f"{self.path} is frozen; --force replaces it, --profile FILE writes another")
        if not self.options.verify and not self.find(optuna):
            return NOTHING_BETTER if self.write_json() else 1
        kept = self.decide()
        self.rules.end_progress()
        try:
            code = self.conclude(kept)
        except OSError as error:
            code = complain(f"the profile can't be written: {error}")
        return code if self.write_json() else 1


def tune(mercutio, options, optuna):
    with tempfile.TemporaryDirectory(prefix="mercutio-tune.", dir=options.to or ".") as scratch:
        tuning = Tuning(mercutio, options, scratch)
        try:
            return tuning.run(optuna)
        except KeyboardInterrupt:
            for number in STOPS:
                signal.signal(number, signal.SIG_IGN)   # what was measured is written down first
            runs.end_descendants()
            tuning.rules.end_progress()
            return tuning.interrupted()
        except (NotApplied, files.FileError) as error:
            tuning.rules.end_progress()
            return complain(str(error))
        except RunError as error:
            tuning.rules.end_progress()
            return complain(f"the run with the default can't be used: {error}" if not options.pattern else str(error))


def main(mercutio, words):
    for number in STOPS:
        signal.signal(number, signal.default_int_handler)
    try:
        code = prepared(mercutio, words)
    except SystemExit as end:   # --help, and wrong usage
        code = end.code
    except OSError as error:    # the text of --help, which is longer than the buffer
        lose_output(error)
        code = 1
    except KeyboardInterrupt:
        complain("stopped; nothing was measured yet, and nothing is kept")
        code = STOPPED
    say()
    return code if code != 0 or not unsaid else 1


def prepared(mercutio, words):
    options = parse(words)
    optuna = None
    try:
        spaces.check(mercutio, options.space)
    except (spaces.SpaceError, OSError) as error:
        complain(str(error))
        return 2
    if not options.verify:
        try:
            import optuna
        except ImportError:
            return complain("needs Python's optuna (Debian: apt install python3-optuna; elsewhere: pip install optuna, and MERCUTIO_PYTHON names the Python that has it)")
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    try:
        return tune(mercutio, options, optuna)
    except OSError as error:
        return complain(str(error))
