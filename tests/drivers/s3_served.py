#!/usr/bin/env python3
"""Objects of S3 that a mercutiod serves, with the commands that people use on files of another cluster.

    s3_served.py DIRECTORY_OF_THE_PROGRAMS DIRECTORY_OF_THE_DRIVERS [unittest's arguments]
"""
import errno
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

import s3_store
from s3_store import data_of

MiB = 1 << 20
PROGRAMS, DRIVERS = None, None   # folders


class Served(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.store = s3_store.Store()
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="mercutio-served-"))
        cls.there = cls.folder / "there"
        cls.environment = dict(os.environ, MERCUTIO_CONNECTIONS=str(cls.folder / "connections"), MERCUTIO_DRIVERS=str(DRIVERS), HOME=str(cls.folder),
                               AWS_MAX_ATTEMPTS="2", **cls.store.environment())
        cls.there.mkdir()
        cls.connect("far", "s3://bucket/run:rw", "--copy-to", "*")
        cls.connect("seen", "s3://bucket/run")
        cls.connect("near", "%s:rw" % cls.there, "--copy-to", "*")

    @classmethod
    def connect(cls, name, root, *options):
        cls.mercutio("connect", "--name", name, "--root", "data=" + root, "--via", "env", "--idle", "600", "--daemon", PROGRAMS / "mercutiod", *options)

    @classmethod
    def tearDownClass(cls):
        for name in ("far", "seen", "near"):
            cls.mercutio("disconnect", "-f", name)
        cls.store.close()
        shutil.rmtree(cls.folder)

    def setUp(self):
        self.store.set_faults()
        for key in self.keys():
            self.store.direct("DELETE", "/bucket/run/" + key)
        self.here = self.folder / self.id().rpartition(".")[2]
        self.here.mkdir()

    def tearDown(self):
        self.assertEqual(self.store.wrong, [])

    @classmethod
    def mercutio(cls, *words, fails=None):
        done = subprocess.run([str(PROGRAMS / "mercutio"), *map(str, words)], env=cls.environment, capture_output=True, text=True, timeout=100)
        text = done.stdout + done.stderr
        assert done.returncode == 0 if fails is None else done.returncode != 0 and fails in text, (words, text)
        return text

    def keys(self):
        import re
        return sorted(re.findall(r"<Key>run/([^<]*)</Key>", self.store.direct("GET", "/bucket?list-type=2&prefix=run/")[1].decode()))

    def content(self, key):
        return self.store.content("run/" + key)

    def put(self, key, data):
        self.assertEqual(self.store.direct("PUT", "/bucket/run/" + key, data)[0], 200)


class Commands(Served):
    def test_long_files_go_there_and_back(self):
        data = data_of(21 * MiB + 5)
        (self.here / "long").write_bytes(data)
        self.mercutio("cp", self.here / "long", "mercutio://far/data/long")
        self.assertEqual(self.content("long"), data)
        self.assertEqual(self.keys(), ["long"])
        self.assertEqual(self.store.garbage(), [])
        self.mercutio("cp", "mercutio://seen/data/long", self.here / "back")
        self.assertEqual((self.here / "back").read_bytes(), data)
        self.mercutio("cp", "mercutio://far/data/long", "mercutio://near/data/")
        self.assertEqual((self.there / "long").read_bytes(), data)
        self.mercutio("cp", "mercutio://near/data/long", "mercutio://far/data/again")
        self.mercutio("cp", "mercutio://far/data/again", "mercutio://far/data/third")
        self.assertEqual((self.content("again"), self.content("third")), (data, data))

    def test_a_copy_goes_on_where_it_stopped(self):
        data = data_of(20 * MiB)
        (self.here / "x").write_bytes(data)
        self.put(".x.mercutio-part", data[:9 * MiB])
        self.put("x", b"what was there before")
        self.mercutio("cp", "--resume", self.here / "x", "mercutio://far/data/x")
        self.assertEqual(self.content("x"), data)
        self.assertEqual(self.keys(), ["x"])

    def test_trees(self):
        files = {"a": b"1", "b/c": data_of(5000), "b/d/e": b"", "f": data_of(70000)}
        tree = self.here / "tree"
        for name, data in files.items():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_bytes(data)
        (tree / "empty").mkdir()
        self.mercutio("cp", "-r", tree, "mercutio://far/data/tree")
        self.assertEqual({key: self.content(key) for key in self.keys() if not key.endswith("/")}, {"tree/" + name: data for name, data in files.items()})
        self.assertEqual(self.mercutio("ls", "mercutio://seen/data/tree").split(), ["a", "b/", "empty/", "f"])
        self.assertEqual(self.mercutio("ls", "mercutio://seen/data/t*/b/*").count("mercutio://"), 2)
        self.assertRegex(self.mercutio("ls", "-l", "mercutio://seen/data/tree"), r"-rw------- +70000 %s.* f\n" % time.strftime("%Y"))
        self.assertIn("5000 bytes", self.mercutio("stat", "mercutio://seen/data/tree/b/c"))
        self.mercutio("cp", "-r", "mercutio://seen/data/tree", self.here / "back")
        self.assertEqual(subprocess.run(["diff", "-r", tree, self.here / "back"]).returncode, 0)
        self.mercutio("rm", "mercutio://far/data/tree/b", fails="-r removes it")
        self.mercutio("rm", "-r", "mercutio://far/data/tree")
        self.assertEqual(self.keys(), [])

    def test_other_names(self):
        self.put("x", b"x")
        self.put("folder/y", b"y")
        self.mercutio("mv", "mercutio://far/data/x", "mercutio://far/data/z")
        self.mercutio("mv", "mercutio://far/data/z", "mercutio://far/data/folder")
        self.assertEqual(self.keys(), ["folder/y", "folder/z"])
        self.mercutio("mv", "-n", "mercutio://far/data/folder/y", "mercutio://far/data/folder/z", fails="there already")
        self.mercutio("mv", "mercutio://far/data/folder", "mercutio://far/data/other", fails="only files can be renamed")
        self.mercutio("mkdir", "-p", "mercutio://far/data/new/deep")
        self.assertEqual(self.mercutio("ls", "mercutio://far/data").split(), ["folder/", "new/"])
        self.assertEqual(self.keys(), ["folder/y", "folder/z", "new/deep/"])

    def test_names_have_all_letters(self):
        """Also such as XML can't have, and what encodings are made of."""
        names = ["a\tb", "line\rend", "&#9;&amp;<x>", "50% +1%20", "\x01\u00e9\u20ac\U0001f600", "a%2Fb"]
        for name in names:
            self.put("odd/" + urllib.parse.quote(name), name.encode())
            self.put("odd/in " + urllib.parse.quote(name) + "/x", name.encode())
        self.mercutio("cp", "-r", "mercutio://seen/data/odd", self.here / "back")
        back = {str(path.relative_to(self.here / "back")): path.read_bytes() for path in (self.here / "back").rglob("*") if path.is_file()}
        self.assertEqual(back, {where % name: name.encode() for name in names for where in ("%s", "in %s/x")})
        self.mercutio("rm", "-r", "mercutio://far/data/odd")
        self.assertEqual(self.keys(), [])

    def test_errors_say_why(self):
        (self.here / "x").write_bytes(b"x")
        self.put("x", b"old")
        self.mercutio("cp", self.here / "x", "mercutio://seen/data/x", fails="read-only")
        self.mercutio("cp", "mercutio://seen/data/none", self.here, fails="isn't there")
        self.mercutio("ls", "mercutio://seen/data/none", fails="isn't there")
        self.store.set_faults("PUT run/.*x 1000 403")
        self.mercutio("cp", self.here / "x", "mercutio://far/data/x", fails="these credentials don't permit it")
        self.assertEqual(self.content("x"), b"old")
        self.store.set_faults("PUT run/x 1000 507")
        self.mercutio("cp", self.here / "x", "mercutio://far/data/x", fails="QuotaExceeded")
        self.assertEqual(self.content("x"), b"old")


@unittest.skipUnless(os.path.exists("/dev/fuse"), "no /dev/fuse")
class Mount(Served):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.at = cls.folder / "mnt"
        cls.at.mkdir()
        cls.mercutio("mount", "mercutio://far/data", cls.at)

    @classmethod
    def tearDownClass(cls):
        cls.mercutio("umount", cls.at)
        super().tearDownClass()

    def fails(self, code, call, *arguments):
        with self.assertRaises(OSError) as caught:
            call(*arguments)
        self.assertEqual(errno.errorcode[caught.exception.errno], errno.errorcode[code])

    def test_files_and_folders(self):
        data = data_of(9 * MiB + 3)
        (self.at / "x").write_bytes(data)
        self.assertEqual(self.content("x"), data)
        self.assertEqual((self.at / "x").read_bytes(), data)
        with open(self.at / "x", "r+b", buffering=0) as file:
            file.seek(MiB)
            file.write(b"changed")
            file.seek(MiB - 2)
            self.assertEqual(file.read(11), data[MiB - 2:MiB] + b"changed" + data[MiB + 7:MiB + 9])
            os.fsync(file.fileno())
            self.assertEqual(self.content("x")[MiB:MiB + 7], b"changed")
        (self.at / "folder").mkdir()
        os.rename(self.at / "x", self.at / "folder" / "y")
        self.assertEqual((sorted(os.listdir(self.at)), os.listdir(self.at / "folder")), (["folder"], ["y"]))
        with open(self.at / "folder" / "y", "ab") as file:
            file.write(b"more")
        self.assertEqual(self.content("folder/y"), data[:MiB] + b"changed" + data[MiB + 7:] + b"more")
        os.truncate(self.at / "folder" / "y", 5)
        self.assertEqual(self.content("folder/y"), data[:5])
        self.fails(errno.ENOTEMPTY, os.rmdir, self.at / "folder")
        os.unlink(self.at / "folder" / "y")
        os.rmdir(self.at / "folder")
        self.assertEqual((os.listdir(self.at), self.keys()), ([], []))

    def test_another_size_comes_after_what_other_opens_have_written(self):
        with open(self.at / "x", "wb", buffering=0) as one, open(self.at / "x", "r+b", buffering=0) as other:
            one.write(data_of(1000))
            os.ftruncate(other.fileno(), 100)
            self.assertEqual((self.content("x"), os.fstat(one.fileno()).st_size), (data_of(1000)[:100], 100))
            one.write(b"behind")
        self.assertEqual(self.content("x"), data_of(1000)[:100] + bytes(900) + b"behind")

    def test_a_close_says_again_that_nothing_is_published(self):
        self.put("x", b"old")
        file = os.open(self.at / "x", os.O_WRONLY)
        os.write(file, b"new")
        self.store.set_faults("PUT run/x 1000 507")
        self.fails(errno.EDQUOT, os.fsync, file)
        self.assertRaises(OSError, os.close, file)
        self.assertEqual(self.content("x"), b"old")
        self.store.set_faults()
        (self.at / "x").write_bytes(b"newer")
        self.assertEqual(self.content("x"), b"newer")

    def test_what_objects_have_not(self):
        (self.at / "x").write_bytes(b"x")
        self.fails(errno.EOPNOTSUPP, os.chmod, self.at / "x", 0o644)
        self.fails(errno.EOPNOTSUPP, os.utime, self.at / "x", (1, 1))
        self.fails(errno.EOPNOTSUPP, os.symlink, "x", self.at / "link")
        self.fails(errno.EOPNOTSUPP, os.statvfs, self.at)
        self.fails(errno.ENOENT, os.stat, self.at / "none")


if __name__ == "__main__":
    PROGRAMS, DRIVERS = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
    unittest.main(verbosity=2)
