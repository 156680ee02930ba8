"""The storage that tests/storage can be run on, by name. A system brings:

    needs_uml       its clients are in user-mode Linux's kernel, not in this machine's
    describe        for the table
    before_nodes(folder)      what has to be there before the nodes are made; the folder is its own
    start(cluster, clients)   mounts on each of the clients' nodes; returns the shared folder's name there. The last node serves.
    on_server(path)           the name here of the server's own file, or None
"""
from nfs import Nfs

SYSTEMS = {
    "nfs42": Nfs("vers=4.2"),
    "nfs41": Nfs("vers=4.1"),
    "nfs40": Nfs("vers=4.0"),
    "nfs3": Nfs("vers=3"),
    "nfs42-noac": Nfs("vers=4.2,noac"),
    "nfs42-soft": Nfs("vers=4.2,soft,timeo=600"),
}
