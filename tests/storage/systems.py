"""The storage that tests/storage can be run on, by name. A system brings:

    needs_uml       its clients are in user-mode Linux's kernel, not in this machine's
    nodes           on how many the ranks are
    refuses         what an error must say where right results can't be had (a pattern); None: they can
    describe        for the table
    before_nodes(folder)      what has to be there before the nodes are made; the folder is its own
    start(cluster, clients)   mounts on each of the clients' nodes; returns the shared folder's name there. The last node serves.
    on_server(path)           the name here of the server's own file, or None
"""
from mounted import Mounted
from nfs import Nfs

SYSTEMS = {
    "nfs42": Nfs("vers=4.2"),
    "nfs41": Nfs("vers=4.1"),
    "nfs40": Nfs("vers=4.0"),
    "nfs3": Nfs("vers=3"),
    "nfs42-noac": Nfs("vers=4.2,noac"),
    "nfs42-soft": Nfs("vers=4.2,soft,timeo=600"),
    "gluster": Mounted("gluster.sh", "GlusterFS, FUSE, defaults", "glusterd gluster glusterfs mkfs.ext4", refuses="gluster volume set VOLUME performance"),
    "gluster-uncached": Mounted("gluster.sh", "GlusterFS, FUSE, no caches in the client", "glusterd gluster glusterfs mkfs.ext4", "uncached"),
    "gluster-direct": Mounted("gluster.sh", "GlusterFS, FUSE, no caches in the client, direct-io-mode=enable", "glusterd gluster glusterfs mkfs.ext4", "direct"),
    "moosefs": Mounted("moosefs.sh", "MooseFS, FUSE", "mfsmaster mfschunkserver mfsmount"),
    "ceph-fuse": Mounted("ceph.sh", "CephFS, FUSE", "ceph-mon ceph-osd ceph-mds ceph-fuse ceph"),
    "juicefs": Mounted("juicefs.sh", "JuiceFS, defaults", "juicefs redis-server", refuses="JuiceFS shows what other nodes wrote only after"),
    "sshfs": Mounted("sshfs.sh", "sshfs, defaults", "sshfs", refuses="sshfs"),
    "bindfs": Mounted("bindfs.sh", "bindfs on each node", "bindfs"),
    "xfs": Mounted("image.sh", "xfs, one kernel", "mkfs.xfs", "xfs"),
    "btrfs": Mounted("image.sh", "btrfs, one kernel", "mkfs.btrfs", "btrfs"),
    "overlay": Mounted("overlay.sh", "overlayfs, one node", nodes=1),
}
