#!/usr/bin/env python3
"""How many connections and opens a job of 8 ranks makes: one of an aggregator, another rank's at its first access of its own, which alone fails where
   nobody can connect, or where the name stands for another file.
   connections.py DIRECTORY_OF_THE_PROGRAMS MPIRUN PROGRAM"""
import pathlib
import re
import subprocess
import sys
import threading

from round_trips import far_world

RANKS, AGGREGATORS, OPENS = 8, 4, 6   # rank 0 alone opens the six files of the first step


def main():
    programs, mpirun, program = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    with far_world(programs, 0) as (folder, environment, relay):
        job = subprocess.Popen([str(programs / "mercutio"), "run", "--", mpirun, "-n", str(RANKS), program, "mercutio://far/data/x", str(folder)], env=environment,
                               stdout=subprocess.PIPE, text=True)
        late = threading.Timer(150, job.kill)
        late.start()
        made, opened, said = [], [], []
        for line in job.stdout:
            print(line, end="", flush=True)
            said.append(line)
            step = re.match(r"step (\d)", line)
            if not step:
                continue
            made.append(relay.connections)
            opened.append(len(re.findall(r" opens to .* data/", (folder / "audit").read_text())))
            if step[1] == "2":
                relay.refuse()
            if step[1] == "3":
                relay.admit()
            if step[1] == "4":
                (folder / "other").touch()
                (folder / "other").replace(folder / "x")
            (folder / step[1]).touch()
        late.cancel()
        print(f"connections {made} and in the end {relay.connections}, opens {opened}")
        refused = any(line.startswith("refused, class MPI_ERR_IO: 1") for line in said)
        good = job.wait() == 0 and "0 wrong\n" in said and refused
        few = made == [AGGREGATORS, AGGREGATORS + 1, AGGREGATORS + 1, AGGREGATORS + 2]
        return 0 if good and few and opened == [OPENS, OPENS + 2, OPENS + 2, OPENS + 3] else 1


if __name__ == "__main__":
    sys.exit(main())
