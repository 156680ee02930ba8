#!/usr/bin/env python3
"""The first process of an emulated node, and the client that runs commands there.

    agent.py serve STATE NODE PIPE     inside the node's namespaces: starts what clients ask for, reaps whatever is left
    agent.py run STATE NODE COMMAND..  anywhere on the machine: runs the command there, as if it were a child of this process
    agent.py shell [option..] NODE WORD..   the same for a launcher: called as ssh would be, STATE from the environment

A client sends its own descriptors 0 to 2 with the command through a Unix socket in STATE, so a command's output never
touches the network that is measured. A client that goes away takes its command's process group with it; the agent's end is
the end of all processes of the node, by the kernel's hand, because it is the first one of their process namespace.
"""
import array
import json
import os
import selectors
import signal
import socket
import struct
import sys

STATE_VARIABLE = "MERCUTIO_TEST_NODES"
OPTIONS_WITH_VALUE = ("-l", "-o", "-p", "-i", "-b", "-F")   # of ssh, which launchers may give


def socket_path(state, node):
    return os.path.join(state, node + ".sock")


def receive_request(connection):
    """The JSON words and the three descriptors of a client."""
    descriptors = array.array("i")
    head, extra, _, _ = connection.recvmsg(4, socket.CMSG_SPACE(3 * descriptors.itemsize), socket.MSG_CMSG_CLOEXEC)
    for level, kind, data in extra:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors.frombytes(data)
    if len(head) < 4 or len(descriptors) != 3:
        raise OSError("not a request")
    body, wanted = b"", struct.unpack("!I", head)[0]
    while len(body) < wanted:
        part = connection.recv(wanted - len(body))
        if not part:
            raise OSError("half a request")
        body += part
    return json.loads(body), list(descriptors)


def start(request, descriptors):
    """Forks; the child is the command. Returns its process id."""
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
        os.closerange(3, 65536)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.chdir(request["directory"])
        os.execvpe(request["words"][0], request["words"], request["environment"])
    except OSError as error:
        os.write(2, ("%s: %s\n" % (request["words"][0], error)).encode())
    os._exit(127)


class Agent:
    def __init__(self, state, node):
        self.own_environment = {STATE_VARIABLE: state, "TMPDIR": os.path.join(state, "tmp-" + node)}
        self.clients = {}   # command -> its client's connection
        self.selector = selectors.DefaultSelector()
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(socket_path(state, node))
        self.listener.listen(64)
        self.selector.register(self.listener, selectors.EVENT_READ, self.accept)
        readable, writable = os.pipe()
        os.set_blocking(writable, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
        self.selector.register(readable, selectors.EVENT_READ, self.reap)

    def accept(self, _):
        connection, _ = self.listener.accept()
        try:
            request, descriptors = receive_request(connection)
        except (OSError, ValueError):   # somebody who only looks, or died early
            connection.close()
            return
        request["environment"].update(self.own_environment)
        command = start(request, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        self.clients[command] = connection
        self.selector.register(connection, selectors.EVENT_READ, lambda _: self.hang_up(command))

    def hang_up(self, command):
        """The client is gone (it sends nothing after its request)."""
        self.selector.unregister(self.clients[command])
        self.clients.pop(command).close()
        try:
            os.killpg(command, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def reap(self, readable):
        os.read(readable, 4096)
        while True:
            try:
                process, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if process == 0:
                return
            client = self.clients.pop(process, None)
            if client:
                self.selector.unregister(client)
                try:
                    client.send(struct.pack("!i", os.waitstatus_to_exitcode(status)))
                except OSError:
                    pass
                client.close()

    def serve(self):
        while True:
            for key, _ in self.selector.select():
                if self.selector.get_map().get(key.fd) is key:   # an earlier event may have ended it
                    key.data(key.fileobj)


def run(state, node, words):
    """Runs a command on a node and returns its exit code, 128 + n for signal n."""
    request = dict(words=words, directory=os.getcwd(), environment=dict(os.environ))
    body = json.dumps(request).encode()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(socket_path(state, node))
        socket.send_fds(connection, [struct.pack("!I", len(body))], [0, 1, 2])
        connection.sendall(body)
        answer = connection.recv(4)
    if len(answer) < 4:
        print("node %s went away" % node, file=sys.stderr)
        return 255
    code = struct.unpack("!i", answer)[0]
    return code if code >= 0 else 128 - code


def shell(words):
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in OPTIONS_WITH_VALUE else words[1:]
    return run(os.environ[STATE_VARIABLE], words[0].rpartition("@")[2], ["/bin/sh", "-c", " ".join(words[1:])])


def main():
    what = sys.argv[1]
    if what == "serve":
        agent = Agent(sys.argv[2], sys.argv[3])
        os.write(int(sys.argv[4]), b"ready")
        os.close(int(sys.argv[4]))
        agent.serve()
    if what == "run":
        return run(sys.argv[2], sys.argv[3], sys.argv[4:])
    return shell(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
