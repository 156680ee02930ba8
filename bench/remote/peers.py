"""Servers and routers under limits of an account, and peers that say nothing."""
import os
import re
import resource
import select
import shutil
import socket
import subprocess
import tempfile
import threading

USER = 54321


def is_clear(text):
    """An error that says what is short, or what to do."""
    return re.search(r"has no room|is full|ulimit|--connections|--streams|did not answer", text) is not None


class Limited:
    """mercutiod of an ordinary user under a limit, as the connection `far`; with a router under it, too."""

    def __init__(self, world, limit, router):
        if os.getuid() != 0 or not shutil.which("setpriv") or not shutil.which("prlimit"):
            raise SystemExit("bars: limits of an account need root, setpriv and prlimit")
        self.world, self.running = world, []
        self.away = tempfile.mkdtemp(prefix="mercutio-limited-", dir="/tmp")
        os.chmod(self.away, 0o777)
        self.key = os.path.join(self.away, "key")
        self.write(self.key, "5a" * 32 + "\n")
        self.words = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "prlimit", *limit]
        data = os.path.join(self.away, "data")
        os.mkdir(data)
        os.chmod(data, 0o777)
        port = self.start("mercutiod", "--root", f"data={data}:rw")
        lines = ["host far", f"key {'5a' * 32}", f"server 127.0.0.1 {port}", "streams 4"]
        if router:
            lines.append("via 127.0.0.1 %d %s" % (self.start("mercutio-route", "--to", "127.0.0.1:*"), "5a" * 32))
        folder = world.folder / "connections"
        folder.mkdir(mode=0o700, exist_ok=True)
        file = folder / "far"
        file.write_text("\n".join(lines) + "\n")
        file.chmod(0o600)

    def write(self, path, text):
        with open(path, "w") as out:
            out.write(text)
        shutil.chown(path, USER, USER)
        os.chmod(path, 0o600)

    def start(self, name, *words):
        program = os.path.join(self.away, name)
        shutil.copy(self.world.programs / name, program)
        job = subprocess.Popen([*self.words, program, "--listen", "127.0.0.1:0", "--key-file", self.key, *words], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
        self.running.append(job)
        self.world.jobs.append(job)
        return int(job.stdout.readline().split()[3])

    def alive(self):
        return all(job.poll() is None for job in self.running)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for job in self.running:
            job.terminate()
            job.wait(timeout=30)
        shutil.rmtree(self.away, ignore_errors=True)


class Silent:
    """So many connections from an address that never send a byte. One that is closed is made again."""

    def __init__(self, address, port, count):
        self.address, self.port, self.count = address, port, count
        self.total, self.over = 0, threading.Event()
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.most = min(count, hard - 200)
        self.thread = threading.Thread(target=self.hold, daemon=True)

    def made(self):
        return self.total

    def open(self, poll, peers):
        peer = socket.socket()
        peer.setblocking(False)
        peer.bind((self.address, 0))
        try:
            peer.connect(("127.0.0.1", self.port))
        except BlockingIOError:
            pass
        except OSError:
            peer.close()
            return
        peers[peer.fileno()] = peer
        poll.register(peer, select.EPOLLHUP | select.EPOLLRDHUP | select.EPOLLERR)
        self.total += 1

    def hold(self):
        poll, peers = select.epoll(), {}
        while not self.over.is_set():
            for _ in range(min(500, self.most - len(peers))):
                self.open(poll, peers)
            for fd, _ in poll.poll(0.02):
                poll.unregister(fd)
                peers.pop(fd).close()
        for peer in peers.values():
            peer.close()

    def __enter__(self):
        self.thread.start()
        while self.total < self.count:
            self.over.wait(0.05)
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
