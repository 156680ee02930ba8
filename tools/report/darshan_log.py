#!/usr/bin/env python3
"""What `mercutio report some.darshan` runs: darshan_log.py LOG prints what the log's MPI-IO and POSIX modules counted, as the totals of a trace
(src/insight/totals.h), a line each: job PROGRAM RANKS NS START-NS, run KEY VALUE, trace RANK MEMBERS, file NAME FILE-SYSTEM LIBRARY, total NAME VALUE; fields are separated
by tabs. Needs PyDarshan.

What Darshan doesn't count is left out: pieces of an access, exchange and waiting. Of an access it doesn't say whether it was collective; bytes and
times are shared by the numbers of calls."""
import os
import sys
import warnings

MOST_RANKS = 256      # with a line each; of more, rank 0 and all others are one each
SIZES = (("0_100", 0, True), ("100_1K", 1, True), ("1K_10K", 2, True), ("10K_100K", 4, None), ("100K_1M", 6, False), ("1M_4M", 7, False), ("4M_10M", 8, False),
         ("10M_100M", 9, False), ("100M_1G", 10, False), ("1G_PLUS", 11, False))   # Darshan's ranges, ours, and whether they are below 64 KiB
SMALL = 65536


def counters(record):
    """One flat dictionary; what was not counted is 0."""
    return {key: max(0, float(value)) for part in ("counters", "fcounters") for key, value in record[part].items() if key not in ("id", "rank")}


def sizes_of(prefix, count, agg, mean):
    """({bucket: calls}, small calls)"""
    buckets, small = {}, 0
    for name, bucket, below in SIZES:
        calls = count.get(f"{prefix}_{name}" if not agg else f"{prefix}_AGG_{name}", 0)
        if calls > 0:
            buckets[bucket] = buckets.get(bucket, 0) + calls
            small += calls if (below if below is not None else mean < SMALL) else 0
    return buckets, small


class Totals(dict):
    def put(self, name, value):
        if value > 0:
            self[name] = self.get(name, 0) + value


def totals_of(mpi, posix, ranks):
    """Of one record of a file, which `ranks` share; `posix` may be {}."""
    totals = Totals()
    opens = mpi["MPIIO_INDEP_OPENS"] + mpi["MPIIO_COLL_OPENS"]
    totals.put("opens", opens)
    totals.put("closes", opens)
    totals.put("reopens", max(0, opens - ranks))
    totals.put("open_ns", mpi["MPIIO_F_META_TIME"] * 1e9)
    totals.put("syncs", mpi["MPIIO_SYNCS"])
    starts = [mpi[f"MPIIO_F_{what}_START_TIMESTAMP"] for what in ("OPEN", "READ", "WRITE") if mpi[f"MPIIO_F_{what}_START_TIMESTAMP"] > 0]
    totals.put("first_ns", min(starts, default=0) * 1e9)
    totals.put("last_ns", max(mpi["MPIIO_F_CLOSE_END_TIMESTAMP"], mpi["MPIIO_F_READ_END_TIMESTAMP"], mpi["MPIIO_F_WRITE_END_TIMESTAMP"]) * 1e9)
    for way, bytes_name in (("READ", "BYTES_READ"), ("WRITE", "BYTES_WRITTEN")):
        calls = {"independent": mpi[f"MPIIO_INDEP_{way}S"] + mpi[f"MPIIO_NB_{way}S"], "collective": mpi[f"MPIIO_COLL_{way}S"] + mpi[f"MPIIO_SPLIT_{way}S"]}
        everything, moved, seconds = sum(calls.values()), mpi[f"MPIIO_{bytes_name}"], mpi[f"MPIIO_F_{way}_TIME"]
        mean = moved / everything if everything else 0
        buckets, small = sizes_of(f"MPIIO_SIZE_{way}", mpi, True, mean)
        stored = min(seconds, posix.get(f"POSIX_F_{way}_TIME", 0))
        for kind, number in calls.items():
            share, name = (number / everything if everything else 0), f"{kind}_{way.lower()}"
            totals.put(f"{name}.calls", number)
            totals.put(f"{name}.bytes", moved * share)
            totals.put(f"{name}.piece_bytes", moved * share)
            totals.put(f"{name}.ns", seconds * 1e9 * share)
            totals.put(f"{name}.small_calls", small * share)
            totals.put(f"{name}.phase_ns.storage", stored * 1e9 * share)
            totals.put(f"{name}.phase_ns.own", (seconds - stored) * 1e9 * share)
            for bucket, part in buckets.items():
                totals.put(f"{name}.sizes.{bucket}", part * share)
        storage_of(totals, posix, way, bytes_name)
    if mpi["MPIIO_BYTES_READ"] == 0 and mpi["MPIIO_BYTES_WRITTEN"] > 0:
        totals.put("merged_bytes", posix.get("POSIX_BYTES_READ", 0))   # who only writes reads to write back
    return totals


def storage_of(totals, posix, way, bytes_name):
    requests, moved, seconds = posix.get(f"POSIX_{way}S", 0), posix.get(f"POSIX_{bytes_name}", 0), posix.get(f"POSIX_F_{way}_TIME", 0)
    everything = posix.get("POSIX_READS", 0) + posix.get("POSIX_WRITES", 0)
    mean, name = (moved / requests if requests else 0), f"storage_{way.lower()}"
    buckets, small = sizes_of(f"POSIX_SIZE_{way}", posix, False, mean)
    totals.put(f"{name}.calls", requests)
    totals.put(f"{name}.pieces", requests)
    totals.put(f"{name}.bytes", moved)
    totals.put(f"{name}.span_bytes", moved)
    totals.put(f"{name}.ns", seconds * 1e9)
    totals.put(f"{name}.small_calls", small)
    totals.put(f"{name}.misaligned_calls", posix.get("POSIX_FILE_NOT_ALIGNED", 0) * (requests / everything if everything else 0))
    if mean >= SMALL:
        totals.put(f"{name}.large_bytes", moved)
        totals.put(f"{name}.large_ns", seconds * 1e9)
    for bucket, part in buckets.items():
        totals.put(f"{name}.sizes.{bucket}", part)


KEPT = ("first_ns", "last_ns")   # of each rank; the rest are sums


def parts_of(totals, mpi, ranks):
    """Of a record of all ranks: what the slowest one did, as far as that is known, and what an average one of the others did: (rank, one, others)."""
    slowest = int(mpi["MPIIO_SLOWEST_RANK"])
    moved, took = mpi["MPIIO_BYTES_READ"] + mpi["MPIIO_BYTES_WRITTEN"], mpi["MPIIO_F_READ_TIME"] + mpi["MPIIO_F_WRITE_TIME"] + mpi["MPIIO_F_META_TIME"]
    even = 1 / ranks
    by_bytes = min(1, mpi["MPIIO_SLOWEST_RANK_BYTES"] / moved) if moved else even
    by_time = min(1, mpi["MPIIO_F_SLOWEST_RANK_TIME"] / took) if took else even
    one, others = {}, {}
    for name, value in totals.items():
        kind = name.rpartition(".")[2]
        part = even if name in ("opens", "closes", "reopens", "syncs") else by_time if kind.endswith("ns") or ".phase_ns." in name else by_bytes
        one[name] = value if name in KEPT else value * part
        others[name] = value if name in KEPT else value * (1 - part) / max(1, ranks - 1)
    return slowest, one, others


class Traces:
    """Totals by trace and file."""

    def __init__(self, ranks):
        self.ranks = ranks
        self.members = [1] * ranks if ranks <= MOST_RANKS else [1, ranks - 1]
        self.files = [{} for _ in self.members]

    def add(self, rank, file, totals, times=1):
        """`times` as much, of as many ranks."""
        mine = self.files[min(rank, len(self.members) - 1)].setdefault(file, {})
        for name, value in totals.items():
            if name in KEPT:
                mine[name] = value if name not in mine else (min if name == "first_ns" else max)(mine[name], value)
            else:
                mine[name] = mine.get(name, 0) + value * times

    def add_shared(self, file, totals, mpi):
        slowest, one, others = parts_of(totals, mpi, self.ranks)
        if not 0 <= slowest < self.ranks:
            slowest = 0
        self.add(slowest, file, one)
        for rank in range(len(self.members)):
            count = self.members[rank] - (1 if min(slowest, len(self.members) - 1) == rank else 0)
            if count > 0:
                self.add(rank, file, others, count)

    def put_facts(self, file, facts):
        """What is the same on all ranks; a file is counted once."""
        for number, files in enumerate(mine for mine in self.files if file in mine):
            files[file].update(facts, files=1 if number == 0 else 0)


def file_system(path, mounts):
    inside = [(len(place), kind) for place, kind in mounts if place == "/" or path == place or path.startswith(place.rstrip("/") + "/")]
    return max(inside)[1] if inside else ""


def stripes(record):
    try:
        count = record["components"][0]["counters"]
    except KeyError:   # of logs before 3.5
        count = record["counters"]
    largest = lambda *names: max(0, *(int(count.get(name, 0)) for name in names))
    return {"stripe_bytes": largest("LUSTRE_COMP_STRIPE_SIZE", "LUSTRE_STRIPE_SIZE"), "stripe_count": largest("LUSTRE_COMP_STRIPE_COUNT", "LUSTRE_STRIPE_WIDTH")}


def records_of(report, module):
    """By (id, rank)."""
    if module not in report.modules:
        return {}
    if module == "LUSTRE":
        report.mod_read_all_lustre_records(dtype="dict")
    else:
        report.mod_read_all_records(module, dtype="dict")
    return {(record["id"], record["rank"]): record for record in report.records[module]}


def plain(text):
    return " ".join(str(text).split())


def say(*fields):
    print("\t".join(fields))


def print_job(report, traces, names):
    job = report.metadata["job"]
    seconds = float(job["run_time"])
    say("run", "source", f"Darshan {plain(job['log_ver'])} log")
    for key, value in (("job", job["jobid"]), ("user", job["uid"]), ("command", report.metadata["exe"])):
        say("run", key, plain(value) or "unknown")
    say("job", plain(report.metadata["exe"]).split(" ")[0].rpartition("/")[2] or "unknown", str(traces.ranks), str(int(seconds * 1e9)), str(int(job["start_time_sec"]) * 10**9))
    for rank, (members, files) in enumerate(zip(traces.members, traces.files)):
        say("trace", str(rank), str(members))
        for file, totals in files.items():
            say("file", *names[file])
            for name, value in totals.items():
                if round(value) > 0:
                    say("total", name, str(round(value)))


def main(path):
    warnings.simplefilter("ignore")
    try:
        import darshan
    except ImportError:
        sys.exit("a Darshan log needs Python's darshan (pip install darshan; MERCUTIO_PYTHON names the Python that has it)")
    try:
        report = darshan.DarshanReport(os.path.abspath(path), read_all=False)
        mpiio, posix, lustre = (records_of(report, module) for module in ("MPI-IO", "POSIX", "LUSTRE"))
        above = {file: library for module, library in (("PNETCDF_FILE", "pnetcdf"), ("H5F", "hdf5")) for file, _ in records_of(report, module)}
    except Exception as error:   # the C library of Darshan, and what PyDarshan makes of it
        sys.exit(f"PyDarshan {darshan.__version__} can't read it: {error}")
    if not mpiio:
        sys.exit("the log has no records of MPI-IO: the program made no calls of it, or Darshan's module for it was off")
    traces, names, facts, mounts = Traces(int(report.metadata["job"]["nprocs"])), {}, {}, report.data.get("mounts", [])
    for (file, rank), record in mpiio.items():
        mpi, below = counters(record), posix.get((file, rank))
        below = counters(below) if below else {}
        name = plain(report.name_records.get(file, file))
        names[file] = (name, plain(file_system(name, mounts)), above.get(file, ""))
        if rank < 0:
            traces.add_shared(file, totals_of(mpi, below, traces.ranks), mpi)
        else:
            traces.add(rank, file, totals_of(mpi, below, 1))
        known = facts.setdefault(file, {"ranks": 0, "block_bytes": 0})
        if rank < 0:
            known["ranks"] = traces.ranks
        else:
            known["ranks"] = known["ranks"] + 1 if mpi["MPIIO_COLL_OPENS"] > 0 else max(1, known["ranks"])
        known["block_bytes"] = max(known["block_bytes"], below.get("POSIX_FILE_ALIGNMENT", 0))
        known.update(stripes(lustre[(file, rank)]) if (file, rank) in lustre else {})
    for file, known in facts.items():
        traces.put_facts(file, known)
    print_job(report, traces, names)


if __name__ == "__main__":
    main(sys.argv[1])
