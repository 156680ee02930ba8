#!/usr/bin/env python3
"""The tuner on runs that are made up: what it finds, what it refuses, what it leaves behind. tune_test.py FOLDER-OF-tools/tune"""
import contextlib
import io
import json
import os
import random
import sys
import tempfile
import time
import unittest
import warnings
from pathlib import Path

sys.path.insert(0, sys.argv.pop(1))

from mercutio_tune import command, files, profile, space as spaces   # noqa: E402
from mercutio_tune.runs import CommandRunner, NotApplied, PatternRunner, Process, Run, RunError, TooLong, digest, local_path, sections   # noqa: E402
from mercutio_tune.search import Search   # noqa: E402
from mercutio_tune.verify import Pairs, sign_test   # noqa: E402

NOTES = "cb_nodes=2 (site file /etc/x.toml:3): applied\nromio_ds_write=enable (MPI_Info): applied\nmercutio_depth=9 (MPI_Info): not applied, must be from 0 to 4\n"


def job(**totals):
    file = {"name": "out/field.nc", "file_system": "ext4", "seconds": 1.0, "totals": {"collective_write.calls": 10, **totals},
            "by_rank": [{"ranks": 8}] * 8, "texts": [{"kind": "notes", "text": NOTES}]}
    return {"program": "app", "pattern": "0123456789abcdef", "hosts": 1, "files": [file]}


class Runner:
    """Takes as long as `cost(hints)` says, give or take noise."""

    def __init__(self, cost, noise=0.01):
        self.cost, self.noise, self.random = cost, noise, random.Random(3)
        self.count, self.asked, self.stop_after = 0, [], None

    def run(self, hints, limit=None):
        self.count += 1
        self.asked.append(dict(hints))
        if self.stop_after is not None and self.count > self.stop_after:
            raise KeyboardInterrupt
        seconds = self.cost(hints)
        if isinstance(seconds, str):
            raise RunError(seconds)
        seconds *= self.random.uniform(1 - self.noise, 1 + self.noise)
        if limit is not None and seconds > limit:
            raise TooLong()
        return Run(seconds, seconds, job(), {"out": "broken" if hints.get("romio_cb_read") == "disable" else "same"})


def options(*words):
    return command.parse([*words, "--quiet", "--", "app"])


class TuneTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        os.environ["XDG_CONFIG_HOME"] = self.folder.name
        self.written = Path(self.folder.name) / "mercutio/tuned/app-0123456789abcdef.toml"

    def tune(self, runner, *words):
        import optuna
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
        tuning = command.Tuning("mercutio", options(*words), self.folder.name)
        tuning.make_runner = lambda: runner
        try:
            return tuning, tuning.run(optuna)
        except KeyboardInterrupt:
            return tuning, tuning.interrupted()

    SEARCH = ("--search", "cb_nodes=1,2,4,8", "--search", "cb_buffer_size=1MiB,4MiB,16MiB", "--search", "mercutio_depth=1,2,4")

    @staticmethod
    def cost(hints):
        """100 choices; the best is 1 s, the default 5 s; nodes and buffer matter together."""
        seconds = 1.0
        seconds += {"default": 3, "1": 3, "2": 1.5, "4": 0, "8": 0.8}[hints.get("cb_nodes", "default")]
        seconds += {"default": 1, "1MiB": 1.2, "4MiB": 0.5, "16MiB": 0}[hints.get("cb_buffer_size", "default")]
        return seconds + {"default": 0, "1": 0.4, "2": 0.1, "4": 0.05}[hints.get("mercutio_depth", "default")]

    def test_finds_the_best_in_a_fraction_of_all_choices(self):
        runner = Runner(self.cost)
        tuning, code = self.tune(runner, "--trials", "20", *self.SEARCH)
        self.assertEqual(code, 0)
        self.assertEqual(tuning.candidate, {"cb_nodes": "4", "cb_buffer_size": "16MiB"})
        self.assertLessEqual(len(tuning.search.trials) - 1, 20)
        choices = [tuple(sorted(trial.hints.items())) for trial in tuning.search.trials]
        self.assertEqual(len(choices), len(set(choices)), "a choice was run twice")
        text = self.written.read_text()
        for part in ('application = "app"', "ranks = 8", "frozen = false", "pairs_won = 8", '["*.nc"]\n', 'cb_nodes = 4\n', 'cb_buffer_size = "16MiB"\n'):
            self.assertIn(part, text)
        self.assertEqual(profile.hints_in(self.written), tuning.candidate)

    def test_noise_is_no_gain(self):
        tuning, code = self.tune(Runner(lambda hints: 1.0, noise=0.2), "--trials", "12", *self.SEARCH)
        self.assertEqual(code, command.NOTHING_BETTER)
        self.assertFalse(self.written.exists())
        self.assertFalse(tuning.pairs.won())

    def test_too_small_a_gain_is_none(self):
        _, code = self.tune(Runner(lambda hints: 0.99 if hints else 1.0, noise=0.0001), "--trials", "4", *self.SEARCH)
        self.assertEqual(code, command.NOTHING_BETTER)

    def test_slow_and_failing_trials_are_no_answers(self):
        def cost(hints):
            if hints.get("cb_nodes") == "1":
                return "it ended with code 1"
            return 100.0 if hints.get("cb_nodes") == "2" else self.cost(hints)
        tuning, code = self.tune(Runner(cost), "--trials", "20", *self.SEARCH)
        self.assertEqual(code, 0)
        troubles = {trial.trouble for trial in tuning.search.trials if trial.hints.get("cb_nodes") in ("1", "2")}
        self.assertEqual(troubles, {"it ended with code 1", "ended: slower than the best so far"})

    def test_hints_that_change_a_file_are_left_out(self):
        tuning, code = self.tune(Runner(lambda hints: 0.1 if hints.get("romio_cb_read") == "disable" else 1.0), "--search", "romio_cb_read=enable,disable", "--trials", "4")
        self.assertEqual(code, command.NOTHING_BETTER)
        self.assertEqual(tuning.rules.differing, ["out"])
        self.assertEqual(tuning.candidate, {})

    def test_the_default_must_work(self):
        with self.assertRaisesRegex(RunError, "code 7"):
            self.tune(Runner(lambda hints: "it ended with code 7"), *self.SEARCH)

    def test_stopped_it_keeps_the_best_so_far_apart(self):
        runner = Runner(self.cost)
        runner.stop_after = 12
        _, code = self.tune(runner, "--trials", "40", *self.SEARCH)
        self.assertEqual(code, command.STOPPED)
        self.assertFalse(self.written.exists())
        apart = Path(f"{self.written}.unverified")
        self.assertIn("NOT VERIFIED", apart.read_text())
        runner = Runner(self.cost)
        _, code = self.tune(runner, "--verify", str(apart))
        self.assertEqual(code, 0)
        self.assertEqual(runner.count, 2 + 16)
        self.assertTrue(self.written.exists())

    def test_the_same_command_goes_on_where_it_was_stopped(self):
        first = Runner(self.cost)
        first.stop_after = 12
        self.tune(first, "--trials", "20", *self.SEARCH)
        kept = Path(f"{self.written}.stopped")
        self.assertTrue(kept.exists())
        second = Runner(self.cost)
        tuning, code = self.tune(second, "--trials", "20", *self.SEARCH)
        self.assertEqual(code, 0)
        self.assertEqual(tuning.candidate, {"cb_nodes": "4", "cb_buffer_size": "16MiB"})
        searched = lambda runner: {tuple(sorted(hints.items())) for hints in runner.asked if hints}
        again = searched(first) & searched(second)
        self.assertLessEqual(len(again), 5, "choices of the first part were tried again")   # the leaders and the one under way
        self.assertLessEqual(second.count, 2 + 10 + 16)
        self.assertFalse(kept.exists(), "what is concluded needs no state")

    def test_stopped_without_a_place_for_the_table_it_can_go_on(self):
        first = Runner(self.cost)
        first.stop_after = 12
        with contextlib.redirect_stderr(io.StringIO()) as said:
            _, code = self.tune(first, "--trials", "20", "--json", "/dev/full", *self.SEARCH)
        self.assertEqual(code, command.STOPPED)
        self.assertIn("--json /dev/full: No space", said.getvalue())
        second = Runner(self.cost)
        tuning, code = self.tune(second, "--trials", "20", *self.SEARCH)
        self.assertEqual(code, 0)
        self.assertLessEqual(second.count, 2 + 10 + 16)

    def test_without_a_place_for_the_table_the_profile_is_kept(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            _, code = self.tune(Runner(self.cost), "--trials", "20", "--json", "/dev/full", *self.SEARCH)
        self.assertEqual(code, 1)
        self.assertIn("--json /dev/full: No space", said.getvalue())
        self.assertIn("cb_nodes = 4", self.written.read_text())

    def test_without_a_place_for_the_profile_the_result_is_said(self):
        runner, place = Runner(self.cost), Path(self.folder.name) / "place"
        trials = Path(self.folder.name) / "trials.json"
        runner.cost = lambda hints: (place.write_text("in the way") if not place.exists() else None, self.cost(hints))[1]
        with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(io.StringIO()) as complaint:
            _, code = self.tune(runner, "--trials", "20", "--profile", str(place / "p.toml"), "--json", str(trials), *self.SEARCH)
        self.assertEqual(code, 1)
        self.assertIn("times as fast with cb_nodes=4 cb_buffer_size=16MiB", said.getvalue())
        self.assertIn("the profile can't be written", complaint.getvalue())
        self.assertEqual(json.loads(trials.read_text())["best"]["cb_nodes"], "4")

    def test_files_are_checked_before_the_first_run(self):
        nowhere, binary, file = f"{self.folder.name}/nowhere", Path(self.folder.name) / "binary", Path(self.folder.name) / "file"
        binary.write_bytes(bytes(range(256)))
        file.write_text("")
        for words in (["--json", f"{nowhere}/all.json"], ["--json", self.folder.name], ["--profile", self.folder.name], ["--profile", f"{file}/p.toml"],
                      ["--verify", nowhere], ["--verify", str(binary)], ["--verify", self.folder.name]):
            runner = Runner(self.cost)
            with self.assertRaises(files.FileError):
                self.tune(runner, *words, *self.SEARCH)
            self.assertEqual(runner.count, 0, words)
        os.environ["XDG_CONFIG_HOME"] = str(file)
        with self.assertRaisesRegex(files.FileError, "--profile FILE names another place"):
            self.tune(Runner(self.cost), *self.SEARCH)

    def test_another_search_does_not_go_on(self):
        first = Runner(self.cost)
        first.stop_after = 12
        self.tune(first, *self.SEARCH)
        kept = Path(f"{self.written}.stopped")
        state = kept.read_text()
        for words in (("--search", "cb_nodes=1,2,4"), ("--anew", *self.SEARCH), ("--objective", "time", *self.SEARCH)):
            kept.write_text(state)
            tuning, _ = self.tune(Runner(self.cost), "--trials", "1", *words)
            self.assertLessEqual(len(tuning.search.trials), 2, words)
        for broken in ("", "{}", "[1]", '{"search": 1, "trials": 2}'):
            kept.write_text(broken)
            self.assertEqual(self.tune(Runner(self.cost), "--trials", "1", *self.SEARCH)[0].search.runs, 1, broken)

    def test_who_leads_by_luck_falls_back(self):
        class Lucky(Runner):
            def run(self, hints, limit=None):
                run = super().run(hints, limit)
                if hints == {"cb_nodes": "1"} and self.asked.count(hints) == 1:
                    run.io_seconds = 0.1
                return run
        runner = Lucky(lambda hints: {"1": 2.0, "2": 0.5}.get(hints.get("cb_nodes"), 1.0))
        tuning, code = self.tune(runner, "--search", "cb_nodes=1,2", "--search", "mercutio_depth=1", "--trials", "10")
        self.assertEqual(code, 0)
        self.assertEqual(tuning.candidate, {"cb_nodes": "2"})

    def test_hints_that_do_nothing_are_left_out(self):
        tuning, _ = self.tune(Runner(lambda hints: 0.5 if hints.get("cb_nodes") == "2" else 1.0), "--search", "mercutio_depth=1,2", "--search", "cb_nodes=1,2", "--trials", "10")
        self.assertEqual(tuning.candidate, {"cb_nodes": "2"})

    def test_hints_that_matter_come_first(self):
        runner = Runner(lambda hints: {"4": 0.3, "2": 0.6, "1": 2.0}.get(hints.get("cb_nodes"), 1.0), noise=0)
        tuning, _ = self.tune(runner, "--search", "mercutio_depth=1,2,4", "--search", "romio_ds_read=enable,automatic", "--search", "cb_nodes=1,2,4", "--trials", "6")
        self.assertEqual(tuning.candidate, {"cb_nodes": "4"})

    def test_a_frozen_profile_stays(self):
        self.written.parent.mkdir(parents=True)
        self.written.write_text("[profile]\nfrozen = true   # for the campaign\n")
        _, code = self.tune(Runner(self.cost), *self.SEARCH)
        self.assertEqual(code, 1)
        self.assertIn("campaign", self.written.read_text())
        self.assertEqual(self.tune(Runner(self.cost), "--force", *self.SEARCH)[1], 0)

    def test_what_somebody_set_is_left_alone(self):
        tuning, _ = self.tune(Runner(lambda hints: 1.0), "--search", "romio_ds_write=enable,disable", "--search", "cb_nodes=1,2", "--trials", "3")
        self.assertEqual(list(tuning.search.space), ["cb_nodes"])

    def test_without_a_hint_to_search_that_is_all_it_says(self):
        said, trials = io.StringIO(), Path(self.folder.name) / "trials.json"
        with contextlib.redirect_stdout(said):
            tuning, code = self.tune(Runner(lambda hints: 1.0), "--search", "romio_ds_write=enable,disable", "--json", str(trials))
        self.assertEqual(code, command.NOTHING_BETTER)
        self.assertIn("no hint that could matter", said.getvalue())
        self.assertNotIn("faster than the default", said.getvalue())
        self.assertEqual(json.loads(trials.read_text())["runs"], tuning.runner.count)

    def test_a_time_limit_that_allows_no_trial_is_said(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            tuning, code = self.tune(Runner(lambda hints: 100.0), "--search", "cb_nodes=1,2", "--time-limit", "1")
        self.assertEqual((code, tuning.runner.count), (command.NOTHING_BETTER, 2))
        self.assertIn("the time limit was reached before any hint was tried, after 2 runs of the default", said.getvalue())
        self.assertNotIn("faster", said.getvalue())

    def test_the_usual_space_follows_what_was_done(self):
        run = Run(1, 1, job(**{"independent_read.strided_calls": 3}), {})
        space = spaces.usual(run, fresh=True)
        self.assertIn("cb_nodes", space)
        self.assertIn("romio_ds_read", space)
        self.assertNotIn("romio_ds_write", space)
        self.assertNotIn("striping_factor", space)
        run.main_file["file_system"] = "lustre"
        self.assertIn("striping_factor", spaces.usual(run, fresh=True))
        self.assertNotIn("striping_factor", spaces.usual(run, fresh=False))

    def test_the_usual_space_has_no_value_that_does_nothing(self):
        run = Run(1, 1, job(**{"independent_write.small_calls": 3, "independent_write.strided_calls": 3, "independent_read.strided_calls": 3}), {})
        space = spaces.usual(run, fresh=False)
        for hint, default in (("cb_buffer_size", "8MiB"), ("mercutio_depth", "2"), ("ind_wr_buffer_size", "512KiB"), ("ind_rd_buffer_size", "4MiB"), ("mercutio_cache_bytes", "1MiB")):
            self.assertIn(hint, space)
            self.assertNotIn(default, space[hint], hint)
        self.assertLess(list(space).index("mercutio_write_behind"), list(space).index("mercutio_cache_bytes"), "which does nothing without it")
        self.assertNotIn("mercutio_read_ahead", space)
        run.job["hosts"] = 4
        self.assertNotEqual(spaces.usual(run, fresh=False)["cb_buffer_size"], space["cb_buffer_size"])

    def test_sign_test(self):
        self.assertAlmostEqual(sign_test(8, 8), 1 / 256)
        self.assertAlmostEqual(sign_test(7, 8), 9 / 256)
        pairs = Pairs(8)
        pairs.default, pairs.tuned = [1.0, 1.0], [2.0, 2.0]
        self.assertTrue(pairs.hopeless())

    def test_wrong_usage(self):
        for words in (["--trials", "0"], ["--pairs", "4"], ["--search", "cb_nodes"], ["--search", "=1"], ["--factor", "1"], ["--fresh", "--pattern", "x"],
                      ["--search", "cb_nodes=1", "--search", "cb_nodes=2"], ["--search", "cb_nodes=default,2"], ["--time-limit", "nan"], ["--time-limit", "1e400"],
                      ["--trials", "9" * 300], ["--pairs", "9" * 300], ["--seed", "9" * 300], ["--factor", "9" * 400]):
            with self.assertRaises(SystemExit) as left, open(os.devnull, "w", encoding="utf-8") as nothing:
                sys.stderr, before = nothing, sys.stderr
                try:
                    options(*words)
                finally:
                    sys.stderr = before
            self.assertEqual(left.exception.code, 2, words)

    def test_a_stop_before_anything_was_measured_is_said(self):
        runner = Runner(self.cost)
        runner.stop_after = 1
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            _, code = self.tune(runner, "--json", str(Path(self.folder.name) / "trials.json"), *self.SEARCH)
        self.assertEqual(code, command.STOPPED)
        self.assertIn("nothing was measured yet", said.getvalue())

    def test_a_stop_tells_and_writes_what_was_measured(self):
        runner = Runner(self.cost)
        runner.stop_after = 14
        said, trials = io.StringIO(), Path(self.folder.name) / "trials.json"
        with contextlib.redirect_stderr(said):
            tuning, _ = self.tune(runner, "--trials", "40", "--json", str(trials), *self.SEARCH)
        self.assertRegex(said.getvalue(), r"stopped after 15 runs; the best until then, .* \([0-9.]+ s; [45]\.[0-9]+ s by default\), is in ")
        self.assertEqual(len(json.loads(trials.read_text())["trials"]), len(tuning.search.trials))

    def test_all_that_a_run_started_ends_with_it(self):
        pid = Path(self.folder.name) / "pid"
        script = Path(self.folder.name) / "away.sh"
        script.write_text(f"trap '' TERM\necho $$ >{pid}\nsleep 60\nsleep 60\n")
        for seconds in (1, 2, 4, 8, 16):   # a busy machine may take longer to start it
            process = Process(["sh", "-c", f"setsid sh {script} & sleep 60"], dict(os.environ), None)
            with self.assertRaises(TooLong):
                process.wait(seconds)
            if pid.exists() and pid.read_text().strip():
                break
        away = Path("/proc") / pid.read_text().strip()
        for _ in range(100):
            if not away.exists():
                break
            time.sleep(0.1)
        self.assertFalse(away.exists(), "a process in a session of its own goes on")

    # Stands in for the mercutio command: a run notes where its hints come from, as the library does where it can read them.
    COMMAND = """#!/bin/sh
case "$1" in
  run) shift 2; exec "$@" ;;
  report) cat "$2" ;;
esac
"""
    APP = """cd away && echo data >out || exit 2
[ -z "$IGNORED" ] && [ -r "$MERCUTIO_PROFILE" ] && notes="mercutio_adapt=disable (tuner $MERCUTIO_PROFILE:2): applied"
cat >"$MERCUTIO_TRACE" <<END
{"program": "app", "pattern": "1", "hosts": 1, "run": {"directory": "$PWD"}, "rank_traces": [{"held_seconds": 1}], "files": [
  {"name": "out", "seconds": 1, "totals": {"collective_write.bytes": 5}, "by_rank": [], "texts": [{"kind": "notes", "text": "$notes"}]}]}
END
"""

    def test_a_command_may_change_its_directory(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder.name)
        os.mkdir("away")
        os.mkdir("scratch")
        Path("mercutio").write_text(self.COMMAND)
        os.chmod("mercutio", 0o755)
        runner = CommandRunner("./mercutio", "scratch", None, ["sh", "-c", self.APP], [], True)   # a relative folder
        run = runner.run({"cb_nodes": "1"})
        out = os.path.join(os.getcwd(), "away", "out")
        self.assertEqual(run.digests, {out: digest(out)})
        self.assertNotEqual(run.digests[out], "")
        self.assertEqual(profile.place_of(run), out)
        os.environ["IGNORED"] = "1"
        self.addCleanup(os.environ.pop, "IGNORED")
        with self.assertRaisesRegex(NotApplied, "do not reach the program"):
            runner.run({"cb_nodes": "1"})

    def test_a_pattern_is_replayed_where_its_files_were(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder.name)
        os.makedirs("away/out")
        Path("mercutio").write_text(self.COMMAND)
        os.chmod("mercutio", 0o755)
        Path("trace").write_text(json.dumps(dict(job(), run={"directory": os.path.abspath("away")})))
        runner = PatternRunner("./mercutio", ".", "*", "trace", [], None)
        self.addCleanup(runner.data.cleanup)
        self.assertEqual(os.path.dirname(runner.data.name), os.path.abspath("away/out"))

    def test_hints_of_a_profile_are_what_is_written(self):
        hints = {"cb_nodes": "4", "cb_config_list": 'a #1:2,"b"', "romio_ds_read": "disable"}
        path = Path(self.folder.name) / "kept.toml"
        path.write_text('# by hand\n[profile]  # whose\nranks = 8\n' + sections("a #b*", hints) + "mercutio_depth = '2'   # \"quoted\"\n#cb_buffer_size = 1\n")
        self.assertEqual(profile.hints_in(path), dict(hints, mercutio_depth="2"))

    def test_names_and_digests(self):
        self.assertEqual(local_path("ufs:/scratch/a"), "/scratch/a")
        self.assertEqual(local_path("run:1/a"), "1/a")
        self.assertEqual(local_path("a/b:c"), "a/b:c")
        self.assertEqual(digest("/no/such/file"), "")
        self.assertEqual(profile.glob_for(Run(1, 1, job(), {})), "*.nc")


if __name__ == "__main__":
    unittest.main()
