"""The profile: hints for later runs, whom they are for, and the evidence. docs/users/tuning.md describes it."""
import json
import os
import re
import subprocess
import time
from pathlib import Path
from statistics import median

from .runs import path_of, sections


def folder():
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return Path(base) / "mercutio" / "tuned"


def path_for(run):
    return folder() / f"{run.job['program']}-{run.job['pattern'] or 'unknown'}.toml"


def is_frozen(path):
    try:
        return re.search(r"^frozen\s*=\s*true", Path(path).read_text(encoding="utf-8", errors="replace"), re.M) is not None
    except OSError:
        return False


def file_system_key(path):
    """As the library's file_system_key(): of the directory that the file is in."""
    directory = os.path.dirname(path) or "."
    done = subprocess.run(["stat", "-f", "-c", "0x%t", directory], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def glob_for(run):
    """The ending that all files have which were written or read much, else every file."""
    busy = [file["name"] for file in run.job["files"] if file["seconds"] >= 0.1 * run.main_file["seconds"]]
    endings = {os.path.splitext(name)[1] for name in busy}
    ending = endings.pop() if len(endings) == 1 else ""
    return f"*{ending}" if re.fullmatch(r"\.[A-Za-z]\w*", ending) else "*"


def numbers(values):
    return "[" + ", ".join(f"{value:.6f}" for value in values) + "]"


def text_of(run, place, glob, hints, evidence):
    """`place`: a file where the measured ones were."""
    pairs = evidence["pairs"]
    lines = ["# Found by mercutio tune. Later runs of this application use it by themselves; MERCUTIO_PROFILE=0 does without,",
             "# MERCUTIO_PROFILE=FILE uses this file alone, for any run."]
    if not evidence["verified"]:
        lines.append("# NOT VERIFIED: the tuner was stopped before it could compare it with the default in pairs of runs.")
    lines += ["[profile]",
              f"application = {json.dumps(run.job['program'])}",
              f"ranks = {run.file_ranks}                  # that open the file together",
              f'file_system = "{file_system_key(place)}"      # {run.file_system}, as stat -f -c %t says',
              f"pattern = {json.dumps(run.job['pattern'])}",
              "frozen = false             # true: mercutio tune leaves this file as it is",
              "",
              "# The evidence.",
              f'made = "{time.strftime("%Y-%m-%d %H:%M:%S")}"',
              f"command = {json.dumps(evidence['command'])}",
              f'measured = "{evidence["objective"]}"']
    if pairs.done:
        lines += [f"gain = {pairs.gain:.3f}                # times as fast as the default, by the medians",
                  f"default_seconds = {median(pairs.default):.6f}",
                  f"tuned_seconds = {median(pairs.tuned):.6f}",
                  f"default_runs = {numbers(pairs.default)}",
                  f"tuned_runs = {numbers(pairs.tuned)}",
                  f"pairs_won = {pairs.wins}",
                  f"pairs = {pairs.done}",
                  f"sign_test = {pairs.level:.4f}         # so likely is it that equals win so often"]
    lines += [f"runs = {evidence['runs']}", f"files_compared = {json.dumps(evidence['compared'])}", ""]
    return "\n".join(lines) + "\n" + sections(glob, hints)


def write(path, text):
    """At once or not at all: running jobs may read it."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.write_text(text, encoding="utf-8")
        os.replace(fresh, path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise


HINT = re.compile(r"""\s*(?P<key>[\w-]+)\s*=\s*(?P<value>"(?:[^"\\]|\\.)*"|'[^']*'|[^#]*)""")   # behind it, a comment


def value_of(text):
    """Of a value in TOML: text in quotes, or a number."""
    try:
        return json.loads(text) if text.startswith('"') else text.strip("'")
    except ValueError:   # an escape that JSON doesn't have
        return text.strip('"')


def hints_in(path):
    """The hints of a profile, as {hint: value}: what --verify compares. What is no text holds none."""
    hints, inside = {}, False
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return hints
    for line in text.splitlines():
        if line.lstrip().startswith("["):
            inside = not re.match(r"\s*\[\s*profile\s*\]", line)
        elif inside and (entry := HINT.match(line)):
            hints[entry["key"]] = value_of(entry["value"].strip())
    return hints


def place_of(run):
    return path_of(run.job, run.main_file["name"])
