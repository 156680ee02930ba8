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
TRIED = "dd if=/dev/zero of=%(mount)s/tried bs=4k count=1 conv=fsync status=none; rm %(mount)s/tried"
WITH_LAYOUTS = "awk '/^proc3/ {exit !($10 > 0)}' /proc/net/rpc/nfsd"   # the server has had a WRITE of version 3
MODULES = ["nfs", "nfsv3", "nfsv4", "nfsd", "loop", "veth", "bridge"]
PLACE = "/mnt/shared"
OWN_ADDRESS = "10.77.0.10%d"
GRACE_S = 10    # the least that the server takes
LEASE_S = 900   # longer than any stop of the machine: a client that was silent for so long loses its locks

USER = 1234


class Nfs:
    """A system under test (systems.py). `options` are the mount's; with a quota all files belong to one user, who may have so much. With pNFS the client
    gets layouts of flexfiles, and moves data by NFS 3, all of them from and to this server. `delegations`: whether the server grants them. Linux 6.1's client
    of version 4.0 can lose the recall of one; whoever opens the file for writing then waits until the server revokes it, after LEASE_S."""
    needs_uml, nodes, refuses, driver = True, 2, None, ""

    def __init__(self, options, image_mib=700, quota_mib=0, programs=None, what="", pnfs=False, delegations=True):
        self.options, self.image_mib, self.quota_mib, self.programs = options, image_mib, quota_mib, programs
        self.export = "rw,sync,no_subtree_check,insecure,fsid=0," + ("all_squash,anonuid=%d,anongid=%d" % (USER, USER) if quota_mib else "no_root_squash")
        self.export += ",pnfs" if pnfs else ""
        self.delegations = delegations
        self.pnfs, self.modules = pnfs, MODULES + ["quota_v2"] * bool(quota_mib) + ["nfs_layout_flexfiles"] * pnfs
        self.describe = "Linux NFS, " + options + what + ("" if delegations else ", no delegations")
        self.environment = {"MERCUTIO_TEST_FULL": "quota" if quota_mib else "space"}

    def before_nodes(self, folder):
        """The server's file system, which the nodes then inherit."""
        for module in self.modules:
            subprocess.run(["modprobe", module], check=True)
        self.image, self.served = os.path.join(folder, "image"), os.path.join(folder, "served")
        os.mkdir(self.served)
        subprocess.run(["truncate", "-s", "%dM" % self.image_mib, self.image], check=True)
        subprocess.run(["mkfs.ext4", "-qF", *(["-O", "quota"] if self.quota_mib else []), self.image], check=True)
        subprocess.run(["mount", "-o", "loop" + (",usrquota" if self.quota_mib else ""), self.image, self.served], check=True)
        os.chmod(self.served, 0o777)
        if self.quota_mib:
            kib = str(self.quota_mib * 1024)
            subprocess.run(["setquota", "-u", str(USER), kib, kib, "0", "0", self.served], check=True)

    def start(self, cluster, clients):
        self.cluster = cluster
        self.server = cluster.names[-1]
        if not self.delegations:
            self.script(self.server, "echo 0 > /proc/sys/fs/leases-enable")
        self.script(self.server, SERVER_SETUP + EXPORT % dict(options=self.export, folder=self.served))
        self.start_server()
        path = self.served if "vers=3" in self.options else "/"   # version 4 has a root of its own
        for i, node in enumerate(clients):
            # Each client mounts an address of its own. A kernel matches the grant of a lock of version 3 with a waiting process by the server's address, the
            # range, and a number that is unique in one client only. All clients are in one kernel here: with one address it can match another client's.
            server = OWN_ADDRESS % i
            self.script(self.server, "ip addr add %s/24 dev eth0" % server)
            self.script(node, SERVER_SETUP + (CLIENT + TRIED * self.pnfs) % dict(options=self.options, server=server, path=path, mount=PLACE))
        if self.pnfs:
            self.script(self.server, WITH_LAYOUTS)
        return PLACE

    def start_server(self):
        self.script(self.server, "rpc.nfsd -G %d -L %d 8" % (GRACE_S, LEASE_S))

    def stop_server(self):
        self.script(self.server, "rpc.nfsd 0")

    def script(self, node, text):
        done = self.cluster.run(node, ["bash", "-c", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
        if done.returncode:
            raise RuntimeError("%s: exit code %d of\n%s\n%s" % (node, done.returncode, text.strip(), done.stdout))

    def on_server(self, path):
        """A file of the clients' as the server's own file system has it."""
        return os.path.join(self.served, os.path.relpath(path, PLACE))

    def while_running(self, folder, ended):
        """The server goes away for a while, and begins with its grace time, whenever a program asks for it by a file (restart.c)."""
        asking = os.path.join(folder, "restart")
        while not ended.wait(0.1):
            if os.path.exists(asking):
                self.stop_server()
                time.sleep(1)
                self.start_server()
                os.unlink(asking)
