#!/usr/bin/env python3
"""How many round trips a job's small collective calls wait for, one after the other: counted in a relay that holds every byte for half of one.
   round_trips.py DIRECTORY_OF_THE_PROGRAMS MPIRUN PROGRAM [--ms 100] [--ranks 4]
At most 1.2 a call and 6 for the first open. The times are printed, too; a busy machine adds to them, but not to the numbers."""
import argparse
import asyncio
import contextlib
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

CALLS, MOST_A_CALL, MOST_OPEN = 50, 1.2, 6


class Relay:
    """Between clients and a port of this machine, in a thread of its own. `came`: when it got each piece, of either side. `connections`, `bytes`: how many."""

    def __init__(self, target, delay):
        self.target, self.delay, self.came, self.connections, self.bytes = target, delay, [], 0, 0
        self.port, self.loop = 0, asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.admit()

    def admit(self):
        asyncio.run_coroutine_threadsafe(self.listen(), self.loop).result()

    def refuse(self):
        """Until admit(), new connections. Others go on."""
        asyncio.run_coroutine_threadsafe(self.leave(), self.loop).result()

    async def leave(self):
        self.server.close()

    async def listen(self):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        self.port = listener.getsockname()[1]
        self.server = await asyncio.start_server(self.connect, sock=listener, backlog=1000)

    async def connect(self, reader, writer):
        self.connections += 1
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target)
        await asyncio.gather(self.carry(reader, far_writer), self.carry(far_reader, writer), return_exceptions=True)

    async def carry(self, reader, writer):
        loop, queue = asyncio.get_running_loop(), asyncio.Queue()

        async def deliver():
            while True:
                due, piece = await queue.get()
                await asyncio.sleep(max(0, due - loop.time()))
                if not piece:
                    return writer.close()
                writer.write(piece)

        delivering = asyncio.create_task(deliver())
        piece = b"?"
        while piece:
            piece = await reader.read(1 << 18)
            now = loop.time()
            self.bytes += len(piece)
            self.came.append(now)
            queue.put_nowait((now + self.delay, piece))
        await delivering

    def round_trips(self, begin, end):
        """The longest chain of pieces, each of which came when the one before had been passed on: what depends on each other is in it."""
        pieces, free = 0, begin
        for came in sorted(self.came):
            if free <= came < end:
                pieces, free = pieces + 1, came + self.delay
        return pieces / 2


@contextlib.contextmanager
def far_world(programs, delay):
    """A folder in memory, exported as mercutio://far/data behind a relay; the environment that knows it."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mercutio-round-trips-", dir="/dev/shm"))
    environment = dict(os.environ, MERCUTIO_CONNECTIONS=str(folder / "connections"), OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       OMPI_MCA_rmaps_base_oversubscribe="1")
    mercutio = str(programs / "mercutio")
    try:
        subprocess.run([mercutio, "connect", "--name", "far", "--via", "env", "--root", f"data={folder}:rw", "--daemon", f"{programs / 'mercutiod'} --audit {folder / 'audit'}"],
                       env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        way = folder / "connections" / "far"
        line = re.search(r"^server 127\.0\.0\.1 (\d+)$", way.read_text(), re.M)
        relay = Relay(int(line[1]), delay)
        way.write_text(way.read_text().replace(line[0], f"server 127.0.0.1 {relay.port}"))
        yield folder, environment, relay
    finally:
        subprocess.run([mercutio, "disconnect", "--force", "far"], env=environment, stderr=subprocess.DEVNULL)
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("mpirun")
    parser.add_argument("program")
    parser.add_argument("--ms", type=float, default=100)
    parser.add_argument("--ranks", default="4")
    args = parser.parse_args()
    with far_world(args.programs, args.ms / 2000) as (_, environment, relay):
        done = subprocess.run([str(args.programs / "mercutio"), "run", "--", args.mpirun, "-n", args.ranks, args.program, "mercutio://far/data/x"], env=environment,
                              capture_output=True, text=True, timeout=180)
        print(done.stdout, done.stderr, flush=True)
        found = re.search(r"0 wrong, opens at ([\d.]+), calls at ([\d.]+), ends at ([\d.]+)", done.stdout)
        if done.returncode != 0 or not found:
            return 1
        opens, calls, ends = (float(at) for at in found.groups())
        to_open, a_call = relay.round_trips(opens, calls), relay.round_trips(calls, ends) / CALLS
        print(f"{a_call:.2f} round trips a call, {to_open:.1f} for the first open; "
              f"in time {(ends - calls) * 1000 / args.ms / CALLS:.2f} and {(calls - opens) * 1000 / args.ms:.1f}; {relay.connections} connections")
        return 0 if a_call <= MOST_A_CALL and to_open <= MOST_OPEN else 1


if __name__ == "__main__":
    sys.exit(main())
