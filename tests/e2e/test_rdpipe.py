"""rdpipe: commands on several hosts (aliases of one sshd), and the streams between them."""

import contextlib
import fcntl
import hashlib
import os
import select
import shlex
import shutil
import signal
import subprocess
import threading
import time
import unittest
from pathlib import Path

from harness import (BUILD, EXIT_DATA, EXIT_FILES, EXIT_HOST, EXIT_USAGE, MIB, OPTIONS, RDCP, TRANSPORT, CopyTest, held_by,
                     Running, is_root, session_of, wait_for)

RDPIPE = BUILD / "rdpipe"
BIG = int(os.environ.get("RDCP_PIPE_GIB", 0)) * 1024 * MIB or 512 * MIB


class PipelineTest(CopyTest):
    """Commands on the hosts run in the home directory, so files are named by full paths."""

    def command(self, *words) -> list[str]:
        transport = ("--transport", TRANSPORT) if TRANSPORT else ()
        return [os.fspath(word) for word in (RDPIPE, "-F", self.sshd.config, "--rdcp-path", RDCP, *transport,
                                                *OPTIONS, *words)]

    def pipe(self, *words, stdin: bytes | None = b"", status: int = 0, timeout: float = 60, **options):
        done = self.rdcp(*words, stdin=stdin, timeout=timeout, **options)
        self.assertEqual(done.status, status, f"rdpipe {words}: {done}")
        return done

    def commands(self) -> list[int]:
        own = [os.fsencode(part) for part in (RDPIPE, "ssh")]
        named = [(int(pid), words_of(int(pid))) for pid in filter(str.isdigit, os.listdir("/proc"))]
        return [pid for pid, words in named
                if words and words[0] not in own and any(os.fsencode(self.disk) in word for word in words)]

    def output(self, *words, **options) -> bytes:
        return self.pipe(*words, **options).out

    def assert_nothing_lives(self, running: Running, timeout: float = 5.0):
        """Neither here nor beneath the sshd, nor an orphan whose command line names our folder."""
        def left():
            return session_of(running.pid) + self.sshd.descendants() + self.commands()
        self.assertTrue(wait_for(lambda: not left(), timeout), f"processes left: {left()}")


class Streams(PipelineTest):
    def test_standard_input_goes_to_a_command(self):
        self.assertEqual(self.output("dest:wc -c", stdin=b"x" * 5000), b"5000\n")

    def test_every_size_is_whole(self):
        for size in (0, 1, 4095, 4096, 4097, MIB - 1, MIB, MIB + 1, 9 * MIB + 5):
            with self.subTest(size):
                data = os.urandom(size)
                self.assertEqual(self.output("dest:cat", "other:cat", stdin=data), data)

    def test_all_bytes_pass(self):
        data = bytes(range(256)) * 1000
        self.assertEqual(self.output("dest:cat", stdin=data), data)

    def test_commands_run_in_their_order(self):
        self.assertEqual(self.output("dest:tr a b", "other:tr b c", "dest:tr c d", stdin=b"a\n"), b"d\n")

    def test_a_big_one(self):
        seen = "tee >(sha256sum > {}) | cat"
        running = self.start(f"dest:head -c {BIG} /dev/zero | tr '\\0' 'r'",
                             f"other:{seen.format(self.disk / 'sum')}", "dest:sha256sum", stdin=subprocess.DEVNULL)
        done = running.finish(600)
        self.assertEqual(done.status, 0, done)
        wanted = hashlib.sha256()
        block = b"r" * MIB
        for _ in range(BIG // MIB):
            wanted.update(block)
        self.assertEqual(done.out.split()[0].decode(), wanted.hexdigest())
        self.assertEqual((self.disk / "sum").read_text().split()[0], wanted.hexdigest())

    def test_this_host_takes_part(self):
        self.assertEqual(self.output(":tr a b", "dest:tr b c", ":tr c d", stdin=b"a"), b"d")
        self.assertEqual(self.output("tr a b", stdin=b"a"), b"b")  # as in rdpipe 'zfs send' backup:'zfs recv'

    def test_commands_on_this_host_run_in_our_folder(self):
        self.assertEqual(self.output(":pwd"), os.fsencode(self.disk.resolve()) + b"\n")

    def test_lines_travel_at_once(self):
        running = self.start("dest:cat", "other:cat", ":cat", stdin=subprocess.PIPE)
        for i in range(20):
            running.process.stdin.write(b"line %d\n" % i)
            running.process.stdin.flush()
            ready, _, _ = select.select([running.process.stdout], [], [], 20)
            self.assertTrue(ready, "nothing came")
            self.assertEqual(os.read(running.process.stdout.fileno(), 100), b"line %d\n" % i)
        running.process.stdin.close()
        running.process.stdin = None
        self.assertEqual(running.finish(20).status, 0)

    def test_many_segments_on_one_host(self):
        self.assertEqual(self.output(*["dest:cat"] * 6, stdin=b"six"), b"six")

    def test_a_slow_reader(self):
        running = self.start("dest:cat /dev/zero | head -c 30000000", "other:cat", stdin=subprocess.DEVNULL)
        count = 0
        while chunk := running.process.stdout.read(1 << 20):
            count += len(chunk)
            time.sleep(0.02)  # that is what is slow
        self.assertEqual(count, 30_000_000)
        self.assertEqual(running.finish(20).status, 0)

    def test_a_slow_reading_command(self):
        slow = "python3 -c 'import sys, time\nwhile d := sys.stdin.buffer.read(1 << 20): time.sleep(.01); print(len(d))'"
        out = self.output("dest:head -c 40000000 /dev/zero", f"other:{slow}")
        self.assertEqual(sum(map(int, out.split())), 40_000_000)

    def test_two_at_once_between_the_same_hosts(self):
        data = [os.urandom(3 * MIB + i) for i in range(3)]
        found = [None] * len(data)

        def run(i):
            found[i] = self.output("dest:cat", "other:cat", stdin=data[i])
        threads = [threading.Thread(target=run, args=(i,)) for i in range(len(data))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([hashlib.md5(out or b"").digest() for out in found],
                         [hashlib.md5(out).digest() for out in data])

    def test_a_fixed_port_and_a_name_for_this_host(self):
        # Below those that the kernel gives to connections.
        done = self.pipe("-v", "--transport", "tcp", "-p", "17691", "-H", "127.0.0.1", "dest:cat", "other:cat", stdin=b"fixed")
        self.assertEqual(done.out, b"fixed")
        for port in (17691, 17692, 17693):
            self.assertRegex(done.err, rf"-> 127.0.0.1:{port}\n")

    @unittest.skipUnless(TRANSPORT == "rdma", "RDMA runs in the VM")
    def test_each_stream_goes_over_rdma(self):
        done = self.pipe("-v", "dest:cat", "other:cat", stdin=b"x" * 3_000_000)
        self.assertEqual(len(done.out), 3_000_000)
        self.assertEqual(done.err.count(" over rdma"), 3, done)

    def test_closed_descriptors(self):
        done = subprocess.run(["bash", "-c", shlex.join(self.command(":echo heard", "dest:cat")) + " <&-"],
                              capture_output=True, timeout=30, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, b"heard\n"), done)

    def test_the_bandwidth_is_the_last_line(self):
        done = self.pipe("-v", "dest:cat", stdin=b"x")
        self.assertRegex(done.err.splitlines()[-1], r"^Bandwidth \d+\.\d{3} GB/s$")

    def test_standard_error_comes_through(self):
        self.assertEqual(self.pipe("dest:echo oops >&2").err, "dest: oops\n")
        self.assertEqual(self.pipe(":echo oops >&2").err, "oops\n")
        done = self.pipe("-v", "dest:echo a >&2", "other:printf b >&2")
        self.assertIn("dest: a\n", done.err)
        self.assertIn("other: b\n", done.err)

    def test_standard_error_that_is_full_loses_no_line(self):
        """ssh makes a stderr that it shares non-blocking; whoever writes there has to wait all the same."""
        ours, theirs = os.pipe()
        fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, 4096)
        os.set_blocking(theirs, False)
        running = self.start("-v", "dest:seq 20000 >&2", stderr=theirs)
        self.assertTrue(wait_for(lambda: not select.select([], [theirs], [], 0)[1], 20), "it does not fill the pipe")
        os.close(theirs)
        with open(ours, "rb") as lines:
            numbers = [line[6:].decode() for line in lines.read().splitlines() if line.startswith(b"dest: ")]
        self.assertEqual(running.process.wait(60), 0)
        self.assertEqual(numbers, [str(number) for number in range(1, 20001)])

    def test_standard_input_is_read_from_where_it_stands(self):
        path = self.disk / "file"
        path.write_bytes(b"0123456789")
        with open(path, "rb") as file:
            os.lseek(file.fileno(), 4, os.SEEK_SET)
            done = self.start("dest:cat", stdin=file).finish(20)
        self.assertEqual((done.status, done.out), (0, b"456789"))

    def test_a_terminal_is_no_input(self):
        done = subprocess.run(["script", "-qec", " ".join(self.command("'dest:wc -c'")), "/dev/null"],
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False)
        self.assertEqual(done.stdout.strip(), b"0", done)


class Files(PipelineTest):
    def setUp(self):
        super().setUp()
        self.a, self.b = self.disk / "a", self.disk / "b"
        self.a.write_bytes(b"some text\n")

    def test_read_in_front(self):
        self.assertEqual(self.output(f"dest:< {self.a}", "other:tr a-z A-Z"), b"SOME TEXT\n")
        self.assertEqual(self.output(f"dest:<{self.a}"), b"some text\n")

    def test_read_change_write(self):
        self.assertEqual(self.output(f"dest:< {self.a}", "other:tr a-z A-Z", f"dest:> {self.b}"), b"")
        self.assertEqual(self.b.read_bytes(), b"SOME TEXT\n")

    def test_from_file_to_file(self):
        big = self.make_file(self.disk / "big", 40 * MIB + 17)
        self.output(f"dest:< {big}", f"other:> {self.b}")
        self.assert_same_file(big, self.b)

    def test_an_empty_file(self):
        self.a.write_bytes(b"")
        self.output(f"dest:< {self.a}", f"other:> {self.b}")
        self.assertEqual(self.b.read_bytes(), b"")

    def test_read_in_the_middle_starts_when_what_comes_before_has_ended(self):
        out = self.output(f"dest:sleep 0.3; echo thrown away; echo new > {self.a}", f"other:< {self.a}", "dest:cat")
        self.assertEqual(out, b"new\n")

    def test_read_at_the_end(self):
        self.assertEqual(self.output("dest:echo thrown away", f"other:< {self.a}"), b"some text\n")

    def test_what_follows_a_written_file_starts_from_nothing_when_it_is_there(self):
        out = self.output("dest:sleep 0.3; echo late", f"other:> {self.b}", f"dest:wc -c; cat {self.b}")
        self.assertEqual(out, b"0\nlate\n")

    def test_append(self):
        self.output(f"dest:>> {self.a}", stdin=b"more\n")
        self.output("other:echo x", f"dest:>> {self.a}", f"other:>> {self.b}")
        self.assertEqual(self.a.read_bytes(), b"some text\nmore\nx\n")
        self.assertEqual(self.b.read_bytes(), b"")

    def test_write_and_append_without_input(self):
        old = self.disk / "old"
        old.write_bytes(b"old")
        os.utime(old, (1, 1))
        self.output(f"dest:< {self.a}", f"other:> {self.b}", f"other:> {self.a}", f"dest:>> {old}")
        self.assertEqual((self.b.read_bytes(), self.a.read_bytes(), old.read_bytes()), (b"some text\n", b"", b"old"))
        self.assertGreater(old.stat().st_mtime, 1)

    def test_write_in_front_takes_standard_input(self):
        self.assertEqual(self.output(f"dest:> {self.b}", stdin=b"mine"), b"")
        self.assertEqual(self.b.read_bytes(), b"mine")

    def test_names_are_the_shells(self):
        spaced = self.disk / "a name $x"
        self.output(f"dest:> '{spaced}'", stdin=b"1")
        self.assertEqual(spaced.read_bytes(), b"1")
        self.assertEqual(self.output(f"dest:< {self.disk}/a\\ n*"), b"1")
        self.assertEqual(self.output("dest:< ~/../../dev/null"), b"")
        self.pipe(f"dest:< {self.disk}/a b", status=EXIT_FILES)

    def test_modes_and_symlinks_are_a_shells(self):
        link = self.disk / "link"
        link.symlink_to(self.a)
        self.a.chmod(0o640)
        self.output(f":> {link}", stdin=b"new")
        self.assertTrue(link.is_symlink())
        self.assertEqual((self.a.read_bytes(), self.a.stat().st_mode & 0o777), (b"new", 0o640))
        self.output(f":> {self.b}", stdin=b"new", umask=0o027)
        self.assertEqual(self.b.stat().st_mode & 0o777, 0o640)
        self.assertEqual(self.output(":umask", umask=0o027), b"0027\n")

    def test_a_file_that_is_missing_or_cannot_be_written(self):
        done = self.pipe(f"dest:< {self.disk}/none", "other:cat", status=EXIT_FILES)
        self.assertIn("dest", done.err)
        self.assertIn("No such file", done.err)
        done = self.pipe(f"dest:> {self.disk}/none/x", stdin=b"x", status=EXIT_FILES)
        self.assertIn("No such file", done.err)
        self.pipe(f"dest:> {self.disk}", stdin=b"x", status=EXIT_FILES)

    def test_a_file_is_whole_or_as_it_was(self):
        self.pipe("dest:head -c 3000000 /dev/zero; exit 9", f"other:> {self.a}", status=9)
        self.assertEqual(self.a.read_bytes(), b"some text\n")
        self.assert_no_litter(self.disk)

    def test_no_room_for_a_file(self):
        for _ in range(5):  # whatever is heard of first
            done = self.pipe("dest:head -c 9000000 /dev/zero || exit 8", "other:> /dev/full", status=EXIT_FILES)
            self.assertIn("No space left", done.err)

    def test_a_sigpipe_that_is_the_commands_own(self):
        self.pipe("dest:set -o pipefail; yes | head -1", "other:cat", status=141)


class Statuses(PipelineTest):
    def test_the_failing_commands_status_and_name(self):
        for place in range(3):
            words = ["dest:cat", "other:cat", "dest:cat"]
            words[place] = words[place].replace("cat", "cat; exit 42")
            with self.subTest(words):
                done = self.pipe(*words, stdin=b"x", status=42)
                self.assertEqual(len(done.err.splitlines()), 1, done)
                self.assertIn(words[place].split(":")[0], done.err)
                self.assertIn("cat; exit 42", done.err)

    def test_the_first_of_several(self):
        self.pipe("dest:exit 5", "other:cat >/dev/null; exit 6", status=5)

    def test_not_found(self):
        done = self.pipe("dest:echo", "other:no-such-command", "dest:cat", status=127)
        self.assertIn("was not found", done.err)

    def test_ended_by_a_signal(self):
        done = self.pipe("dest:cat", "other:kill -9 $$", "dest:cat", stdin=b"x", status=137)
        self.assertIn("SIGKILL", done.err)

    def test_a_failure_ends_the_others(self):
        started = time.monotonic()
        running = self.start("dest:sleep 1000", "other:sleep 0.2; exit 3", "dest:cat", stdin=subprocess.DEVNULL)
        self.assertEqual(running.finish(20).status, 3)
        self.assertLess(time.monotonic() - started, 15)
        self.assert_nothing_lives(running)

    def test_what_is_cut_short_is_never_taken_for_whole(self):
        seen = self.disk / "seen"
        self.pipe("dest:echo part; exit 1", f"other:cat > /dev/null && touch {seen}", status=1)
        self.assertFalse(seen.exists())

    def test_a_command_need_not_read_all(self):
        self.assertEqual(self.output("dest:head -c 100000000 /dev/zero", "other:head -c 3"), b"\0\0\0")
        self.assertEqual(self.output("dest:yes", "other:cat", "dest:head -1"), b"y\n")
        self.assertEqual(self.output("dest:true", "other:true", stdin=b"x" * 9_000_000), b"")
        self.pipe("dest:trap '' PIPE; cat /dev/zero 2>/dev/null; exit 7", "other:head -c 1", status=7)

    def test_a_command_may_close_its_output(self):
        self.assertEqual(self.output("dest:exec >&-; sleep 0.1", "other:wc -c"), b"0\n")

    def test_a_reader_of_ours_that_goes(self):
        running = self.start("dest:yes", "other:cat", stdin=subprocess.DEVNULL)
        self.assertEqual(running.process.stdout.read(2), b"y\n")
        running.process.stdout.close()
        running.process.stdout = None
        done = running.finish(20)
        self.assertEqual((done.status, done.err), (141, ""), done)
        self.assert_nothing_lives(running)

    def test_a_host_that_cannot_be_reached(self):
        for words in (("dest:cat", "nowhere.invalid:cat"), ("nowhere.invalid:cat",)):
            done = self.pipe(*words, stdin=b"x", status=EXIT_HOST)
            self.assertIn("nowhere.invalid", done.err)
        self.pipe("--rdcp-path", "/no/rdcp", "dest:cat", status=EXIT_HOST)

    def test_usage(self):
        for words in ((), ("dest:",), ("dest:>",), ("-p", "0", "dest:cat"), ("-q", "-v", "dest:cat"), ("-x:cat",)):
            self.pipe(*words, status=EXIT_USAGE)

    def test_a_dry_run_runs_nothing(self):
        touched = self.disk / "touched"
        done = self.pipe("-n", "-p", "7691", f"nowhere.invalid:touch {touched}", f":> {touched}")
        self.assertFalse(touched.exists())
        self.assertEqual(done.out.decode().splitlines(), [
            "standard input -> nowhere.invalid: a stream, port 7691", f"nowhere.invalid: touch {touched}",
            "nowhere.invalid -> this host: a stream, port 7692", f"this host: > {touched}"])

    def test_the_version(self):
        self.assertRegex(self.output("-V"), rb"^rdpipe \d")


class Ends(PipelineTest):
    """Whatever ends a pipeline, nothing of it lives on."""

    def begin(self) -> Running:
        self.landing, zero, stdin = self.disk / "landing", self.disk / "zero", self.disk / "stdin"
        for link, place in ((zero, "/dev/zero"), (stdin, "/dev/stdin")):
            if not link.is_symlink():
                link.symlink_to(place)
        running = self.start("--bwlimit", "30MiB", f"dest:exec cat {zero}", f"other:trap '' TERM HUP; cat {stdin}; :",
                             f":cat {stdin}", f"dest:> {self.landing}", stdin=subprocess.DEVNULL)
        self.assertTrue(wait_for(lambda: len(self.commands()) >= 4 and self.temporary_files(), 20), self.commands())
        return running

    def temporary_files(self) -> bool:
        """The agents hold a file in the folder open, under no name."""
        within = str(self.disk.resolve())
        return any(name.startswith(within) for pid in self.sshd.descendants() for name in held_by(pid).values())

    def check(self, running: Running, status: int, within: float = 20):
        done = running.finish(within)
        self.assertEqual(done.status, status, done)
        self.check_rest(running)

    def check_rest(self, running: Running, within: float = 8):
        self.assert_nothing_lives(running, within)
        self.assertFalse(self.landing.exists())
        self.assert_no_litter(self.disk)

    def test_ctrl_c(self):
        running = self.begin()
        os.killpg(running.pid, signal.SIGINT)
        self.check(running, 130)

    def test_sigterm(self):
        running = self.begin()
        os.kill(running.pid, signal.SIGTERM)
        self.check(running, 143)

    def test_killed_ssh(self):
        for which in (0, 1, 2):
            running = self.begin()
            ssh = [pid for pid in session_of(running.pid) if words_of(pid)[:1] == [b"ssh"]]
            os.kill(sorted(ssh)[which], signal.SIGKILL)
            self.check(running, EXIT_DATA)

    def test_killed_rdpipe(self):
        running = self.begin()
        os.kill(running.pid, signal.SIGKILL)
        running.process.wait()
        self.check_rest(running)

    def agents(self) -> list[int]:
        """On the hosts; not their guards, which look alike."""
        alike = [pid for pid in self.sshd.descendants()
                 if b"--agent" in words_of(pid) and words_of(pid)[0].endswith(b"/rdcp")]
        return sorted(pid for pid in alike if parent_of(pid) not in alike)

    def test_killed_agents(self):
        for which in (0, 1, 2):
            running = self.begin()
            os.kill(self.agents()[which], signal.SIGKILL)
            done = running.finish(20)
            self.assertEqual(done.status, EXIT_DATA, done)
            self.check_rest(running)

    def test_a_killed_agent_is_no_end_of_its_commands_input(self):
        seen = self.disk / "seen"
        for words in ((f"dest:trap '' TERM; cat; touch {seen}", "other:cat"),
                      ("dest:cat", f"other:trap '' TERM; cat > {self.disk}/part; touch {seen}"),
                      ("dest:cat", "other:cat", f":trap '' TERM; cat > {self.disk}/part; touch {seen}")):
            with self.subTest(words):
                (self.disk / "part").unlink(missing_ok=True)
                running = self.start(*words, stdin=subprocess.PIPE)
                running.process.stdin.write(b"part")
                running.process.stdin.flush()
                self.assertTrue(wait_for(lambda: self.is_under_way(running, words), 20))
                agents = self.agents() if len(words) == 2 else local_agents(running.pid)
                self.assertTrue(agents)
                for pid in agents:  # the one with the trap is among them
                    os.kill(pid, signal.SIGKILL)
                self.assertEqual(running.finish(20).status, EXIT_DATA)
                self.assert_nothing_lives(running)
                self.assertFalse(seen.exists())

    def is_under_way(self, running: Running, words) -> bool:
        if len(words) == 2 and words[1] == "other:cat":
            ready, _, _ = select.select([running.process.stdout], [], [], 0)
            return bool(ready)
        part = self.disk / "part"
        return part.exists() and part.stat().st_size == 4


def parent_of(pid: int) -> int:
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def local_agents(pid: int) -> list[int]:
    """Segments on this host are processes of rdpipe's own program, started by it."""
    return [each for each in session_of(pid) if parent_of(each) == pid and b"--agent" in words_of(each)]


def words_of(pid: int) -> list[bytes]:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
    return []


class Examples(PipelineTest):
    """The examples of the original's README, with cat instead of zfs."""

    def test_a_command(self):
        file = self.make_file(self.disk / "myfile", 300_000)
        with open(file, "rb") as myfile:
            self.assertEqual(self.start("other:wc -c", stdin=myfile).finish(20).out, b"300000\n")
        with open(file, "rb") as myfile:
            done = self.start("other:sha1sum", stdin=myfile).finish(20)
        self.assertEqual(done.out.split()[0].decode(), hashlib.sha1(file.read_bytes()).hexdigest())

    def test_save_it(self):
        copy = self.disk / "mycopy"
        self.output(f"other:> {copy}", stdin=b"12345")
        self.assertEqual(copy.read_bytes(), b"12345")
        self.assertEqual(self.output(f"other:tee {copy} | wc -c; echo done", stdin=b"123"), b"3\ndone\n")
        self.assertEqual(copy.read_bytes(), b"123")

    def test_pull(self):
        user = os.environ.get("USER", "root")
        self.make_file(self.disk / "pool", 3 * MIB)
        done = self.start(f"{user}@dest:cat {self.disk}/pool", stdin=subprocess.DEVNULL).finish(20)
        self.assertEqual(hashlib.md5(done.out).digest(), hashlib.md5((self.disk / "pool").read_bytes()).digest())

    def test_fan_out(self):
        tank = self.make_file(self.disk / "tank", 5 * MIB)
        out = self.output(f"dest:cat {tank}", f"other:tee >(cat > {self.disk}/fs2)", f"dest:tee >(cat > {self.disk}/backup)",
                          f"other:tee >(sha1sum >> {self.disk}/snap_sha1) | wc -c >> {self.disk}/snap_sizes; echo done")
        self.assertEqual(out, b"done\n")
        for name in ("fs2", "backup"):
            self.assert_same_file(tank, self.disk / name)
        self.assertEqual((self.disk / "snap_sizes").read_text(), f"{5 * MIB}\n")
        self.assertIn(hashlib.sha1(tank.read_bytes()).hexdigest(), (self.disk / "snap_sha1").read_text())

    def test_capitals(self):
        (self.disk / "textfile").write_text("a text")
        self.output(f"dest:< {self.disk}/textfile", "other:tr [:lower:] [:upper:]", f"dest:> {self.disk}/TEXTFILE")
        self.assertEqual((self.disk / "TEXTFILE").read_text(), "A TEXT")

    def test_without_a_host(self):
        self.output("printf stream", f"dest:cat > {self.disk}/received")
        self.assertEqual((self.disk / "received").read_text(), "stream")


class Workloads(PipelineTest):
    def test_tar(self):
        tree, landing = self.disk / "tree", self.disk / "landing"
        (tree / "sub").mkdir(parents=True)
        landing.mkdir()
        for i in range(300):
            self.make_file(tree / f"sub/{i}", i * 997, seed=i)
        self.output(f"dest:tar --format=pax -C {tree} -c .", f"other:tar -C {landing} -x")
        self.assert_same_tree(tree, landing)

    @unittest.skipUnless(is_root and shutil.which("mkfs.btrfs") and shutil.which("btrfs"), "needs root and btrfs-progs")
    def test_btrfs_send_and_receive(self):
        places = [self.mounted_btrfs(name) for name in ("from", "to")]
        volume = places[0] / "volume"
        subprocess.run(["btrfs", "-q", "subvolume", "create", volume], check=True)
        for i in range(40):
            self.make_file(volume / f"file-{i}", i * 50_000, seed=i)
        subprocess.run(["btrfs", "-q", "subvolume", "snapshot", "-r", volume, places[0] / "snap"], check=True)
        self.pipe(f"dest:btrfs -q send {places[0]}/snap", f"other:btrfs -q receive {places[1]}")
        self.assert_same_tree(volume, places[1] / "snap")

    def mounted_btrfs(self, name: str) -> Path:
        image, folder = self.disk / f"{name}.image", self.disk / name
        image.touch()
        os.truncate(image, 256 * MIB)
        folder.mkdir()
        subprocess.run(["mkfs.btrfs", "-q", image], check=True, capture_output=True)
        mounted = subprocess.run(["mount", "-o", "loop", image, folder], capture_output=True, text=True, check=False)
        if mounted.returncode != 0:
            self.skipTest(f"no loop mount here: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", folder], check=True)
        return folder


if __name__ == "__main__":
    unittest.main()
