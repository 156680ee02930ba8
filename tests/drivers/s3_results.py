#!/usr/bin/env python3
"""What `make s3` has found, as rows for scripts/results.py: the cases of the conformance programs, and the suites on files in S3.

    s3_results.py OUT.json build/suites/store.json CONFORMANCE.json...
"""
import json
import sys


def read(path):
    with open(path) as file:
        return json.load(file)


def conformance(rows, tests):
    """One row an MPI."""
    for mpi in sorted({row["mpi"] for row in rows}):
        mine = [row for row in rows if row["mpi"] == mpi]
        bad = ["%s:%s" % (row["program"], row["case"]) for row in mine if row["verdict"] != "ok"]
        programs = len({row["program"] for row in mine})
        yield {"MPI": mpi, "tests": tests, "ranks": str(mine[0]["ranks"]), "result": "fail" if bad else "pass",
               "detail": "%d cases of %d programs" % (len(mine), programs) + (", failing: " + ", ".join(bad[:6]) if bad else "")}


def suites(rows):
    for row in sorted(rows, key=lambda row: (row["mpi"], row["suite"], row["name"], row["ranks"])):
        result = row["remote"]
        yield {"MPI": row["mpi"], "tests": "%s %s" % (row["suite"], row["name"]), "ranks": str(row["ranks"] or ""), "result": result["verdict"],
               "detail": "; ".join(text for text in (result["detail"], "%d opened in S3" % row["opened"]) if text)}


def main():
    out, store, *programs = sys.argv[1:]
    rows = []
    for through_server, tests in ((False, "conformance programs"), (True, "conformance programs, through mercutiod")):
        rows += conformance([row for path in programs if path.endswith("-served.json") == through_server for row in read(path)], tests)
    rows += suites(read(store).values())
    with open(out, "w") as file:
        json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
