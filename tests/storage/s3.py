"""S3: moto on the last node, behind the server of tests/drivers that checks each request. Nothing is mounted, so there is no POSIX."""
import os
import sys

from mounted import LeftOut, Mounted

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "drivers"))
import s3_store  # noqa: E402

PORT, MOTO_PORT = 9000, 9001
FETCH = """import sys
sys.path.insert(0, %r)
import s3_store
content = s3_store.content_at(%d, sys.argv[1])
if content is not None:
    open(sys.argv[2], 'wb').write(content)
""" % (os.path.join(HERE, "..", "drivers"), MOTO_PORT)


class S3(Mounted):
    def __init__(self):
        super().__init__("s3.sh", "S3 (moto), one object a file", driver="s3://bucket", refuses="MERCUTIO_S3_MEMORY")
        self.programs = ["writes", "caches", "turns", "atomic", "shared", "sizes", "names"]

    def before_nodes(self, folder):
        super().before_nodes(folder)
        if not os.path.exists(s3_store.PYTHON):
            raise LeftOut("not installed: moto (scripts/setup.sh check)")

    def start(self, cluster, clients):
        place = super().start(cluster, clients)
        self.environment = dict(AWS_ACCESS_KEY_ID=s3_store.KEY, AWS_SECRET_ACCESS_KEY=s3_store.SECRET, AWS_REGION="us-east-1",
                                AWS_ENDPOINT_URL="http://%s:%d" % (cluster.addresses[-1], PORT), MERCUTIO_S3_TIMEOUT="30")
        return place

    def on_server(self, path):
        there = os.path.join(self.folder, "fetched")
        if os.path.exists(there):
            os.remove(there)
        self.cluster.run(self.cluster.names[-1], [sys.executable, "-c", FETCH, path.lstrip("/"), there], check=True)
        return there
