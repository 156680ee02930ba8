#!/usr/bin/env python3
"""Records of made-up jobs, a file each, as jobs leave them: make_job_records.py FOLDER COUNT"""
import json
import os
import random
import sys

FINDINGS = ("small_writes", "strided_reads", "many_files", "straggler", "serial")
SYSTEMS = ("lustre", "nfs", "gpfs")


def record(number, dice):
    user = dice.randrange(50)
    files = [{"name": f"/scratch/u{user}/case{i}/out.###.nc", "file_system": SYSTEMS[(user + i) % 3], "library": "netcdf", "files": 60, "opens": 240, "collective_writes": 6000,
              "read": 0, "written": 1 << 30, "requests": 9000, "seconds": 12.5} for i in range(1 + number % 4)]
    seconds = dice.uniform(60, 7200)
    findings = [{"id": FINDINGS[(user + i) % 5], "seconds": round(seconds / (8 + 3 * i), 3), "factor": 1.1, "file": files[0]["name"], "files": 60,
                 "file_system": files[0]["file_system"]} for i in range(number % 3)]
    return {"format": "mercutio-job", "version": 1, "job": str(100000 + number), "user": f"user{user}", "uid": os.getuid(), "program": f"model{user % 7}.exe",
            "mpi": "MPICH Version: 4.0.2", "mercutio": "0.2.0", "start": 1764000000 + number * 200, "seconds": round(seconds, 3), "ranks": 64 << (number % 4), "nodes": 4,
            "io_seconds": round(seconds / 5, 3), "io_share": 0.2, "read": 0, "written": len(files) << 30, "read_rate": 0, "write_rate": 1e9, "file_count": 60 * len(files),
            "findings": findings, "files": files}


def main(folder, count):
    dice = random.Random(1)
    for number in range(count):
        place = os.path.join(folder, f"{number % 28 + 1:02}")
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, f"{number}.mjob"), "w") as out:
            out.write(json.dumps(record(number, dice), separators=(",", ":")) + "\n")


main(sys.argv[1], int(sys.argv[2]))
