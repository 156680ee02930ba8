"""A search that was stopped: its trials, so that the same command can go on. The last run's times decide nothing by themselves: the
leaders run again, and in pairs with the default."""
import json
from pathlib import Path

from .profile import write as write_at_once
from .search import Trial


def write(path, search, trials):
    told = [{"choice": trial.choice, "values": trial.values, "trouble": trial.trouble} for trial in trials]
    write_at_once(path, json.dumps({"search": search, "trials": told}, indent=1) + "\n")


def read(path, search):
    """The trials; none where there is no such file, or one of another search."""
    try:
        state = json.loads(Path(path).read_text(encoding="utf-8"))
        if state["search"] != search:
            return []
        return [Trial(trial["choice"], trial["values"], None, trial["trouble"]) for trial in state["trials"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def forget(path):
    Path(path).unlink(missing_ok=True)
