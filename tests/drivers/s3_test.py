#!/usr/bin/env python3
"""The driver of S3 on moto, behind a server that checks requests and makes them fail (s3_store.py). The ranks of an open are all in
this process: the driver is called as Mercutio calls it.

    s3_test.py DRIVER.so [unittest's arguments]
"""
import ctypes
import errno
import hashlib
import os
import random
import re
import socket
import subprocess
import sys
import time
import unittest

import s3_store
from s3_store import data_of
from s3_driver import CREATE, DISCARD, EXCLUSIVE, LAST, READ, WRITE, Failed, File, Host, Ranks, Table, load, look, names_in

MiB = 1 << 20
DRIVER = None   # the file name


class S3(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.store = s3_store.Store()
        os.environ.update(cls.store.environment())
        code, File.calls = load(DRIVER, Host(1, ctypes.sizeof(Host), b"test", ctypes.sizeof(Table)))
        assert code == 0

    @classmethod
    def tearDownClass(cls):
        cls.store.close()

    def setUp(self):
        self.store.set_faults()
        self.store.clean()
        self.key = self.id().rpartition(".")[2]
        self.name = "bucket/" + self.key
        os.environ.pop("MERCUTIO_S3_MEMORY", None)
        os.environ.update(AWS_MAX_ATTEMPTS="4", MERCUTIO_S3_TIMEOUT="60")

    def tearDown(self):
        self.assertEqual(self.store.wrong, [])
        self.store.wrong.clear()

    def assertContent(self, want, key=None):
        got = self.store.content(key or self.key)
        self.assertIsNotNone(got, "there is no object")
        self.assertEqual(len(got), len(want))
        if got == want:
            return
        wrong = [i for i in range(0, len(want), 4096) if got[i:i + 4096] != want[i:i + 4096]]
        self.assertEqual(wrong, [], "blocks that are wrong")

    def assertClean(self):
        self.assertEqual(self.store.garbage(), [])

    def count(self, pattern):
        return sum(1 for line in self.store.asked if re.search(pattern, line))

    def moved(self):
        """Bytes of bodies, both ways."""
        return self.store.moved

    def put(self, data, key=None):
        self.assertEqual(self.store.direct("PUT", "/bucket/" + (key or self.key), data)[0], 200)

    def fails(self, code, action, *words):
        with self.assertRaises(Failed) as caught:
            action()
        self.assertEqual(errno.errorcode[caught.exception.code], errno.errorcode[code], caught.exception.text)
        for word in words:
            self.assertIn(word, caught.exception.text)
        self.assertNotIn(s3_store.SECRET, caught.exception.text)
        return caught.exception


class Writing(S3):
    def test_one_small_object_is_put_at_once(self):
        file = File(self.name)
        file.write(10, b"abc")
        file.write(3, b"0123456789")
        self.assertEqual(file.read(0, 100), bytes(3) + b"0123456789")
        self.assertEqual(self.store.content(self.key), b"", "seen before it was published")
        file.sync()
        file.publish(LAST)
        file.close()
        self.assertContent(bytes(3) + b"0123456789")
        self.assertEqual(self.count("^PUT"), 2, "the empty object, and the new one")
        self.assertEqual(self.count("^POST"), 0)
        self.assertClean()

    def test_empty_object(self):
        Ranks(self.name, 2).end()
        self.assertContent(b"")
        self.assertClean()

    def test_pieces_of_ranks_and_holes(self):
        want = bytearray(300000)
        ranks = Ranks(self.name, 3)
        for i in range(60):
            data = data_of(997, i)
            ranks[i % 3].write(i * 5000, data)
            want[i * 5000:i * 5000 + 997] = data
        ranks.end()
        self.assertContent(bytes(want[:59 * 5000 + 997]))
        self.assertClean()

    def test_whole_parts_go_straight_to_the_object(self):
        data = data_of(22 * MiB + 777)
        ranks = Ranks(self.name, 2, part=5 * MiB)
        for at in range(0, len(data), MiB // 2):
            ranks[at // (10 * MiB) % 2].write(at, data[at:at + MiB // 2])
        ranks.end()
        self.assertContent(data)
        self.assertEqual(self.count("^PUT .*partNumber"), 5)
        self.assertEqual(self.count("^GET .*/r"), 1, "the record of rank 1, without data")
        self.assertClean()

    def test_parts_that_are_alike(self):
        data = data_of(5 * MiB) * 4
        ranks = Ranks(self.name, 2, part=5 * MiB)
        ranks[1].write(0, data[:15 * MiB])
        ranks[0].write(15 * MiB, data[15 * MiB:])
        ranks.end()
        self.assertContent(data)

    def test_untouched_parts_are_copied_in_the_store(self):
        data = bytearray(data_of(21 * MiB))
        self.put(bytes(data))
        ranks = Ranks(self.name, 2, READ | WRITE, part=5 * MiB)
        ranks[1].write(11 * MiB, b"changed")
        data[11 * MiB:11 * MiB + 7] = b"changed"
        self.store.set_faults()
        ranks.end()
        self.assertContent(bytes(data))
        self.assertEqual(self.count("^PUT .*partNumber"), 3, "one copy of two parts, one of two, and the part that changed")
        self.assertClean()

    def test_long_parts_are_made_in_the_store(self):
        data = bytearray(data_of(48 * MiB))
        self.put(bytes(data))
        ranks, piece = Ranks(self.name, 2, READ | WRITE, part=40 * MiB), data_of(17 * MiB, 2)
        ranks[1].write(7 * MiB, piece)
        ranks[0].write(30 * MiB, b"changed")
        data[7 * MiB:24 * MiB], data[30 * MiB:30 * MiB + 7] = piece, b"changed"
        self.store.set_faults()
        ranks.end()
        self.assertContent(bytes(data))
        self.assertEqual(self.count("^PUT .*part-0.*partNumber=[134]&"), 3, "blocks with the first bytes of the piece, with its last, and that changed")
        self.assertLess(self.moved(), 51 * MiB, "the piece once, three blocks of 8 MiB and what they need of the object")
        self.assertClean()

    def test_zeros_of_long_holes_are_sent_once(self):
        ranks = Ranks(self.name, 2)
        ranks[1].write(70 * MiB, b"end")
        ranks.end()
        self.assertContent(bytes(70 * MiB) + b"end")
        self.assertLess(self.moved(), 15 * MiB, "8 MiB of zeros, and the last part")
        self.assertClean()

    def test_what_a_thread_writes_meanwhile_comes_later(self):
        ranks = Ranks(self.name, 2)
        ranks[1].write(0, b"first")
        self.assertIsNone(ranks.flush())
        ranks[1].write(3, b"second")
        self.assertEqual((ranks[1].read(0, 100), ranks[1].size()), (b"firsecond", 9))
        ranks[0].publish()
        self.assertContent(b"first")
        for file in ranks:
            file.call("refresh")
        self.assertEqual(ranks[1].read(0, 100), b"firsecond")
        ranks.end()
        self.assertContent(b"firsecond")

    def test_what_a_process_writes_last_counts_through_whatever_open(self):
        ranks, alone = Ranks(self.name, 2), File(self.name, READ | WRITE)
        ranks[0].write(0, b"header with 0")
        alone.write(12, b"2")
        alone.sync()
        alone.publish(LAST)
        alone.close()
        ranks.end()
        self.assertContent(b"header with 2")
        self.assertClean()

    def test_what_one_open_has_written_others_of_the_process_read(self):
        self.put(b"0123456789")
        ranks, alone, reader = Ranks(self.name, 2, READ | WRITE), File(self.name, READ | WRITE), File(self.name, READ)
        self.assertEqual(reader.read(0, 100), b"0123456789")
        ranks[1].write(2, b"ab")
        alone.write(3, b"cde")
        ranks[0].write(12, b"f")
        for file in (alone, reader):
            self.assertEqual((file.read(0, 100), file.size()), (b"01acde6789\0\0f", 13))
        self.assertEqual(ranks[1].read(0, 3), b"01a")
        alone.sync()
        alone.publish(LAST)
        alone.close()
        self.assertEqual(reader.read(0, 6), b"01acde")
        ranks.end()
        reader.close()
        self.assertContent(b"01acde6789\0\0f")

    def elsewhere(self, name, part, more):
        """Two ranks, of which rank 1 is in a process of its own, as aggregators are. It writes `more`, and waits for a line."""
        zero = File(name, READ | WRITE | CREATE, 0, 2, part=part)
        text = "import s3_test, sys\ns3_test.rank_elsewhere(%r, %r, %r, %r, %r)" % (DRIVER, name, zero.handle(), part, more)
        one = subprocess.Popen([sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=os.path.dirname(os.path.abspath(__file__)))
        self.assertEqual(one.stdout.readline(), "written\n")
        return zero, one

    def end_elsewhere(self, zero, one):
        one.communicate("sync\n", timeout=60)
        self.assertEqual(one.returncode, 0)
        zero.sync()
        zero.publish(LAST)
        zero.close()

    def test_what_is_written_later_through_another_open_remains(self):
        """Over pieces and over a part that another process has sent, inside the object and behind its end."""
        part = 5 * MiB
        whole = data_of(2 * part)
        zero, one = self.elsewhere(self.name, part, [(0, 2 * part, 1), (2 * part, 5000, 2)])
        zero.call("begin_turn", ctypes.c_int64(4))
        alone = File(self.name, READ | WRITE)
        want = bytearray(whole + data_of(5000, 2))
        for at, data in ((100, b"first"), (part - 10, data_of(20, 3)), (2 * part + 30, b"third"), (2 * part + 4999, b"at the end")):
            alone.write(at, data)
            want[at:at + len(data)] = data
        alone.sync()
        alone.publish(LAST)
        alone.close()
        zero.write(101, b"IR", turn=5)
        want[101:103] = b"IR"
        self.end_elsewhere(zero, one)
        self.assertContent(bytes(want))
        self.assertClean()

    def test_a_part_that_was_written_later_as_a_whole(self):
        part = 5 * MiB
        zero, one = self.elsewhere(self.name, part, [(0, part, 1), (part, 100, 2)])
        zero.call("begin_turn", ctypes.c_int64(2))
        alone, data = File(self.name, READ | WRITE), data_of(part + 100, 3)
        alone.write(0, data)
        alone.sync()
        alone.publish(LAST)
        alone.close()
        self.end_elsewhere(zero, one)
        self.assertContent(data)
        self.assertClean()

    def test_what_is_not_written_later_counts_as_before(self):
        """Through another open, before the turn of the other rank."""
        zero, one = self.elsewhere(self.name, 0, [(0, 1000, 1)])
        alone = File(self.name, READ | WRITE)
        alone.write(10, b"earlier")
        alone.sync()
        alone.publish(LAST)
        alone.close()
        zero.call("begin_turn", ctypes.c_int64(4))
        self.end_elsewhere(zero, one)
        self.assertContent(data_of(1000))

    def test_nothing_is_made_of_an_object_that_was_deleted(self):
        self.put(b"precious")
        ranks = Ranks(self.name, 2, READ | WRITE)
        ranks[1].write(2, b"x")
        self.store.direct("DELETE", "/bucket/" + self.key)
        self.fails(errno.ENOENT, ranks.end, "deleted")
        self.assertIsNone(self.store.content(self.key))
        self.assertClean()

    def test_an_object_that_was_deleted_is_not_an_empty_one(self):
        self.put(b"precious")
        ranks = Ranks(self.name, 2, READ | WRITE)
        self.store.direct("DELETE", "/bucket/" + self.key)
        ranks.sync()
        for file in ranks:
            self.fails(errno.ENOENT, lambda: file.read(0, 8), "deleted")
            self.fails(errno.ENOENT, file.size, "deleted")
        ranks.end()
        self.assertClean()

    def test_a_longer_file_has_zeros_between(self):
        self.put(b"old")
        ranks = Ranks(self.name, 2, READ | WRITE, part=5 * MiB)
        ranks[1].write(12 * MiB, b"end")
        ranks.end()
        self.assertContent(b"old" + bytes(12 * MiB - 3) + b"end")

    def test_rounds(self):
        want, ranks = bytearray(), Ranks(self.name, 2, part=5 * MiB)
        for i in range(3):
            data = data_of(6 * MiB, i)
            ranks[i % 2].write(i * 5 * MiB, data)
            want[i * 5 * MiB:] = data
            ranks.sync()
            self.assertContent(bytes(want))
            for file in ranks:
                self.assertEqual(file.size(), len(want))
                self.assertEqual(file.read(i * 5 * MiB - 7 if i else 0, 100), want[i * 5 * MiB - 7 if i else 0:][:100])
        ranks.end()
        self.assertContent(bytes(want))
        self.assertClean()

    def test_the_later_turn_remains(self):
        ranks = Ranks(self.name, 2)
        ranks[1].write(0, b"b" * 100, turn=4)
        ranks[0].write(50, b"a" * 100, turn=2)
        ranks[0].write(10, b"c" * 5, turn=5)
        ranks.end()
        self.assertContent(b"b" * 10 + b"c" * 5 + b"b" * 85 + b"a" * 50)

    def test_a_piece_over_a_part_that_was_sent(self):
        part = 5 * MiB
        data = bytearray(data_of(3 * part))
        ranks = Ranks(self.name, 2, part=part)
        ranks[1].write(0, bytes(data), turn=2)
        ranks[0].write(2 * part, b"earlier", turn=1)
        ranks[0].write(part + 100, b"later", turn=3)
        data[part + 100:part + 105] = b"later"
        ranks.end()
        self.assertContent(bytes(data))
        self.assertClean()

    def test_two_whole_parts_in_one_place(self):
        part = 5 * MiB
        ranks = Ranks(self.name, 2, part=part)
        ranks[0].write(0, b"a" * 2 * part, turn=4)
        ranks[1].write(0, b"b" * 2 * part, turn=2)
        try:
            ranks.end()
        except Failed as failed:
            self.assertIn("MPI_File_sync", failed.text)
            self.assertIsNone(self.store.content(self.key))
        else:
            self.assertContent(b"a" * 2 * part)
        self.assertClean()

    def test_little_memory(self):
        os.environ["MERCUTIO_S3_MEMORY"] = "10"
        want, ranks = bytearray(36 * MiB), Ranks(self.name, 2, part=5 * MiB)
        for i in range(0, 36, 2):
            for rank in range(2):
                data = data_of(MiB - 50, i + rank)
                ranks[rank].write((i + rank) * MiB, data)
                want[(i + rank) * MiB:(i + rank) * MiB + len(data)] = data
        self.assertGreaterEqual(self.count("^PUT .*/.mercutio/.*/r"), 2)
        self.assertEqual(ranks[1].read(MiB, 1000), want[MiB:MiB + 1000], "what it has written itself")
        ranks.end()
        self.assertContent(bytes(want[:36 * MiB - 50]))
        self.assertClean()

    def test_pieces_that_are_too_long_for_one_object(self):
        os.environ["MERCUTIO_S3_MEMORY"] = "100"
        ranks, data = Ranks(self.name, 2, part=80 * MiB), data_of(70 * MiB)
        ranks[1].write(MiB, data)
        ranks.end()
        self.assertEqual(self.count("^PUT .*/.mercutio/.*/r1-"), 2, "at most 64 MiB each")
        self.assertContent(bytes(MiB) + data)
        self.assertClean()

    def test_a_client_that_nobody_uses_goes(self):
        def sockets():
            return sum(os.path.islink(path) and os.readlink(path).startswith("socket:") for path in (f"/proc/self/fd/{n}" for n in os.listdir("/proc/self/fd")))

        self.put(b"x")
        look(self.name)
        before = sockets()
        for attempts in range(10, 20):
            os.environ["AWS_MAX_ATTEMPTS"] = str(attempts)
            look(self.name)
        deadline = time.monotonic() + 20   # of a thread of the store, which closes its end
        while sockets() > before and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertLessEqual(sockets(), before)

    def test_headers_may_be_written_again(self):
        os.environ["MERCUTIO_S3_MEMORY"] = "10"
        part = 5 * MiB
        data = bytearray(data_of(6 * part))
        ranks = Ranks(self.name, 2, part=part)
        for at in range(0, len(data), part):
            ranks[1].write(at, bytes(data[at:at + part]))
        for at in (8, part + 5, 5 * part):
            ranks[1].write(at, b"again")
            data[at:at + 5] = b"again"
        self.fails(errno.EOPNOTSUPP, lambda: ranks[1].read(part, 100), "MPI_File_sync", "MERCUTIO_S3_MEMORY")
        ranks.end()
        self.assertContent(bytes(data))
        self.assertClean()

    def test_a_rank_alone_reads_all_it_has_written(self):
        os.environ["MERCUTIO_S3_MEMORY"] = "10"
        data = data_of(24 * MiB)
        file = File(self.name, part=5 * MiB)
        for at in range(0, len(data), 3 * MiB):
            file.write(at, data[at:at + 3 * MiB])
        self.assertEqual(file.read(MiB, 21 * MiB), data[MiB:22 * MiB])
        file.write(20 * MiB, b"x")
        file.sync()
        file.publish(LAST)
        file.close()
        self.assertContent(data[:20 * MiB] + b"x" + data[20 * MiB + 1:])
        self.assertClean()

    def test_sizes(self):
        self.put(b"0123456789")
        file = File(self.name, READ | WRITE)
        file.set_size(4)
        self.assertEqual(file.size(), 4)
        file.set_size(8)
        self.assertEqual(file.read(0, 100), b"0123" + bytes(4))
        file.write(6, b"xy-beyond")
        file.set_size(9)
        file.sync()
        file.publish()
        self.assertContent(b"0123" + bytes(2) + b"xy-")
        file.set_size(0)
        file.sync()
        file.publish(LAST)
        file.close()
        self.assertContent(b"")
        self.fails(errno.EFBIG, lambda: File(self.name, part=5 * MiB).set_size(1 << 40), "striping_unit")

    def test_room_is_zeros(self):
        file = File(self.name)
        file.write(0, b"here")
        for bytes_wanted in (10, 3):
            file.call("preallocate", ctypes.c_int64(bytes_wanted))
            self.assertEqual(file.size(), 10)
        file.sync()
        file.publish(LAST)
        file.close()
        self.assertContent(b"here" + bytes(6))

    def test_what_is_not_published_is_forgotten(self):
        self.put(b"old")
        ranks = Ranks(self.name, 2, part=5 * MiB)
        ranks[1].write(0, bytes(11 * MiB))
        self.assertIsNone(ranks.flush())
        ranks.close()
        self.assertContent(b"old")
        self.assertClean()
        ranks = Ranks(self.name, 2, part=5 * MiB)
        ranks[1].write(0, bytes(11 * MiB))
        self.assertIsNone(ranks.flush())
        ranks[0].publish(DISCARD)
        self.fails(errno.EIO, ranks.end, "anew")
        self.assertContent(b"old")
        self.assertClean()

    def test_random_programs(self):
        for seed in range(int(os.environ.get("MERCUTIO_TEST_PROGRAMS", "8"))):
            with self.subTest(seed=seed):
                self.random_program(random.Random(seed))
        self.assertClean()

    def random_program(self, draw):
        """Writes of ranks in turns, syncs, and changes of the size, against the bytes that must result. Ranks don't overlap in one turn."""
        os.environ["MERCUTIO_S3_MEMORY"] = draw.choice(["1", "12", "64"])
        part, count, reach = 5 * MiB, draw.randint(1, 4), draw.choice([100000, 11 * MiB, 17 * MiB])
        key = "%s-%d" % (self.key, draw.random() * 1e9)
        want = bytearray(data_of(draw.choice([0, 7, part, reach]), draw.random()))
        if want:
            self.put(bytes(want), key)
        ranks, turn = Ranks("bucket/" + key, count, part=part), 0
        for step in range(draw.randint(1, 12)):
            kind = draw.random()
            if kind < 0.15:
                ranks.sync()
                self.assertContent(bytes(want), key)
            elif kind < 0.25:
                ranks.sync()
                size = draw.randint(0, reach)
                ranks[0].set_size(size)
                want[size:] = bytes(max(0, size - len(want)))
                ranks.sync()
            else:
                turn += 1
                begin, share = draw.randint(0, reach), draw.choice([100, 70000, MiB, part])
                for piece in range(draw.choice([1, count, 3 * count])):
                    data, at = data_of(share, draw.random()), begin + piece * share
                    want[len(want):] = bytes(max(0, at - len(want)))
                    want[at:at + share] = data
                    ranks[piece % count].write(at, data, turn=turn)
        try:
            ranks.end()
        except Failed as failed:   # two ranks have filled one part
            self.assertIn("call MPI_File_sync between", failed.text)
            return
        self.assertContent(bytes(want), key)


class Reading(S3):
    def test_any_range(self):
        data = data_of(20 * MiB + 5)
        self.put(data)
        ranks, draw = Ranks(self.name, 2, READ), random.Random(5)
        for _ in range(30):
            begin, count = draw.randint(0, len(data) + 10), draw.choice([1, 100, 5000, MiB - 1, 9 * MiB, 17 * MiB])
            self.assertEqual(ranks[1].read(begin, count), data[begin:begin + count])
        self.assertEqual(ranks[1].size(), len(data))
        self.assertEqual(self.count("^HEAD"), 1, "the others are told by rank 0")
        ranks.close()

    def test_small_reads_in_order_take_few_requests(self):
        data = data_of(16 * MiB)
        self.put(data)
        file = File(self.name, READ)
        for at in range(0, len(data), 10000):
            self.assertEqual(file.read(at, 10000), data[at:at + 10000])
        self.assertLessEqual(self.count("^GET"), 6)
        file.close()

    def test_a_short_object_is_looked_at_and_read_by_one_request(self):
        self.put(b"0123456789")
        file = File(self.name, READ | WRITE)
        self.assertEqual(file.read(0, 100), b"0123456789")
        for content, requests in ((b"others", 1), (data_of(MiB), 2), (b"short again", 2), (b"", 2), (b"and not empty", 2), (b"others", 1)):
            self.put(content)
            file.call("refresh")
            self.store.set_faults()
            self.assertEqual((file.read(0, 2 * MiB), file.size()), (content, len(content)))
            self.assertEqual(len(self.store.asked), requests, (content[:20], self.store.asked))
        self.store.direct("DELETE", "/bucket/" + self.key)
        file.call("refresh")
        self.fails(errno.ENOENT, file.size, "deleted")
        file.close()

    def test_rank_0_knows_what_it_has_published(self):
        ranks = Ranks(self.name, 2)
        ranks[1].write(0, b"first")
        self.assertIsNone(ranks.flush())
        ranks[0].publish()
        ranks[0].call("refresh")
        self.store.set_faults()
        self.assertEqual((ranks[0].read(0, 100), ranks[0].size()), (b"first", 5))
        self.assertEqual(self.store.asked, [])
        ranks[1].call("refresh")
        self.assertEqual((ranks[1].read(0, 100), ranks[1].size()), (b"first", 5))
        self.put(b"from outside")
        ranks.sync()
        for file in ranks:
            self.assertEqual((file.read(0, 100), file.size()), (b"from outside", 12))
        self.store.set_faults()
        ranks[0].write(5, b"er")
        ranks.end()
        self.assertContent(b"from er" + b"tside")
        self.assertEqual(self.count("^(HEAD|GET) .*" + self.key + "$"), 1, "one look at what may be somebody else's, with its bytes")
        self.assertClean()

    def test_an_object_that_is_replaced_is_never_mixed(self):
        self.put(data_of(3 * MiB, 1))
        file = File(self.name, READ)
        self.assertEqual(file.read(0, 100), data_of(3 * MiB, 1)[:100])
        self.put(data_of(2 * MiB, 2))
        self.fails(errno.ESTALE, lambda: file.read(2 * MiB, 100), "replaced")
        file.call("refresh")
        self.assertEqual(file.read(MiB, 2 * MiB), data_of(2 * MiB, 2)[MiB:])
        file.close()

    def test_a_file_that_is_written_goes_on_with_the_new_object(self):
        self.put(data_of(3 * MiB, 1))
        file = File(self.name, READ | WRITE)
        self.assertEqual(file.read(0, 100), data_of(3 * MiB, 1)[:100])
        self.put(data_of(2 * MiB, 2))
        self.assertEqual(file.read(2 * MiB - 50, 100), data_of(2 * MiB, 2)[-50:], "of one object, with its end")
        file.close()

    def test_what_others_published_meanwhile_stays(self):
        self.put(b"0123456789")
        file, other = File(self.name, READ | WRITE), File(self.name, READ | WRITE)
        file.write(0, b"ab")
        other.write(8, b"cd")
        for one in (file, other):
            one.sync()
            one.publish(LAST)
            one.close()
        self.assertContent(b"ab234567cd")


class Names(S3):
    def test_folders_are_what_keys_have_before_slashes(self):
        for key, data in (("a", b"1"), ("b/c", b"22"), ("b/d/e", b"333"), ("b/d.x", b""), ("<&> ü", b"4")):
            self.put(data, self.key + "/" + key)
        top = self.name
        self.assertEqual(names_in(top), {"a": 1, "b": None, "<&> ü": 1})
        self.assertEqual(names_in(top + "/b/"), {"c": 2, "d": None, "d.x": 0})
        self.assertEqual(len(names_in(top, most=2)), 2)
        self.assertEqual((look(top + "/a")[:2], look(top + "/b")[:2], look("bucket")[:2]), ((False, 1), (True, 0), (True, 0)))
        self.assertNotEqual(look(top + "/a")[2], look(top + "/b/c")[2])
        for call in (look, names_in):
            self.fails(errno.ENOENT, lambda: call(top + "/x"), "isn't there")
            self.fails(errno.ENOENT, lambda: call("no-bucket"))
        self.fails(errno.ENOTDIR, lambda: names_in(top + "/a"))
        self.put(b"x", ".mercutio/somebody/0/r1-1-1")
        self.assertNotIn(".mercutio", names_in("bucket"))

    def test_more_names_than_a_page(self):
        for i in range(1003):
            self.put(b"", "%s/%d" % (self.key, i))
        self.assertEqual(sorted(map(int, names_in(self.name))), list(range(1003)))
        self.assertEqual(self.count("^GET .*list-type"), 2)

    def test_empty_folders(self):
        folder = self.name.encode()
        File.run("make_folder", folder)
        self.fails(errno.EEXIST, lambda: File.run("make_folder", folder))
        self.assertEqual((names_in(self.name), look(self.name)[:2]), ({}, (True, 0)))
        self.put(b"x", self.key + "/x")
        self.assertEqual(names_in(self.name), {"x": 1})
        self.fails(errno.ENOTEMPTY, lambda: File.run("remove_folder", folder))
        File.run("remove", folder + b"/x")
        File.run("remove_folder", folder)
        self.fails(errno.ENOENT, lambda: look(self.name))
        self.put(b"x")
        self.fails(errno.EEXIST, lambda: File.run("make_folder", folder))
        self.fails(errno.ENOTDIR, lambda: File.run("remove_folder", folder))

    def rename(self, old, new, flags=0):
        File.run("rename", ("%s-%s" % (self.name, old)).encode(), ("%s-%s" % (self.name, new)).encode(), ctypes.c_uint32(flags))

    def test_files_get_other_names(self):
        for size in (0, 100, 70 * MiB):
            data = data_of(size)
            self.put(data, self.key + "-old")
            self.put(b"replaced", self.key + "-new")
            self.fails(errno.EEXIST, lambda: self.rename("old", "new", EXCLUSIVE))
            self.rename("old", "new")
            self.assertContent(data, self.key + "-new")
            self.assertIsNone(self.store.content(self.key + "-old"))
        self.assertEqual(self.count("copy-source|partNumber"), 2, "of the long one")
        self.fails(errno.ENOENT, lambda: self.rename("old", "new"))
        self.put(b"x", self.key + "-folder/x")
        self.fails(errno.EOPNOTSUPP, lambda: self.rename("folder", "other"), "only files")
        self.fails(errno.EISDIR, lambda: self.rename("new", "folder"))
        self.assertClean()

    def test_a_rename_that_fails_leaves_the_file(self):
        os.environ["AWS_MAX_ATTEMPTS"] = "2"
        for size, fault in ((100, "PUT -new 1000 500"), (70 * MiB, "PUT partNumber=2 1000 500"), (70 * MiB, "POST uploadId 1000 500"), (100, "DELETE -old 1000 403")):
            data = data_of(size)
            self.put(data, self.key + "-old")
            self.store.set_faults(fault)
            with self.assertRaises(Failed):
                self.rename("old", "new")
            self.assertContent(data, self.key + "-old")
            self.assertClean()

    def test_of_two_who_delete_one_is_told(self):
        self.put(b"x")
        self.store.before_delete = lambda: self.store.direct("DELETE", "/bucket/" + self.key)
        self.fails(errno.ENOENT, lambda: File.run("remove", self.name.encode()))
        self.put(b"y")
        self.store.before_delete = lambda: self.put(b"another")
        File.run("remove", self.name.encode())
        self.assertIsNone(self.store.content(self.key))


class Failing(S3):
    """Whatever the store does: the file is right without an error, or as it was with one."""
    PART = 5 * MiB

    def scenario(self, key="scenario"):
        """An object of which a part is replaced as a whole, one by pieces of both ranks, and the others not at all."""
        old = bytearray(data_of(15 * MiB + 4321, 1))
        if self.store.content(key) != old:
            self.put(bytes(old), key)
        ranks = Ranks("bucket/" + key, 2, READ | WRITE, part=self.PART)
        whole = data_of(self.PART, 2)
        ranks[1].write(self.PART, whole)
        ranks[0].write(2 * self.PART + 10, b"zero")
        ranks[1].write(2 * self.PART + 20, b"one")
        new = bytearray(old)
        new[self.PART:2 * self.PART] = whole
        new[2 * self.PART + 10:2 * self.PART + 14] = b"zero"
        new[2 * self.PART + 20:2 * self.PART + 23] = b"one"
        return ranks, bytes(old), bytes(new)

    # Each request of the end of the scenario: part 1 is copied, 2 was sent whole, 3 is put together, 4 copied.
    STEPS = ["HEAD scenario", "PUT partNumber=1", "PUT partNumber=2", "PUT partNumber=3", "PUT .mercutio", "GET .mercutio.*/r1", "GET list-type", "GET part-number-marker",
             "GET scenario$", "POST scenario.uploadId"]

    def test_what_passes_is_tried_again(self):
        for actions in (["2 lost"] * 10, ["2 500", "2 503"] * 4 + ["2 500", "1 503+1"]):
            ranks, _, new = self.scenario()
            self.store.set_faults(*(" ".join(fault) for fault in zip(self.STEPS, actions, strict=True)))
            ranks.end()
            self.assertContent(new, "scenario")
            self.assertEqual([fault.pattern for fault in self.store.faults if fault.left], [], "each fault was met")
            self.assertClean()

    def test_an_object_whose_answer_got_lost_is_known_by_its_etag(self):
        ranks, _, new = self.scenario()
        self.store.set_faults("POST scenario.uploadId 1 lost", "POST scenario.uploadId 1 404")   # not all stores remember what they have done
        ranks.end()
        self.assertContent(new, "scenario")
        self.assertClean()

    def test_the_object_of_another_program_is_not_taken_for_ones_own(self):
        """The answer gets lost, and another program puts an object as long and of as many parts meanwhile."""
        ranks, old, _ = self.scenario()
        other = bytes(reversed(old))
        parts = [other[i:i + self.PART] for i in range(0, len(other), self.PART)]

        def replace():
            path = "/bucket/scenario?uploadId=" + re.search("<UploadId>(.*?)<", self.store.direct("POST", "/bucket/scenario?uploads")[1].decode()).group(1)
            for number, part in enumerate(parts, 1):
                self.store.direct("PUT", "%s&partNumber=%d" % (path, number), part)
            listed = "".join("<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>" % (number, hashlib.md5(part).hexdigest()) for number, part in enumerate(parts, 1))
            self.assertEqual(self.store.direct("POST", path, ("<CompleteMultipartUpload>%s</CompleteMultipartUpload>" % listed).encode())[0], 200)

        self.store.after_lost = replace
        self.store.set_faults("POST scenario.uploadId 1 lost")
        self.fails(errno.EIO, ranks.end, "answer got lost", "is not the one that was written")
        self.assertContent(other, "scenario")
        self.assertClean()

    def test_what_stays_is_an_error_and_the_object_as_it_was(self):
        for i, step in enumerate(self.STEPS):
            action, code = (("500", errno.EIO), ("403", errno.EACCES), ("507", errno.EDQUOT))[i % 3]
            with self.subTest(step=step, action=action):
                os.environ["AWS_MAX_ATTEMPTS"] = "2"
                ranks, old, _ = self.scenario()
                self.store.set_faults("%s 1000 %s" % (step, action))
                with self.assertRaises(Failed) as caught:
                    ranks.end()
                self.assertEqual(caught.exception.code, code, caught.exception.text)
                self.store.set_faults()
                self.assertContent(old, "scenario")
                if "list-type" not in step:   # by which it is found
                    self.assertClean()
                self.store.clean()

    def test_an_error_in_a_good_answer(self):
        ranks, _, new = self.scenario()
        self.store.set_faults("POST uploadId 1 error200", "PUT partNumber=3 1 error200")
        ranks.end()
        self.assertContent(new, "scenario")
        ranks, old, _ = self.scenario()
        self.store.set_faults("POST uploadId 1000 error200")
        self.fails(errno.EIO, ranks.end, "InternalError", "4 attempts")
        self.assertContent(old, "scenario")

    def test_half_an_answer_is_none(self):
        data = data_of(9 * MiB)
        self.put(data)
        file = File(self.name, READ)
        self.store.set_faults("GET half 3 truncated")
        self.assertEqual(file.read(0, 9 * MiB), data)
        self.store.set_faults("GET half 1000 truncated")
        self.fails(errno.EIO, lambda: file.read(MiB + 1, 5000000), "attempts")
        file.close()

    def test_a_connection_is_cut_in_the_middle_of_a_part(self):
        ranks, old, new = self.scenario()
        self.store.set_faults("PUT partNumber=2 3 cut", "PUT partNumber=3 1 cut")
        ranks.end()
        self.assertContent(new, "scenario")
        ranks, old, _ = self.scenario()
        os.environ["AWS_MAX_ATTEMPTS"] = "2"
        self.store.set_faults("PUT partNumber=2 1000 cut")
        with self.assertRaises(Failed):
            ranks.end()
        self.assertContent(old, "scenario")
        self.assertClean()

    def test_credentials_expire(self):
        ranks, old, _ = self.scenario()
        self.store.set_faults("POST scenario.uploadId 1000 expired")
        self.fails(errno.EACCES, ranks.end, "AWS_SESSION_TOKEN has expired")
        self.assertContent(old, "scenario")
        self.assertClean()

    def test_a_store_that_hangs(self):
        data = data_of(2 * MiB)
        self.put(data)
        os.environ["MERCUTIO_S3_TIMEOUT"] = "5"
        file = File(self.name, READ)
        self.store.set_faults("GET hangs 1 slow")
        self.assertEqual(file.read(0, 2 * MiB), data)
        file.close()

    def test_a_store_that_answers_no_more_is_asked_little(self):
        ranks, old, _ = self.scenario()
        self.store.set_faults(*(method + " . 1000 cut" for method in ("GET", "HEAD", "PUT", "POST", "DELETE")))
        self.fails(errno.EIO, ranks.end, "4 attempts")
        asked = sum(1000 - fault.left for fault in self.store.faults)
        self.assertLessEqual(asked, 10, "curl may send each of four attempts, and of one request that clears up, twice")
        self.store.set_faults()
        self.assertContent(old, "scenario")
        self.assertEqual(File("bucket/scenario", READ).read(0, 5), old[:5])

    def test_another_region(self):
        self.put(b"elsewhere")
        self.store.set_faults("HEAD region 1 redirect", "GET region 1000 redirect")
        ranks = Ranks(self.name, 2, READ)
        self.assertEqual(ranks[1].read(0, 100), b"elsewhere")
        ranks.close()

    def test_errors_have_their_class(self):
        self.fails(errno.ENOENT, lambda: File(self.name, READ), self.name)
        self.fails(errno.ENOENT, lambda: File("no-bucket/key", READ))
        self.fails(errno.ENOENT, lambda: File.run("remove", self.name.encode()))
        self.put(b"x")
        self.fails(errno.EEXIST, lambda: File(self.name, READ | WRITE | CREATE | EXCLUSIVE))
        self.store.set_faults("HEAD class 1000 403")
        self.fails(errno.EACCES, lambda: File(self.name, READ), "403")
        self.store.set_faults()
        File.run("remove", self.name.encode())
        self.assertIsNone(self.store.content(self.key))

    def test_nobody_listens(self):
        os.environ["AWS_MAX_ATTEMPTS"] = "2"
        endpoint = os.environ["AWS_ENDPOINT_URL"]
        with socket.socket() as silent:   # nobody else gets its port
            silent.bind(("127.0.0.1", 0))
            os.environ["AWS_ENDPOINT_URL"] = "http://127.0.0.1:%d" % silent.getsockname()[1]
            try:
                self.fails(errno.ECONNREFUSED, lambda: File(self.name, READ), "127.0.0.1", "2 attempts")
            finally:
                os.environ["AWS_ENDPOINT_URL"] = endpoint

    def test_a_wrong_secret(self):
        os.environ["AWS_SECRET_ACCESS_KEY"] = "another"
        try:
            self.fails(errno.EACCES, lambda: File(self.name, READ))
        finally:
            os.environ["AWS_SECRET_ACCESS_KEY"] = s3_store.SECRET
            self.store.wrong.clear()

    def test_the_contract(self):
        folder = os.path.dirname(os.path.abspath(DRIVER))
        done = subprocess.run([os.environ["MERCUTIO_TEST_COMMAND"], "driver", "check", "s3://bucket/contract"], env=dict(os.environ, MERCUTIO_DRIVERS=folder),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=200)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertClean()

    def test_an_older_mercutio_is_refused(self):
        for host in (Host(1, 24, b"0.1.0", 0), Host(1, ctypes.sizeof(Host), b"0.1.0", Table.begin_turn.offset)):
            code, calls = load(DRIVER, host)
            self.assertEqual(code, errno.ENOSYS)
            self.assertIn(b"0.1.0 is too old", calls["explain"]())


def rank_elsewhere(driver, name, handle, part, writes):
    """Rank 1 of 2 in this process: writes of (offset, bytes, seed) in turn 2."""
    _, File.calls = load(driver, Host(1, ctypes.sizeof(Host), b"test", ctypes.sizeof(Table)))
    file = File(name, READ | WRITE, 1, 2, handle, part)
    for offset, count, seed in writes:
        file.write(offset, data_of(count, seed), turn=2)
    print("written", flush=True)
    sys.stdin.readline()
    file.sync()
    file.close()


if __name__ == "__main__":
    DRIVER = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
