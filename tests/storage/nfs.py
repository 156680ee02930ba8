"""NFS between emulated nodes: the kernel's server on a node of its own, and a kernel's client, with its cache, on each of the others."""
import os
import subprocess
import time

SERVER_SETUP = """
set -e
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/lib/nfs
mkdir -p /run/lock /var/lib/nfs/rpc_pipefs /var/lib/nfs/v4recovery /var/lib/nfs/nfsdcld /var/lib/nfs/sm /var/lib/nfs/sm.bak
touch /var/lib/nfs/etab /var/lib/nfs/rmtab /var/lib/nfs/state
mount -t rpc_pipefs rpc_pipefs /var/lib/nfs/rpc_pipefs
"""
EXPORT = """
mount -t nfsd nfsd /proc/fs/nfsd
rpcbind -w
rpc.statd --no-notify
nfsdcld
exportfs -i -o %(options)s '*:%(folder)s'
rpc.mountd
"""
CLIENT = """
rpcbind -w
rpc.statd --no-notify
mkdir -p %(mount)s
mount -t nfs -o %(options)s %(server)s:%(path)s %(mount)s
"""
GRACE_S = 10   # the least that the server takes


class Nfs:
    """A system under test (systems.py). `options` are the mount's."""
    needs_uml, nodes, refuses = True, 2, None

    def __init__(self, options, export="rw,sync,no_root_squash,no_subtree_check,insecure,fsid=0", image_mib=700, features=""):
        self.options, self.export, self.image_mib, self.features = options, export, image_mib, features
        self.describe = "Linux NFS, " + options

    def before_nodes(self, folder):
        """The server's file system, which the nodes then inherit."""
        for module in ("nfs", "nfsv3", "nfsv4", "nfsd", "loop", "veth", "bridge"):
            subprocess.run(["modprobe", module], check=True)
        self.image, self.served = os.path.join(folder, "image"), os.path.join(folder, "served")
        os.mkdir(self.served)
        subprocess.run(["truncate", "-s", "%dM" % self.image_mib, self.image], check=True)
        subprocess.run(["mkfs.ext4", "-qF", *self.features.split(), self.image], check=True)
        subprocess.run(["mount", "-o", "loop", self.image, self.served], check=True)

    def start(self, cluster, clients):
        self.cluster = cluster
        self.server, self.address = cluster.names[-1], cluster.addresses[-1]
        self.script(self.server, SERVER_SETUP + EXPORT % dict(options=self.export, folder=self.served))
        self.start_server()
        path = self.served if "vers=3" in self.options else "/"   # version 4 has a root of its own
        for node in clients:
            self.script(node, SERVER_SETUP + CLIENT % dict(options=self.options, server=self.address, path=path, mount="/mnt/shared"))
        return "/mnt/shared"

    def start_server(self):
        self.script(self.server, "rpc.nfsd -G %d -L %d 8" % (GRACE_S, GRACE_S))

    def stop_server(self):
        self.script(self.server, "rpc.nfsd 0")

    def script(self, node, text):
        done = self.cluster.run(node, ["bash", "-c", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
        if done.returncode:
            raise RuntimeError("%s: exit code %d of\n%s\n%s" % (node, done.returncode, text.strip(), done.stdout))

    def on_server(self, path):
        """A file of the clients' as the server's own file system has it."""
        return os.path.join(self.served, os.path.relpath(path, "/mnt/shared"))

    def restart(self, seconds):
        """The server goes away for a while, and begins with its grace time."""
        self.stop_server()
        time.sleep(seconds)
        self.start_server()
