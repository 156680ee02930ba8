#!/usr/bin/env python3
"""What remote files promise, measured: each bar is a part that runs alone, in at most some minutes.

    bench/remote/bars.py PART... [--build build] [--json FILE] [--short]        all: every part

    ranks     200 processes in atomic mode on one server; 64 and 512 with 4 streams at a server and a router with 1,024 descriptors, and with 40 threads
    silent    how soon a client gets in while another address holds 10,000 silent connections
    kills     copies that are killed at 201 random moments: the target is absent, old, or whole
    small     1,000 files of 10 KB over 40 ms, against rsync
    large     a large file at 0 and 40 ms, against scp, rsync and sshfs
    tls       writes and reads against as many plain TLS streams
    calls     50 small collective calls over 40 ms: round trips a call
    python    xarray and h5py on a file of 1 GB over 40 ms, by chunks, against a copy and a local read

--json: the rows of these parts. --short: small numbers, to see whether it works.
"""
import argparse
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

import peers
import far_ssh
from world import LAUNCH, ROOT, World

ROUND_TRIP = 40
PYTHON = ROOT / ".venv" / "bin" / "python"


TITLES = {"ranks": "Many ranks", "silent": "Silent connections", "kills": "Killed copies", "small": "Small files", "large": "Large files",
          "tls": "Rates beside plain TLS", "calls": "Small collective calls", "python": "xarray and h5py"}


class Part:
    """The rows of one part: bar, what was measured, the figure, what it has to be, whether it is."""

    def __init__(self, name, args):
        self.name, self.args, self.rows = name, args, []

    def at_most(self, what, figure, limit, unit=""):
        self.add(what, figure, f"at most {limit:g}{unit}", figure <= limit)

    def at_least(self, what, figure, limit, unit=""):
        self.add(what, figure, f"at least {limit:g}{unit}", figure >= limit)

    def holds(self, what, figure, wanted, met):
        self.add(what, figure, wanted, met)

    def add(self, what, figure, wanted, met):
        shown = f"{figure:.2f}" if isinstance(figure, float) else str(figure)
        self.rows.append({"part": TITLES[self.name], "what": what, "figure": shown, "bar": wanted, "met": "yes" if met else "NO"})
        print("%-7s %-90s %-24s %-18s %s" % (self.name, what, shown, wanted, "" if met else "MISSED"), flush=True)


def timed(call):
    start = time.monotonic()
    call()
    return time.monotonic() - start


def in_turns(contenders, rounds):
    """Medians of seconds by name; every other round the other way about."""
    seconds = {name: [] for name in contenders}
    for i in range(rounds):
        for name in list(contenders) if i % 2 == 0 else list(contenders)[::-1]:
            seconds[name].append(contenders[name]())
    return {name: statistics.median(values) for name, values in seconds.items()}


def content(path, bytes_):
    """That no copying program can shorten."""
    with open("/dev/urandom", "rb") as random, open(path, "wb") as out:
        for at in range(0, bytes_, 1 << 24):
            out.write(random.read(min(1 << 24, bytes_ - at)))
    return path


def same(one, other):
    if subprocess.run(["cmp", "-s", str(one), str(other)]).returncode != 0:
        raise SystemExit(f"bars: {other} is not a copy of {one}")


# Many clients.
def ranks(part):
    with World(part.args.build) as world:
        world.connect("here", "--connections", "10000")
        count = 20 if part.args.short else 200
        out = world.run(world.programs / "remote_ranks", "atomic", count, "mercutio://here/data/atomic", 4)
        part.holds(f"{count} processes in atomic mode, 4 KiB in a request and 4 MiB under a lock, three times each", out.strip(), f"ok {count}", out.strip() == f"ok {count}")
    for limit in (["--nofile=1024:1024"], ["--nproc=40"]):
        for router in (False, True):
            for count in (8,) if part.args.short else (64, 512):
                with World(part.args.build) as world:
                    limited(part, world, limit, router, count)


def limited(part, world, limit, router, count):
    """Clients of a server, and of a router before it, that an ordinary user has started under a limit."""
    with peers.Limited(world, limit, router) as far:
        done = world.run(world.programs / "remote_ranks", "streams", count, "mercutio://far/data/x", 1, seconds=400)
        outcomes = [re.fullmatch(r"(ok|failed) (\d+) ?(.*)", line) for line in done.splitlines()]
        got_in = sum(int(line[2]) for line in outcomes if line[1] == "ok")
        clear = all(line[1] == "ok" or peers.is_clear(line[3]) for line in outcomes)
        after = world.run(world.mercutio, "ls", "mercutio://far/data", good=False)
        what = "%d processes with 4 streams, %s at %s" % (count, limit[0].lstrip("-"), "server and router" if router else "the server")
        met = far.alive() and clear and after.returncode == 0
        part.holds(what, "%d got in, %d were told why not" % (got_in, count - got_in) + ("" if met else "; " + done + after.stderr), "in or told, all live", met)


def silent(part):
    count = 500 if part.args.short else 10_000
    with World(part.args.build) as world:
        world.connect("here")
        with peers.Silent("127.0.0.2", world.port("here"), count) as flood:
            waits = []
            for _ in range(10):
                waits.append(timed(lambda: world.run(world.mercutio, "ls", "mercutio://here/data")))
            part.holds(f"silent connections made from one address, those the server has closed made again", flood.made(), f"at least {count}", flood.made() >= count)
        part.at_most("slowest of 10 clients from another address, s", max(waits), 1)


# Copies.
def kills(part):
    each = 2 if part.args.short else 67
    done = subprocess.run([sys.executable, str(ROOT / "tests" / "remote" / "commands.py"), str(pathlib.Path(part.args.build) / "bin"), "--kills", str(each)],
                          capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if "copies killed" in line]
    part.holds(f"copies killed there, back and between, {each} each: " + "; ".join(re.sub(r"copies killed on their way |; all resumed.*", "", line) for line in lines),
               "none wrong, all resumed are identical" if done.returncode == 0 else done.stdout + done.stderr, "none wrong", done.returncode == 0 and len(lines) == 3)


def small(part):
    count = 50 if part.args.short else 1000
    with World(part.args.build) as world:
        world.connect("far", round_trip_ms=ROUND_TRIP)
        tree = world.folder / "tree"
        tree.mkdir()
        for i in range(count):
            content(tree / f"{i}.dat", 10_000)
        ways = {"cp": lambda to: [world.mercutio, "cp", "-r", tree, f"mercutio://far/data/{to}"]}
        port = far_ssh.start_rsync(world, ROUND_TRIP)
        ssh = far_ssh.start_ssh(world, ROUND_TRIP)
        if port:
            ways["rsync, its daemon"] = lambda to: ["rsync", "-a", f"{tree}/", f"rsync://127.0.0.1:{port}/data/{to}"]
        if ssh:
            ways["rsync by ssh"] = lambda to: ["rsync", "-a", "-e", "ssh %s -p %d" % (" ".join(ssh["options"]), ssh["port"]), f"{tree}/", f"127.0.0.1:{world.export}/{to}"]

        def copy(way):
            seconds = timed(lambda: world.run(*ways[way]("to")))
            if subprocess.run(["diff", "-rq", str(tree), str(world.export / "to")]).returncode != 0:
                raise SystemExit("bars: " + way + " has not copied all")
            shutil.rmtree(world.export / "to")
            return seconds

        seconds = in_turns({way: lambda way=way: copy(way) for way in ways}, 1 if part.args.short else 5)
        for way in list(ways)[1:]:
            part.at_most(f"{count} files of 10 KB over {ROUND_TRIP} ms: cp {seconds['cp']:.2f} s, {way} {seconds[way]:.2f} s; ratio", seconds["cp"] / seconds[way], 1)


def large(part):
    megabytes = 16 if part.args.short else 256
    for round_trip in (0, ROUND_TRIP):
        with World(part.args.build) as world:
            world.connect("far", round_trip_ms=round_trip)
            if round_trip == 0:   # the same relay for all
                world.lead("far", world.relay(world.port("far"), 0))
            source = content(world.folder / "source", megabytes << 20)
            ssh, port = far_ssh.start_ssh(world, round_trip), far_ssh.start_rsync(world, round_trip)
            with far_ssh.Mounted(world, ssh) as mounted:
                for direction in ("there", "back"):
                    compare_copies(part, world, dict(source=source, ssh=ssh, port=port, mounted=mounted), direction, f"{megabytes} MiB, {round_trip} ms, {direction}")


def compare_copies(part, world, far, direction, what):
    """cp, which compares checksums, against each of the others that there is."""
    there, back = world.export / "there", world.folder / "back"
    near, options = (far["source"] if direction == "there" else back), far["ssh"] and " ".join(far["ssh"]["options"])
    pairs = {"cp": (near, "mercutio://far/data/there"), "rsync, its daemon": (near, f"rsync://127.0.0.1:{far['port']}/data/there"),
             "rsync by ssh": (near, f"127.0.0.1:{there}"), "scp": (near, f"127.0.0.1:{there}"), "sshfs": (near, far["mounted"].at / "there")}
    words = {"cp": [world.mercutio, "cp"], "rsync, its daemon": ["rsync", "-W"] if far["port"] else None,
             "rsync by ssh": ["rsync", "-W", "-e", f"ssh {options} -p {far['ssh']['port']}"] if far["ssh"] else None,
             "scp": ["scp", "-P", far["ssh"]["port"], *far["ssh"]["options"]] if far["ssh"] else None, "sshfs": ["cp"] if far["mounted"].there else None}

    def copy(way):
        pair = pairs[way] if direction == "there" else pairs[way][::-1]
        target = there if direction == "there" else back
        target.unlink(missing_ok=True)
        seconds = timed(lambda: world.run(*words[way], *pair))
        same(far["source"], target)
        return seconds

    seconds = in_turns({way: lambda way=way: copy(way) for way in words if words[way]}, 1 if part.args.short else 3)
    others = {way: value for way, value in seconds.items() if way not in ("cp", "rsync, its daemon")}
    listed = ", ".join(f"{way} {value:.2f} s" for way, value in seconds.items())
    if others:
        part.at_least(f"{what}: {listed}; best of scp, rsync by ssh and sshfs over cp", min(others.values()) / seconds["cp"], 1.5)


# Small and large accesses. So much data that neither the first use of memory nor the end of a process counts.
def tls(part):
    out = subprocess.run([str(pathlib.Path(part.args.build) / "bin" / "remote_streams"), *(("4", "2", "1", "1") if part.args.short else ("256", "4", "1", "3"))],
                         capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        found = re.fullmatch(r"(write|read) (\d+) KiB +([\d.]+) MB/s +of plain ([\d.]+) +processor time of plain ([\d.]+)", line)
        if found:
            what = f"{found[1]}s of {found[2]} KiB, of plain TLS: "
            part.at_least(what + "rate", float(found[4]), 0.75 if found[1] == "write" else 0.85)
            part.at_most(what + "processor time", float(found[5]), 1.4)


def calls(part):
    for mpi, launch in LAUNCH.items():
        program = pathlib.Path(part.args.build) / "tests" / "round_trips" / mpi / "calls"
        if not program.exists() or not shutil.which(launch[0]):
            continue
        done = subprocess.run([sys.executable, str(ROOT / "tests" / "round_trips" / "round_trips.py"), str(pathlib.Path(part.args.build) / "bin"), launch[0], str(program),
                               "--ms", str(ROUND_TRIP)], capture_output=True, text=True)
        found = re.search(r"([\d.]+) round trips a call, ([\d.]+) for the first open; in time ([\d.]+) and ([\d.]+)", done.stdout)
        if not found:
            raise SystemExit("bars: " + done.stdout + done.stderr)
        what = f"{mpi}, 4 ranks, 50 small collective calls over {ROUND_TRIP} ms: "
        part.at_most(what + f"round trips a call, counted (the first open: {found[2]})", float(found[1]), 1.2)
        part.at_most(what + f"their time in round trips a call (the first open: {found[4]})", float(found[3]), 1.2)


def python(part):
    if not PYTHON.exists():
        raise SystemExit("bars: scripts/setup.sh check makes .venv with xarray and h5py")
    megabytes = 32 if part.args.short else 1024
    with World(part.args.build) as world:
        world.connect("far", round_trip_ms=ROUND_TRIP)
        script = ROOT / "bench" / "remote" / "chunks.py"
        more = dict(PYTHONPATH=str(world.build / "share" / "mercutio" / "python"))
        world.run(PYTHON, script, "make", world.export / "x.nc", megabytes, **more)
        copied = world.folder / "copy.nc"
        where = {"remote": "mercutio://far/data/x.nc"}
        mount = world.folder / "mount"
        mount.mkdir()
        if world.run(world.mercutio, "mount", "far:data", mount, good=False).returncode == 0:
            where["mounted"] = mount / "x.nc"

        def read(reader, place):
            return timed(lambda: world.run(PYTHON, script, reader, place, **more))

        def by_copy(reader):
            copied.unlink(missing_ok=True)
            return timed(lambda: world.run(world.mercutio, "cp", where["remote"], copied)) + read(reader, copied)

        try:
            for reader in ("h5py", "xarray"):
                contenders = {"copied": lambda: by_copy(reader), **{name: lambda place=place: read(reader, place) for name, place in where.items()}}
                seconds = in_turns(contenders, 1 if part.args.short else 3)
                for name in where:
                    part.at_most(f"{reader}, {megabytes} MiB by chunks over {ROUND_TRIP} ms: {name} {seconds[name]:.2f} s, cp and local {seconds['copied']:.2f} s; ratio",
                                 seconds[name] / seconds["copied"], 1.3)
        finally:
            if "mounted" in where:
                world.run(world.mercutio, "umount", mount)


PARTS = (ranks, silent, kills, small, large, tls, calls, python)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("parts", nargs="+", choices=["all"] + [part.__name__ for part in PARTS])
    p.add_argument("--build", default=str(ROOT / "build"))
    p.add_argument("--json")
    p.add_argument("--short", action="store_true")
    args = p.parse_args()
    rows = []
    for run in PARTS:
        if "all" in args.parts or run.__name__ in args.parts:
            part = Part(run.__name__, args)
            run(part)
            rows += part.rows
            if args.json:
                pathlib.Path(args.json).write_text(json.dumps({"rows": rows}, indent=1))
    return 1 if any(row["met"] == "NO" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
