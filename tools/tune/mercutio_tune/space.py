"""Which hints are searched, and with which values: those that can matter for what the default run was seen to do."""
import json
import re
import subprocess
import tempfile
from itertools import combinations, product

DEFAULT = "default"
# Where hints come from that the tuner may change: what somebody said in so many words stays.
TUNABLE_ORIGINS = ("measured", "site file", "tuner", "default")
STRIPED = ("lustre", "beegfs", "gpfs", "pvfs", "orangefs")


class SpaceError(Exception):
    pass


def doublings(low, high):
    values = []
    while low <= high:
        values.append(low)
        low *= 2
    return values


def fixed_by_user(run):
    """Hints that the program or the user has set, from the notes of the trace: {name: origin}."""
    fixed = {}
    for notes in run.notes:
        for line in notes.splitlines():
            key, found, rest = line.partition("=")
            origin = rest.partition(" (")[2].partition("): ")[0]
            if found and origin and rest.endswith("applied") and not origin.startswith(TUNABLE_ORIGINS):
                fixed[key] = origin
    return fixed


def windows(run):
    """Sizes that change a plan (src/plan/rounds.cpp): without them a window has 512 KiB on one node, else mostly 2 MiB or a stripe."""
    local = run.nodes == 1 and run.file_system not in STRIPED
    return ["128KiB", "256KiB"] if local else ["256KiB", "512KiB", "1MiB"]


def usual(run, fresh):
    """{hint: values}, without the default and what is the same, most promising first."""
    space = {}
    ranks = run.file_ranks
    if run.totals("collective_write.calls") + run.totals("collective_read.calls") > 0:
        space["mercutio_strategy"] = ["two_phase", "individual"]
        space["cb_nodes"] = [str(n) for n in sorted({1, *doublings(2, min(ranks, 64)), ranks})][-5:] if ranks > 1 else []
        space["cb_buffer_size"] = windows(run)
        space["mercutio_depth"] = ["1", "4"]
        if ranks > 1:
            space["mercutio_exchange"] = ["messages", "shared_memory"] if run.nodes > 1 else ["messages"]
        if run.nodes > 1:
            space["mercutio_order"] = ["ring", "nd_shift"]
    if run.totals("independent_write.strided_calls") > 0:
        space["romio_ds_write"] = ["enable", "disable"]
        space["ind_wr_buffer_size"] = ["64KiB", "4MiB", "16MiB"]
    if run.totals("independent_read.strided_calls") > 0:
        space["romio_ds_read"] = ["enable", "disable"]
        space["ind_rd_buffer_size"] = ["1MiB", "16MiB"]
    writes, reads = run.totals("independent_write.small_calls"), run.totals("independent_read.small_calls")
    if writes > 0:
        space["mercutio_write_behind"] = ["enable"]
    if reads > 0:
        space["mercutio_read_ahead"] = ["enable"]
    if writes + reads > 0:
        space["mercutio_cache_bytes"] = ["256KiB", "8MiB"]   # does something where one of the two is on
    if fresh and run.file_system in STRIPED:
        space["striping_factor"] = ["1", "4", "16", "64"]
        space["striping_unit"] = ["1MiB", "4MiB", "16MiB"]
    return {hint: values for hint, values in space.items() if values}


def wanted(texts):
    """From --search hint=v1,v2."""
    space = {}
    for text in texts:
        hint, found, values = text.partition("=")
        listed = [value.strip() for value in values.split(",") if value.strip()]
        if not found or not hint or not listed:
            raise SpaceError(f"--search {text}: must be hint=value,value,...")
        if hint.strip() in space:
            raise SpaceError(f"--search {text}: {hint.strip()} is given twice; write all its values behind one =")
        if DEFAULT in listed:
            raise SpaceError(f"--search {text}: the default is always tried and needs no mention")
        space[hint.strip()] = list(dict.fromkeys(listed))
    return space


def check(mercutio, space):
    """SpaceError for what the library would not take. It is asked by a file of hints, which holds each value in a section of its own, and
    each two values of different hints in another one: if they are two names of one hint, that is a conflict."""
    sections = [[(hint, value)] for hint, values in space.items() for value in values]
    for first, second in combinations(space, 2):
        sections += [[(first, a), (second, b)] for a, b in product(space[first][:2], space[second][:2])]
    if not sections:
        return
    text = "".join(f'["{number}"]\n' + "".join(f"{json.dumps(hint)} = {json.dumps(value)}\n" for hint, value in section) for number, section in enumerate(sections))
    with tempfile.NamedTemporaryFile("w", suffix=".toml", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([mercutio, "hints", "--check", file.name], capture_output=True, text=True, check=False)
    said = re.findall(r"^.*?\.toml:\d+: (.*)$", done.stdout, re.M)
    if done.returncode != 0:
        wrong = re.sub(r" in line \d+ sets (\S+), too.*", r": both are \1, so they can't be searched together", said[0]) if said else done.stderr.strip()
        raise SpaceError(f"--search: {wrong}")


def size(space):
    total = 1
    for values in space.values():
        total *= len(values) + 1
    return total


def hints_of(choice):
    """What a choice sets; the default of a hint is to say nothing of it."""
    return {hint: value for hint, value in choice.items() if value != DEFAULT}
