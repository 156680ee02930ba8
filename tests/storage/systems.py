"""The storage that tests/storage can be run on, by name. A system brings:

    needs_uml       its clients are in user-mode Linux's kernel, not in this machine's
    nodes           on how many the ranks are
    refuses         what an error must say where right results can't be had (a pattern); None: they can
    programs        those that are for it; None: all that are for no system in particular
    environment     of the programs
    driver          what the names of MPI's files begin with, or ""
    describe        for the table
    before_nodes(folder)      what has to be there before the nodes are made; the folder is its own
    start(cluster, clients)   mounts on each of the clients' nodes; returns the shared folder's name there. The last node serves.
    while_running(folder, ended)   runs beside each program, until the event; the folder is MERCUTIO_TEST_EXPECTED
    on_server(path)           the name here of the server's own file, or None
"""
from mounted import Mounted
from nfs import Nfs
from s3 import S3

GLUSTER = "glusterd gluster glusterfs mkfs.ext4"
CEPH = "ceph-mon ceph-osd ceph-mds ceph-fuse ceph"
SYSTEMS = {
    "nfs42": Nfs("vers=4.2"),
    "nfs41": Nfs("vers=4.1"),
    "nfs40": Nfs("vers=4.0", delegations=False),
    "nfs3": Nfs("vers=3"),
    "nfs42-noac": Nfs("vers=4.2,noac"),
    "nfs42-soft": Nfs("vers=4.2,soft,timeo=600"),
    "nfs42-flexfiles": Nfs("vers=4.2", pnfs=True, what=", pNFS flexfiles on one server"),
    "nfs42-full": Nfs("vers=4.2", image_mib=24, programs=["full"], what=", a small disk"),
    "nfs42-quota": Nfs("vers=4.2", quota_mib=12, programs=["full"], what=", a user's quota"),
    "nfs42-restart": Nfs("vers=4.2", programs=["restart"], what=", the server starts again"),
    "gluster": Mounted("gluster.sh", "GlusterFS, FUSE, defaults", GLUSTER, refuses="gluster volume set VOLUME performance"),
    "gluster-node": Mounted("gluster.sh", "GlusterFS, FUSE, defaults, one node", GLUSTER, nodes=1),
    "gluster-uncached": Mounted("gluster.sh", "GlusterFS, FUSE, no caches in the client", GLUSTER, "uncached"),
    "gluster-direct": Mounted("gluster.sh", "GlusterFS, FUSE, no caches in the client, direct-io-mode=enable", GLUSTER, "direct"),
    "gluster-driver": Mounted("gluster.sh", "GlusterFS, libgfapi, defaults", GLUSTER, "driver", driver="gluster://{server}/shared"),
    "moosefs": Mounted("moosefs.sh", "MooseFS, FUSE", "mfsmaster mfschunkserver mfsmount"),
    "ceph-fuse": Mounted("ceph.sh", "CephFS, FUSE", CEPH),
    "ceph-kernel": Mounted("ceph.sh", "CephFS, the kernel's client", CEPH, "kernel", modules="ceph veth bridge"),
    "cephfs": Mounted("ceph.sh", "CephFS, libcephfs", CEPH, driver="cephfs:"),
    "s3-driver": S3(),
    "juicefs": Mounted("juicefs.sh", "JuiceFS, defaults", "juicefs redis-check-rdb redis-cli", refuses="JuiceFS shows what other nodes wrote only after"),
    "juicefs-node": Mounted("juicefs.sh", "JuiceFS, defaults, one node", "juicefs redis-check-rdb redis-cli", nodes=1),
    "sshfs": Mounted("sshfs.sh", "sshfs, defaults", "sshfs", refuses="sshfs keeps data and sizes in each node"),
    "sshfs-node": Mounted("sshfs.sh", "sshfs, defaults, one node", "sshfs", nodes=1),
    "bindfs": Mounted("bindfs.sh", "bindfs, one node", "bindfs", nodes=1),
    "xfs": Mounted("image.sh", "xfs, one kernel", "mkfs.xfs", "xfs"),
    "btrfs": Mounted("image.sh", "btrfs, one kernel", "mkfs.btrfs", "btrfs"),
    "overlay": Mounted("overlay.sh", "overlayfs, one node", nodes=1),
}
