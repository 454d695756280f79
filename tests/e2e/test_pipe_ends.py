"""rdsend and rdrecv: every byte arrives, or both sides say that it did not."""

import contextlib
import os
import random
import re
import select
import signal
import socket
import struct
import subprocess
import threading
import time
import unittest
from pathlib import Path

from harness import EXIT_DATA, EXIT_FILES, EXIT_HOST, EXIT_USAGE, KIB, MIB, OPTIONS, Running, local_agent, wait_for
from pipes import KEY, RDRECV, RDSEND, PipeTest

SMALL = ("--chunk-size", "64K")  # so that "several chunks" stays small
EDGES = [0, 1, 4095, 4096, 4097, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 5 * 64 * KIB, MIB + 3]


def resolves(host: str) -> bool:
    try:
        return bool(socket.getaddrinfo(host, None))
    except socket.gaierror:
        return False


def free_port() -> int:
    with socket.socket(socket.AF_INET6) as probe:
        probe.bind(("::", 0))
        return probe.getsockname()[1]


class Bytes(PipeTest):
    def test_every_size_between_all_ends(self):
        for size in EDGES:
            source = self.make_file(f"source-{size}", size)
            for file_in in (False, True):
                for file_out in (False, True):
                    with self.subTest(size=size, file_in=file_in, file_out=file_out):
                        found = self.send(source, file_in=file_in, file_out=file_out, options=SMALL)
                        self.assert_same_bytes(source, found)

    def test_many_chunks(self):
        source = self.make_file("source", 300 * MIB + 12345)
        for file_in, file_out in ((False, False), (True, True)):
            with self.subTest(file_in=file_in, file_out=file_out):
                found = self.send(source, file_in=file_in, file_out=file_out)
                self.assert_same_bytes(source, found)

    def test_through_pipes_at_both_ends(self):
        source = self.make_file("source", 300 * MIB + 777)
        receiver, port = self.receiver()
        cat = subprocess.Popen(["cat", source], stdout=subprocess.PIPE)
        sender = self.sender(port, stdin=cat.stdout)
        cat.stdout.close()
        self.take_all(receiver)
        self.assertEqual(cat.wait(), 0)
        self.end(sender, 0)
        self.end(receiver, 0)
        self.assert_same_bytes(source, self.folder / "out")

    def test_a_file_goes_over_several_streams(self):
        source = self.make_file("source", 40 * MIB)
        found = self.send(source, file_in=True, file_out=True, options=("-v", "--streams", "5"))
        self.assert_same_bytes(source, found)
        self.assertIn("5 streams", self.said[0])

    def streams(self, source: Path, *options) -> str:
        found = self.send(source, file_in=False, file_out=False, options=("-v", *options))
        self.assert_same_bytes(source, found)
        return re.search(r"^rdsend: (\d+) streams?\b", self.said[0], re.MULTILINE)[1]

    def test_bytes_in_order_go_over_as_many_streams_as_asked_for(self):
        source = self.make_file("source", 40 * MIB)
        self.assertEqual(self.streams(source, "--streams", "5"), "5")
        self.assertEqual(self.streams(source, "--streams", "3", "--compress"), "3")

    def test_bytes_in_order_go_over_one_stream(self):
        """A machine that has much else to do may take each of three answers of its own for one from far away."""
        source = self.make_file("source", 40 * MIB)
        most = max(os.cpu_count() // 2, 1) if OPTIONS else 1  # sealing and packing are work for more
        self.assertTrue(any(int(self.streams(source)) <= most for _ in range(5)), "each time over more")

    def test_stdin_is_read_from_where_it_stands(self):
        source = self.make_file("source", 3 * MIB)
        for skipped in (1, 4096, MIB + 5):
            with self.subTest(skipped=skipped), open(source, "rb", buffering=0) as stdin:
                stdin.seek(skipped)
                receiver, port = self.receiver("target")
                self.end(self.sender(port, stdin=stdin, options=SMALL), 0)
                self.end(receiver, 0)
                self.assertEqual((self.folder / "target").read_bytes(), source.read_bytes()[skipped:])
                self.assertEqual(stdin.seek(0, os.SEEK_CUR), 3 * MIB, "what was sent was not taken from stdin")

    def test_a_file_whose_size_says_nothing(self):
        with open("/proc/cpuinfo", "rb") as stdin:
            receiver, port = self.receiver()
            self.end(self.sender(port, stdin=stdin), 0)
            self.end(receiver, 0)
            self.assertIn(b"processor", receiver.out)

    def test_every_ring_and_cache(self):
        source = self.make_file("source", 2 * MIB + 1)
        for options in (("--ring", "threads"), ("--ring", "auto"), ("--cache", "bypass"), ("--cache", "keep")):
            for file_out in (False, True):
                with self.subTest(options=options, file_out=file_out):
                    found = self.send(source, file_in=True, file_out=file_out, options=options,
                                      receive_options=options)
                    self.assert_same_bytes(source, found)

    def test_a_file_on_disk(self):
        self.folder = self.make_folder("/var/tmp")
        source = self.make_file("source", 30 * MIB + 17)
        self.assert_same_bytes(source, self.send(source, file_in=True, file_out=True))

    def test_a_device_takes_it(self):
        source = self.make_file("source", 3 * MIB)
        receiver, port = self.receiver("/dev/null")
        self.end(self.sender(port, source), 0)
        self.end(receiver, 0)
        self.assertTrue(Path("/dev/null").is_char_device())

    def test_a_file_has_no_metadata_of_the_sender(self):
        source = self.make_file("source", 10)
        source.chmod(0o4755)
        os.utime(source, (1, 1))
        found = self.send(source, file_in=True, file_out=True)
        self.assertEqual(found.stat().st_mode & 0o7777, 0o666 & ~current_umask())
        self.assertGreater(found.stat().st_mtime, time.time() - 600)

    def test_a_replaced_file_keeps_its_mode(self):
        target = self.folder / "target"
        target.write_bytes(b"old and longer than the new one")
        target.chmod(0o640)
        source = self.make_file("source", 10)
        receiver, port = self.receiver("target")
        self.end(self.sender(port, source), 0)
        self.end(receiver, 0)
        self.assert_same_bytes(source, target)
        self.assertEqual(target.stat().st_mode & 0o7777, 0o640)

    def test_bandwidth_is_the_last_line_of_both(self):
        source = self.make_file("source", MIB)
        self.send(source, file_in=False, file_out=False, options=("-v",), receive_options=("-v",))
        for text in self.said:
            self.assertRegex(text.splitlines()[-1], r"^Bandwidth \d+\.\d{3} GB/s$")

    def test_silent_without_options(self):
        self.send(self.make_file("source", MIB), file_in=True, file_out=True)
        self.assertEqual(self.said[0], "")
        self.assertRegex(self.said[1], r"^port \d+\n$")

    def test_bwlimit(self):
        source = self.make_file("source", 2 * MIB)
        before = time.monotonic()
        self.send(source, file_in=False, file_out=False, options=(*SMALL, "--bwlimit", "1MiB"))
        self.assertGreater(time.monotonic() - before, 1.5)

    def test_a_sender_and_a_receiver_on_each_address_family(self):
        source = self.make_file("source", 100)
        for host in ("127.0.0.1", "::1", "[::1]", "localhost"):
            with self.subTest(host=host):
                if host == "localhost" and not resolves(host):
                    self.skipTest("no localhost in /etc/hosts here")
                self.assert_same_bytes(source, self.send(source, file_in=True, file_out=True, host=host))

    def test_via_is_where_it_listens(self):
        source = self.make_file("source", 100)
        self.send(source, file_in=True, file_out=True, receive_options=("--via", "127.0.0.1"))
        receiver, port = self.receiver(options=("--via", "127.0.0.1"))
        self.assertIn("Connection refused",
                      self.end(self.sender(port, host="::1", options=("--wait", "0")), EXIT_HOST))
        receiver.kill()

    def test_two_pairs_at_once(self):
        sources = [self.make_file(f"source-{i}", 60 * MIB, seed=i + 1) for i in range(2)]
        pairs = []
        for i, source in enumerate(sources):
            receiver, port = self.receiver(f"target-{i}", key=(f"key {i}",))
            pairs.append((receiver, self.sender(port, source, key=(f"key {i}",))))
        for i, (receiver, sender) in enumerate(pairs):
            self.end(sender, 0)
            self.end(receiver, 0)
            self.assert_same_bytes(sources[i], self.folder / f"target-{i}")

    def test_the_same_port_again_and_again(self):
        port = free_port()
        for i in range(5):
            receiver, _ = self.receiver(port=port)
            sender = self.sender(port, stdin=subprocess.PIPE)
            sender.process.stdin.write(b"%d" % i)
            self.close_input(sender)
            self.end(sender, 0)
            self.end(receiver, 0)
            self.assertEqual(receiver.out, b"%d" % i)


def receive_all(peer: socket.socket, most: int) -> bytes:
    peer.settimeout(20)
    data = b""
    while len(data) < most and (piece := peer.recv(most - len(data))):
        data += piece
    return data


def current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


class Meeting(PipeTest):
    def test_the_sender_may_be_first(self):
        port = free_port()
        source = self.make_file("source", 1000)
        sender = self.sender(port, source)
        # It has tried and was refused: only then rdrecv comes.
        self.assertTrue(wait_for(lambda: "nanosleep" in wchan(sender.pid) or time.monotonic() - sender.started > 1))
        receiver, _ = self.receiver(port=port)
        self.end(sender, 0)
        self.end(receiver, 0)
        self.assertEqual(receiver.out, source.read_bytes())

    def test_the_wait_runs_out(self):
        sender = self.sender(free_port(), options=("--wait", "1"))
        text = self.end(sender, EXIT_HOST, timeout=20)
        self.assertGreater(time.monotonic() - sender.started, 0.9)
        self.assertIn("Connection refused; gave up after 1 s", text)

    def test_versions_that_differ_are_named_on_both_sides(self):
        receiver, port = self.receiver()
        with socket.create_connection(("127.0.0.1", port)) as other:
            other.sendall(b"RDCP" + struct.pack("<HH", 999, 0) + bytes(32))
            magic, ours, _ = struct.unpack("<4sHH", receive_all(other, 64))
        self.assertEqual(magic, b"RDCP")
        with socket.create_server(("127.0.0.1", 0)) as listener:
            sender = self.sender(listener.getsockname()[1])
            listener.settimeout(20)
            caller, _ = listener.accept()
            with caller:
                caller.settimeout(20)
                hello = caller.recv(40, socket.MSG_WAITALL)
                caller.sendall(b"RDCP" + struct.pack("<HH", 999, 0))
        self.assertEqual(struct.unpack("<4sH", hello[:6]), (b"RDCP", ours))
        both = f"speaks stream protocol 999, this side speaks {ours}: install the same version on both"
        self.assertIn(both, self.end(sender, EXIT_HOST))
        # It was no reason to give up waiting.
        self.end(self.sender(port, stdin=subprocess.DEVNULL), 0)
        self.assertIn(both, self.end(receiver, 0))

    def test_a_host_without_a_name(self):
        self.assertIn("find host no-such-host.invalid",
                      self.end(self.sender(1, host="no-such-host.invalid"), EXIT_HOST, timeout=60))

    def test_a_wrong_key_does_not_end_the_wait(self):
        receiver, port = self.receiver()
        text = self.end(self.sender(port, key=("another",)), EXIT_HOST)
        self.assertIn("another KEY", text)
        for rubbish in (b"GET / HTTP/1.0\r\n" + b"\r\n" * 20, b"\0" * 200):
            with socket.create_connection(("127.0.0.1", port)) as stranger:
                stranger.sendall(rubbish)
                with contextlib.suppress(ConnectionError):
                    while stranger.recv(1000):
                        pass
        source = self.make_file("source", 1000)
        self.end(self.sender(port, source), 0)
        refusals = [line for line in self.end(receiver, 0).splitlines() if "refused 127.0.0.1:" in line]
        self.assertEqual(len(refusals), 3, refusals)
        self.assertIn("it may hold another one", refusals[0])
        self.assertIn("does not speak rdcp", refusals[1])
        self.assertEqual(receiver.out, source.read_bytes())

    def test_congestion_control_that_is_not_there(self):
        for program, words in ((RDRECV, (0,)), (RDSEND, ("127.0.0.1", free_port()))):
            with self.subTest(program=program):
                running = self.start(program, "--congestion", "nope", *words, KEY, stdin=subprocess.DEVNULL)
                self.assertRegex(self.end(running, EXIT_USAGE),
                                 f"nope on {socket.gethostname()}: .*; available: .")

    def test_silent_peers_do_not_block(self):
        receiver, port = self.receiver()
        with contextlib.ExitStack() as stack:
            for _ in range(33):
                stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            source = self.make_file("source", 1000)
            sender = self.sender(port, source)
            self.end(sender, 0, timeout=20)
            self.end(receiver, 0)
        self.assertEqual(receiver.out, source.read_bytes())

    def test_the_second_sender_is_refused(self):
        receiver, port = self.receiver()
        first = self.sender(port, stdin=subprocess.PIPE)
        self.assertTrue(wait_for(lambda: not listening(port)), "still listening with a sender there")
        second = self.sender(port, options=("--wait", "0"))
        self.assertIn("Connection refused", self.end(second, EXIT_HOST))
        first.process.stdin.write(b"of the first")
        self.close_input(first)
        self.end(first, 0)
        self.end(receiver, 0)
        self.assertEqual(receiver.out, b"of the first")

    def test_a_port_in_use(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            receiver = self.start(RDRECV, port, KEY)
            self.assertIn("Address already in use", self.end(receiver, EXIT_HOST))

    def test_rdma_is_an_error_where_there_is_none(self):
        receiver, port = self.receiver()
        sender = self.sender(port, options=("--transport", "rdma"))
        if Path("/sys/class/infiniband").is_dir() and os.listdir("/sys/class/infiniband"):
            self.skipTest("there is an RDMA device")
        self.assertIn("use RDMA", self.end(sender, EXIT_DATA))
        self.end(receiver, EXIT_DATA)


def wchan(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/wchan").read_text()
    return ""


def listening(port: int) -> bool:
    for table in ("tcp", "tcp6"):
        for row in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = row.split()
            if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                return True
    return False


class Keys(PipeTest):
    def key_file(self, text: str, mode: int = 0o600) -> Path:
        path = self.folder / "key"
        path.write_text(text)
        path.chmod(mode)
        return path

    def test_from_files_and_descriptors(self):
        source = self.make_file("source", 5000)
        path = self.key_file(KEY + "\nnot the key\n")
        for end, way in [(end, way) for end in ("sender", "receiver") for way in ("file", "fd", "fd -")]:
            with self.subTest(end=end, way=way), open(path, "rb", buffering=0) as opened:
                words = (("--key-file", path) if way == "file" else
                         (*(("-",) if way == "fd -" else ()), "--key-fd", opened.fileno()))
                process = {} if way == "file" else {"pass_fds": (opened.fileno(),)}
                given = {"sender": {}, "receiver": {}}
                given[end] = {"key": words, **process}
                receiver, port = self.receiver("target", **given["receiver"])
                self.end(self.sender(port, source, **given["sender"]), 0)
                self.end(receiver, 0)
                self.assert_same_bytes(source, self.folder / "target")

    def test_the_first_line_of_stdin(self):
        receiver, port = self.receiver()
        sender = self.sender(port, key=("--key-fd", 0), stdin=subprocess.PIPE)
        sender.process.stdin.write(KEY.encode() + b"\nthe data\n")
        self.close_input(sender)
        self.end(sender, 0)
        self.end(receiver, 0)
        self.assertEqual(receiver.out, b"the data\n")

    def test_a_file_that_others_may_read_is_refused(self):
        for mode in (0o640, 0o604, 0o620):
            path = self.key_file(KEY, mode)
            for program, words in ((RDSEND, ("127.0.0.1", 1)), (RDRECV, (0,))):
                with self.subTest(mode=mode, program=program.name):
                    text = self.end(self.start(program, "--key-file", path, *words), EXIT_USAGE)
                    self.assertIn("others may read", text)

    def test_no_key_is_a_usage_error(self):
        empty = self.key_file("\n")
        for program, words in ((RDSEND, ("127.0.0.1", 1)), (RDRECV, (0,))):
            for key in (("",), ("-",), (), ("--key-file", empty)):
                with self.subTest(program=program.name, key=key):
                    self.end(self.start(program, *words, *key), EXIT_USAGE)

    def test_argv_shows_no_key(self):
        receiver, port = self.receiver()
        sender = self.sender(free_port())
        for running in (receiver, sender):
            # Where it is wiped, words before it are still to be seen.
            words = wait_for(lambda pid=running.pid: KEY.encode() not in cmdline(pid) and cmdline(pid))
            self.assertTrue(words, "the key is still in argv")
            self.assertTrue(words.split(b"\0")[0].endswith((b"rdsend", b"rdrecv")))
            self.assertNotIn(KEY.encode(), Path(f"/proc/{running.pid}/cmdline").read_bytes())
            running.kill()
        self.assertTrue(port)


def cmdline(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


class Live(PipeTest):
    """Bytes travel at once: a reader sees them before the writer writes more."""

    def take(self, running: Running, count: int) -> bytes:
        data = b""
        while len(data) < count:
            ready, _, _ = select.select([running.process.stdout], [], [], 20)
            self.assertTrue(ready, f"only {data[:50]} came")
            piece = os.read(running.process.stdout.fileno(), count - len(data))
            self.assertTrue(piece, f"after {data[:50]} there is an end")
            data += piece
        return data

    def test_lines(self):
        for ring in ("auto", "threads"):
            with self.subTest(ring=ring):
                receiver, port = self.receiver(options=("--ring", ring))
                sender = self.sender(port, stdin=subprocess.PIPE, options=("--ring", ring))
                for i in range(50):
                    line = b"line %d\n" % i
                    os.write(sender.process.stdin.fileno(), line)
                    self.assertEqual(self.take(receiver, len(line)), line)
                self.close_input(sender)
                self.end(sender, 0)
                self.end(receiver, 0)

    def test_into_a_fifo(self):
        os.mkfifo(self.folder / "fifo")
        reader = self.start(Path("/bin/cat"), "fifo")
        _, port = self.receiver("fifo")
        sender = self.sender(port, stdin=subprocess.PIPE)
        for _ in range(3):
            os.write(sender.process.stdin.fileno(), b"abc")
            self.assertEqual(self.take(reader, 3), b"abc")
        self.close_input(sender)
        self.end(sender, 0)

    def test_pieces_of_any_length_become_a_whole_file(self):
        data = random.Random(5).randbytes(3 * MIB)
        ends = sorted(random.Random(6).sample(range(1, len(data)), 300))
        for words in ((), ("target",)):
            with self.subTest(words=words):
                receiver, port = self.receiver(*words, options=("--cache", "bypass"))
                sender = self.sender(port, stdin=subprocess.PIPE, options=SMALL)
                for begin, end in zip([0, *ends], [*ends, len(data)]):
                    sender.process.stdin.write(data[begin:end])
                    sender.process.stdin.flush()
                    if not words:
                        self.assertEqual(self.take(receiver, end - begin), data[begin:end])
                self.close_input(sender)
                self.end(sender, 0)
                self.end(receiver, 0)
                if words:
                    self.assertEqual((self.folder / "target").read_bytes(), data)


class Ends(PipeTest):
    def test_the_reader_dies_early_and_late(self):
        for read_before in (0, 1, 3 * MIB, 30 * MIB):
            with self.subTest(read_before=read_before):
                receiver, port = self.receiver()
                sender = self.sender(port, stdin=self.zeros())
                left = read_before
                while left > 0:
                    left -= len(receiver.process.stdout.read1(min(left, MIB)))
                self.close_output(receiver)
                sent = self.end(sender, EXIT_FILES, timeout=30)
                self.assertIn("127.0.0.1: write standard output: Broken pipe", sent)
                received = self.end(receiver, EXIT_FILES, timeout=30)
                self.assertIn("write standard output: Broken pipe", received)

    def test_a_reader_that_dies_while_nothing_is_sent(self):
        receiver, port = self.receiver()
        sender = self.sender(port, stdin=subprocess.PIPE)
        self.close_output(receiver)
        self.assertIn("Broken pipe", self.end(receiver, EXIT_FILES, timeout=20))
        self.close_input(sender)
        self.assertIn("Broken pipe", self.end(sender, EXIT_FILES, timeout=20))

    def test_a_killed_sender_is_no_end_of_the_stream(self):
        for how in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            for words in ((), ("target",)):
                with self.subTest(how=how, words=words):
                    receiver, port = self.receiver(*words, stdout=subprocess.DEVNULL)
                    feeder = self.feeder()
                    sender = self.sender(port, stdin=feeder.stdout, options=("--bwlimit", "50M"))
                    self.assertTrue(wait_for(lambda pid=feeder.pid: moved(pid) > 20 * MIB))
                    os.kill(sender.pid, how)
                    said = self.end(receiver, EXIT_DATA, timeout=30)
                    self.assertEqual(len([line for line in said.splitlines() if line.startswith("rdrecv")]), 1, said)
                    self.end(sender, -signal.SIGKILL if how == signal.SIGKILL else 128 + how)
                    self.assertFalse((self.folder / "target").exists())
                    self.assertEqual([p.name for p in self.folder.iterdir() if ".rdcp-" in p.name], [])

    def test_a_killed_receiver_ends_the_sender(self):
        for how, status in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 143), (signal.SIGINT, 130)):
            with self.subTest(how=how):
                receiver, port = self.receiver(stdout=subprocess.DEVNULL)
                feeder = self.feeder()
                sender = self.sender(port, stdin=feeder.stdout, options=("--bwlimit", "50M"))
                self.assertTrue(wait_for(lambda pid=feeder.pid: moved(pid) > 20 * MIB))
                os.kill(receiver.pid, how)
                self.end(sender, EXIT_DATA, timeout=30)
                self.end(receiver, status)

    def test_an_old_file_stays_when_the_sender_dies(self):
        (self.folder / "target").write_bytes(b"old")
        receiver, port = self.receiver("target")
        feeder = self.feeder()
        sender = self.sender(port, stdin=feeder.stdout, options=("--bwlimit", "50M"))
        self.assertTrue(wait_for(lambda: moved(feeder.pid) > 20 * MIB))
        sender.kill()
        self.end(receiver, EXIT_DATA, timeout=30)
        self.assertEqual((self.folder / "target").read_bytes(), b"old")

    def test_an_unreadable_source(self):
        receiver, port = self.receiver()
        self.assertIn("open missing: No such file", self.end(self.sender(port, "missing"), EXIT_FILES))
        self.assertIn("Is a directory", self.end(self.sender(port, self.folder), EXIT_FILES))
        receiver.kill()

    def test_a_source_that_fails_while_it_is_read(self):
        receiver, port = self.receiver()
        with open("/proc/self/mem", "rb") as stdin:  # opens, and every read is EIO
            self.assertIn("read standard input", self.end(self.sender(port, stdin=stdin), EXIT_FILES))
        said = self.end(receiver, None)
        self.assertIn("the sender failed", said)

    def test_a_target_that_cannot_be(self):
        for name in ("no/such/folder", ".", "folder/"):
            with self.subTest(name=name):
                self.end(self.start(RDRECV, 0, KEY, name), EXIT_FILES)

    def test_a_full_device(self):
        with open("/dev/full", "wb") as full:
            receiver, port = self.receiver(stdout=full)
            sender = self.sender(port, stdin=self.zeros())
            self.assertIn("No space left", self.end(sender, EXIT_FILES, timeout=30))
            self.assertIn("No space left", self.end(receiver, EXIT_FILES, timeout=30))

    def test_a_slow_reader_slows_the_sender(self):
        source = self.make_file("source", 200 * MIB)
        receiver, port = self.receiver()
        feeder = self.feeder(source)
        sender = self.sender(port, stdin=feeder.stdout)
        wait_for(lambda: moved(feeder.pid) > 8 * MIB)
        # Nobody reads: it comes to a stand long before the file's end.
        last = wait_for(lambda: stands_still(feeder.pid), 20, 0.5)
        self.assertTrue(last)
        self.assertLess(last, 100 * MIB)
        self.assertLess(peak(receiver.pid), 100 * MIB)
        self.assertLess(peak(local_agent(sender.pid)), 100 * MIB)
        self.take_all(receiver)
        self.end(sender, 0)
        self.end(receiver, 0)
        self.assert_same_bytes(source, self.folder / "out")

    def test_a_stuck_reader_does_not_hold_a_signal_up(self):
        receiver, port = self.receiver()
        feeder = self.feeder()
        sender = self.sender(port, stdin=feeder.stdout)
        self.assertTrue(wait_for(lambda: stands_still(feeder.pid), 20, 0.5))
        os.kill(receiver.pid, signal.SIGTERM)
        receiver.process.wait(timeout=10)
        self.end(receiver, 143)
        self.end(sender, EXIT_DATA, timeout=20)

    def test_a_silent_fifo_does_not_hold_a_signal_up(self):
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        for how in (signal.SIGTERM, signal.SIGINT):
            for has_writer in (False, True):
                with self.subTest(how=how, has_writer=has_writer), open(fifo, "rb+", buffering=0) as writer:
                    if not has_writer:
                        writer.close()
                    receiver, port = self.receiver()
                    sender = self.sender(port, fifo)
                    if has_writer:
                        writer.write(b"a")  # what arrives shows that both are at work
                        self.assertEqual(os.read(receiver.process.stdout.fileno(), 1), b"a")
                    else:
                        wait_for(lambda pid=sender.pid: Path(f"/proc/{pid}/stat").read_text().split()[2] == "S")
                    os.kill(sender.pid, how)
                    self.end(sender, 128 + how if has_writer else -how, timeout=10)
                    receiver.kill()

    def test_a_long_silence_is_no_end(self):
        """Silence of a writer without data, and of a side that is stopped by its terminal, is not an error."""
        pairs = {}
        for stopped in ("none", "sender", "receiver"):
            receiver, port = self.receiver()
            sender = self.sender(port, stdin=subprocess.PIPE)
            sender.process.stdin.write(b"before ")
            sender.process.stdin.flush()
            self.assertEqual(os.read(receiver.process.stdout.fileno(), 7), b"before ")
            pairs[stopped] = sender, receiver
        for running in (pairs["sender"][0], pairs["receiver"][1]):
            os.kill(running.pid, signal.SIGTSTP)
            self.assertTrue(wait_for(lambda pid=running.pid: state_of(pid) == "T"))
        threading.Event().wait(30)  # longer than a peer may be silent
        for running in (pairs["sender"][0], pairs["receiver"][1]):
            os.kill(running.pid, signal.SIGCONT)
        for stopped, (sender, receiver) in pairs.items():
            with self.subTest(stopped=stopped):
                sender.process.stdin.write(b"and after")
                self.close_input(sender)
                self.end(sender, 0)
                self.end(receiver, 0)
                self.assertEqual(receiver.out, b"and after")


def moved(pid: int) -> int:
    """Bytes that a process has read."""
    with contextlib.suppress(OSError):
        return int(re.search(r"rchar: (\d+)", Path(f"/proc/{pid}/io").read_text())[1])
    return 0


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def stands_still(pid: int) -> int:
    """Returns the bytes that it has read if it read nothing for a second; else 0."""
    before = moved(pid)
    time.sleep(1)
    return before if before > MIB and moved(pid) - before < 64 * KIB else 0


def peak(pid: int) -> int:
    return int(re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[1]) * KIB


if __name__ == "__main__":
    unittest.main()
