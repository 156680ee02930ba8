"""A store for the S3 driver: moto in this process, behind a server that looks at each request and makes it fail where it is told to.

Deletions have the condition If-Match, as in S3; moto doesn't know it. A write with a condition is one step, as there; moto asks and writes in two,
so that of two writers at the same time both succeed.

The server computes each signature again with botocore, and compares hashes of bodies with their headers. What is wrong it answers with 403 or
400, and notes. A fault is "METHOD PATTERN TIMES ACTION": the next TIMES requests of METHOD whose URL has PATTERN (a regular expression) get
ACTION: a status (503, 500...), 503+N (with Retry-After: N), lost (it is done, and the answer is lost), error200 (the answer is 200 with an
error in it), expired (the credentials), truncated (half the body), cut (half the request is read, and nothing done), slow (a pause in the middle
that is longer than any timeout), redirect (to region eu-west-1).
"""
import base64
import collections
import contextlib
import functools
import hashlib
import http.client
import http.server
import io
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.path.join(HERE, "..", "..", ".venv-s3", "bin", "python")   # scripts/setup.sh
KEY, SECRET = "testing-key", "testing-secret-that-must-not-be-seen"


@functools.lru_cache(maxsize=64)
def data_of(count, seed=1):
    return random.Random(seed).randbytes(count)


def content_at(port, key):
    """Of an object, or None; from the port that doesn't check."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/bucket/" + urllib.parse.quote(key))
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return body if answer.status == 200 else None


class Moto:
    """Its application, called as a WSGI server would."""

    def __init__(self):
        os.environ["MOTO_S3_DEFAULT_KEY_BUFFER_SIZE"] = str(1 << 30)   # all in memory
        from moto.moto_server.werkzeug_app import create_backend_app
        self.application = create_backend_app("s3")

    def ask(self, method, path, headers=(), body=b""):
        """(status, headers, body)"""
        name, _, query = path.partition("?")
        environment = {"REQUEST_METHOD": method, "PATH_INFO": urllib.parse.unquote(name, "latin-1"), "QUERY_STRING": query, "RAW_URI": path, "REQUEST_URI": path,
                       "SERVER_NAME": "127.0.0.1", "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1", "HTTP_HOST": "127.0.0.1", "CONTENT_LENGTH": str(len(body)),
                       "HTTP_AUTHORIZATION": "AWS4-HMAC-SHA256 Credential=%s/20200101/us-east-1/s3/aws4_request" % KEY,
                       "wsgi.version": (1, 0), "wsgi.url_scheme": "http", "wsgi.input": io.BytesIO(body), "wsgi.errors": sys.stderr, "wsgi.multithread": True,
                       "wsgi.multiprocess": False, "wsgi.run_once": False}
        for name, value in headers:
            key = name.upper().replace("-", "_")
            environment[key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else "HTTP_" + key] = value
        begun = []
        answer = self.application(environment, lambda status, headers, _=None: begun.append((int(status.split()[0]), headers)))
        try:
            text = b"".join(answer)
        finally:
            getattr(answer, "close", lambda: None)()
        return (*begun[0], text)


class Fault:
    def __init__(self, text):
        self.method, self.pattern, times, self.action = text.split()
        self.left = int(times)


class Direct(http.server.BaseHTTPRequestHandler):
    """Whatever is asked, unchecked and uncounted."""
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True   # the body of an answer does not wait until its header is acknowledged

    def log_message(self, *_):
        pass

    def answer(self, status, headers, body=b"", cut=None):
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in ("connection", "transfer-encoding", "content-length", "keep-alive"):
                self.send_header(name, value)
        if self.command == "HEAD":
            lengths = [value for name, value in headers if name.lower() == "content-length"]
            self.send_header("Content-Length", lengths[0] if lengths else "0")
        else:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        if cut is not None:
            self.wfile.write(body[:len(body) // 2])
            self.wfile.flush()
            time.sleep(cut)
            self.close_connection = True
            self.connection.close()
            return
        self.wfile.write(body)

    def ask_moto(self, body):
        store, wanted = self.server.store, self.headers.get("If-Match")
        if self.command in ("GET", "HEAD") or (wanted is None and "If-None-Match" not in self.headers):
            return self.to_moto(body)
        if self.command == "DELETE":
            hook, store.before_delete = store.before_delete, None
            if hook:
                hook()
        with store.conditional:
            if self.command != "DELETE":
                return self.to_moto(body)
            status, headers, _ = store.moto.ask("HEAD", self.path)
            there = {name.lower(): value for name, value in headers}.get("etag")
            if status == 200 and there == wanted:
                return self.to_moto(body)
        code = "PreconditionFailed" if status == 200 else "NoSuchKey"
        return 412 if status == 200 else 404, [], ("<Error><Code>%s</Code></Error>" % code).encode()

    def to_moto(self, body):
        try:
            return self.server.store.moto.ask(self.command, self.path, self.headers.items(), body)
        except KeyError:   # moto ends so where an upload that is to be completed isn't there
            return 404, [], b"<Error><Code>NoSuchUpload</Code></Error>"

    def serve(self):
        self.answer(*self.ask_moto(self.rfile.read(int(self.headers.get("Content-Length") or 0))))

    def do_GET(self):
        self.serve()

    do_PUT = do_POST = do_DELETE = do_HEAD = do_GET


class Checking(Direct):
    def error(self, status, code, more=()):
        self.answer(status, [("Content-Type", "application/xml")] + list(more), ("<Error><Code>%s</Code><Message>told to fail</Message></Error>" % code).encode())

    def wrong(self, what):
        self.server.store.wrong.append("%s %s: %s" % (self.command, self.path, what))
        self.error(403, "SignatureDoesNotMatch")

    def check(self, body):
        """What is wrong with the request, or None."""
        from botocore.auth import S3SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.credentials import Credentials
        authorization = self.headers.get("Authorization", "")
        match = re.match(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request,SignedHeaders=([^,]+),Signature=([0-9a-f]{64})$", authorization)
        if not match:
            return "no signature"
        key, _, region, names, signature = match.groups()
        if key != KEY:
            return "another key"
        if self.headers["x-amz-content-sha256"] != hashlib.sha256(body).hexdigest():
            return "the hash isn't the body's"
        if "content-md5" in self.headers and base64.b64decode(self.headers["content-md5"]) != hashlib.md5(body).digest():
            return "Content-MD5 isn't the body's"
        if self.command == "PUT" and body and "content-md5" not in self.headers:
            return "no Content-MD5"
        path, _, query = self.path.partition("?")
        if "list-type=2" in query and "encoding-type=url" not in query:
            return "a list in XML alone, which can't have all keys"
        if "x-amz-copy-source-range" in self.headers:
            _, headers, _ = self.server.store.moto.ask("HEAD", self.headers["x-amz-copy-source"])
            if int({name.lower(): value for name, value in headers}.get("content-length", 0)) <= 5 << 20:
                return "a range of an object that S3 copies only as a whole"
        auth = S3SigV4Auth(Credentials(KEY, SECRET, self.headers.get("x-amz-security-token")), "s3", region)
        request = AWSRequest(method=self.command, url="http://%s%s%s" % (self.headers["Host"], path, "?" + query if query else ""), data=body)
        for name in names.split(";"):
            request.headers[name] = self.headers[name]
        request.context["timestamp"] = self.headers["x-amz-date"]
        wanted = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
        return None if wanted == signature else "the signature isn't botocore's"

    def serve(self):
        store = self.server.store
        length = int(self.headers.get("Content-Length") or 0)
        if store.fault_of(self.command, self.path, cuts=True):
            self.rfile.read(length // 2)
            self.close_connection = True
            return self.connection.shutdown(socket.SHUT_RDWR)
        body = self.rfile.read(length)
        wrong = self.check(body)
        if wrong:
            return self.wrong(wrong)
        store.note("%s %s" % (self.command, urllib.parse.unquote(self.path)))
        store.count(len(body))
        action = store.fault_of(self.command, self.path)
        if action is None:
            return self.pass_on(self.ask_moto(body))
        if action.startswith("503"):
            return self.error(503, "SlowDown", [("Retry-After", action[4:])] if "+" in action else [])
        if action.isdigit():
            return self.error(int(action), {"500": "InternalError", "403": "AccessDenied", "404": "NoSuchKey", "507": "QuotaExceeded"}.get(action, "Told"))
        if action == "redirect":
            if "/eu-west-1/" in self.headers["Authorization"]:
                return self.pass_on(self.ask_moto(body))
            return self.error(400, "AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region><Code>", [("x-amz-bucket-region", "eu-west-1")])
        if action == "expired":
            return self.error(400, "ExpiredToken")
        if action == "error200":
            return self.error(200, "InternalError")
        status, headers, text = self.ask_moto(body)
        if action == "lost":
            hook, store.after_lost = store.after_lost, None
            if hook:
                hook()
            self.close_connection = True
            return self.connection.close()
        return self.answer(status, headers, text, cut=0 if action == "truncated" else 3)

    def pass_on(self, answer):
        self.server.store.count(len(answer[2]))
        self.answer(*answer)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address, port, handler, store):
        super().__init__((address, port), handler)
        self.store = store
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        pass


class Store:
    """With `bucket` made. `asked`: the requests so far; `moved`: the bytes of their bodies; `wrong`: those that were."""

    def __init__(self, bucket="bucket", address="127.0.0.1", port=0, direct_port=0):
        self.lock, self.faults, self.asked, self.wrong, self.moved = threading.Lock(), [], [], [], 0
        self.conditional, self.before_delete, self.after_lost = threading.Lock(), None, None
        self.moto = Moto()
        self.direct("PUT", "/" + bucket)
        self.servers = Server(address, port, Checking, self), Server("127.0.0.1", direct_port, Direct, self)
        self.port, self.direct_port = (server.server_address[1] for server in self.servers)

    def direct(self, method, path, body=b""):
        """Past the check: (status, body)."""
        status, _, text = self.moto.ask(method, path, body=body)
        return status, text

    def environment(self):
        return dict(AWS_ACCESS_KEY_ID=KEY, AWS_SECRET_ACCESS_KEY=SECRET, AWS_ENDPOINT_URL="http://127.0.0.1:%d" % self.port, AWS_REGION="us-east-1")

    def note(self, line):
        with self.lock:
            self.asked.append(line)

    def count(self, count):
        with self.lock:
            self.moved += count

    def fault_of(self, method, path, cuts=False):
        with self.lock:
            for fault in self.faults:
                if fault.left > 0 and cuts == (fault.action == "cut") and fault.method == method and re.search(fault.pattern, urllib.parse.unquote(path)):
                    fault.left -= 1
                    return fault.action
        return None

    def set_faults(self, *texts):
        with self.lock:
            self.faults, self.asked[:], self.moved = [Fault(text) for text in texts], [], 0

    def content(self, key):
        status, body = self.direct("GET", "/bucket/" + urllib.parse.quote(key))
        return body if status == 200 else None

    def garbage(self, bucket="bucket"):
        """What sessions have left, as paths: keys below .mercutio/, and uploads."""
        keys = re.findall(r"<Key>(\.mercutio/[^<]*)</Key>", self.direct("GET", "/%s?list-type=2&prefix=.mercutio/" % bucket)[1].decode())
        uploads = re.findall(r"<Upload>(.*?)</Upload>", self.direct("GET", "/%s?uploads" % bucket)[1].decode(), re.DOTALL)
        found = [tuple(re.search("<%s>([^<]*)<" % name, upload).group(1) for name in ("Key", "UploadId")) for upload in uploads]
        return ["/%s/%s" % (bucket, key) for key in keys] + ["/%s/%s?uploadId=%s" % ((bucket,) + one) for one in found]

    def clean(self):
        for path in self.garbage():
            self.direct("DELETE", path)

    def close(self):
        for server in self.servers:
            server.shutdown()
            server.server_close()


@contextlib.contextmanager
def served(programs, environment):
    """A mercutiod whose root is the bucket: mercutio://store/top. Yields what its clients need."""
    with tempfile.TemporaryDirectory(prefix="mercutio-connections-") as folder:
        environment = dict(environment, MERCUTIO_CONNECTIONS=folder)
        mercutio = os.path.join(programs, "mercutio")
        subprocess.run([mercutio, "connect", "--name", "store", "--via", "env", "--root", "top=s3://bucket:rw", "--daemon", os.path.join(programs, "mercutiod")],
                       env=environment, check=True)
        try:
            yield environment
        finally:
            subprocess.run([mercutio, "disconnect", "-f", "store"], env=environment, check=True)


def run(command, programs=None):
    """In an environment with a store of its own, which a mercutiod of these programs serves. Its exit code. MERCUTIO_TEST_STORE_LOG: a file for the
    requests."""
    store = Store()
    environment = dict(os.environ, MERCUTIO_TEST_STORE_PORT=str(store.direct_port), MERCUTIO_TEST_STORE_NAME="s3://bucket", **store.environment())
    try:
        with served(programs, environment) if programs else contextlib.nullcontext(environment) as environment:
            code = subprocess.run(command, env=environment).returncode
    finally:
        store.close()
    methods = collections.Counter(line.split()[0] for line in store.asked)
    print("the store had %d requests: %s" % (len(store.asked), ", ".join("%d %s" % (count, method) for method, count in methods.most_common())))
    if "MERCUTIO_TEST_STORE_LOG" in os.environ:
        with open(os.environ["MERCUTIO_TEST_STORE_LOG"], "w") as log:
            log.write("".join(line + "\n" for line in store.asked))
    if store.wrong:
        print("requests that were wrong:\n" + "\n".join(store.wrong))
    return 1 if store.wrong else code


def main():
    """run COMMAND...; served PROGRAMS COMMAND...; or a store that a test starts on a node: its address and port, and the port that doesn't check, for the server's view."""
    if sys.argv[1] == "run":
        return run(sys.argv[2:])
    if sys.argv[1] == "served":
        return run(sys.argv[3:], os.path.abspath(sys.argv[2]))
    store = Store(address=sys.argv[1], port=int(sys.argv[2]), direct_port=int(sys.argv[3]))
    print("ready", flush=True)
    try:
        threading.Event().wait()
    finally:
        if store.wrong:
            print("\n".join(store.wrong), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
