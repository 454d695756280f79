"""A copy that was cut short goes on where it was: little is sent twice, nothing wrong is kept, nothing is left behind."""

import contextlib
import errno
import hashlib
import os
import random
import re
import select
import shutil
import signal
import subprocess
import threading
import time
import unittest
from pathlib import Path

from harness import (CHUNK, EXIT_DATA, EXIT_HOST, EXIT_OK, EXIT_USAGE, MIB, RDCP, CopyTest, Finished, Running, local_agent,
                     needs_root, remote_agents, session_of, wait_for)

BLOWS = int(os.environ.get("RDCP_RESUME_BLOWS", "16"))  # to copies, and as many to mirrors
SEED = int(os.environ.get("RDCP_RESUME_SEED", str(time.time_ns() % 10**6)))
SIZE = 24 * MIB + 12345  # of a file that has a part
NOT_OVER_BEFORE_IT_IS_HIT = "3MiB"  # a rate
JOURNAL_HEADER, JOURNAL_RECORD = 512, 48
SLACK = 40 * CHUNK  # what may be under way when the blow falls


def own_names(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob(".rdcp-*"))


def journals(folder: Path) -> list[Path]:
    return [path for path in own_names(folder) if path.suffix == ".journal"]


def recorded_chunks(folder: Path) -> int:
    count = 0
    for path in journals(folder):
        with contextlib.suppress(FileNotFoundError):
            count += max(path.stat().st_size - JOURNAL_HEADER, 0) // JOURNAL_RECORD
    return count


def sent_bytes(done: Finished) -> int | None:
    """From -v; none: nothing was there, so all was sent."""
    found = re.search(r"were there already; .* \((\d+) bytes\) were sent", done.err)
    return int(found[1]) if found else None


def copied_bytes(done: Finished) -> float:
    number, unit = re.search(r"copied .*, ([\d.]+) (k?[MG]?B) in ", done.err).groups()
    return float(number) * {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}[unit]


def digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


class Watcher:
    """Reads a file again and again; whatever it sees must be one of two contents."""

    def __init__(self, path: Path):
        self.path, self.seen, self.over = path, set(), threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.over.is_set():
            self.seen.add(digest(self.path))

    def __enter__(self):
        self.thread.start()
        return self.seen

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


class Resuming(CopyTest):
    def setUp(self):
        super().setUp()
        self.chance = random.Random(SEED)
        print(f"(RDCP_RESUME_SEED={SEED}) ", end="", flush=True)
        self.big = self.make_file(self.source / "big", SIZE, seed=SEED)
        self.copied = self.target / "big"

    # On a machine with much else to do seconds pass between a look at the copy and the blow, so most copies take some.
    def begin(self, *words, rate: str = "8MiB", **options) -> Running:
        return self.start("--chunk-size", "64K", "--bwlimit", rate, *words, **options)

    def await_progress(self, running: Running, chunks: int):
        """Until so many chunks of large files are recorded, or the copy is over."""
        self.assertTrue(wait_for(lambda: recorded_chunks(self.target) >= chunks or running.process.poll() is not None,
                                 60, 0.002), "no progress")

    def hit(self, running: Running, victim: str):
        if victim == "agent":
            for pid in remote_agents()[:1]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        elif victim == "coordinator":
            running.process.kill()
        else:
            for pid in session_of(running.pid):
                if pid not in (running.pid, local_agent(running.pid)):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)

    def kill(self, running: Running, victim: str):
        self.hit(running, victim)
        running.process.wait(40)
        self.assert_nothing_lives(running, 40)

    def interrupt(self, source, target, chunks: int, victim: str = "coordinator", *words, **options):
        running = self.begin(source, target, *words, **options)
        self.await_progress(running, chunks)
        self.kill(running, victim)

    def resume(self, *words, **options) -> Finished:
        done = self.copy("-v", "--chunk-size", "64K", *words, **options)
        self.assertEqual(own_names(self.target), [])
        return done

    def assert_sent(self, done: Finished, recorded: int):
        """No more than what was missing."""
        sent = sent_bytes(done)
        self.assertIsNotNone(sent, done)
        self.assertLess(sent, SIZE - recorded * CHUNK + SIZE // 20)

    def flip(self, path: Path, at: int):
        with open(path, "r+b") as file:
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 1]))

    @staticmethod
    def replace(path: Path):
        """The same content and time, another inode."""
        copy = path.with_name("copy")
        shutil.copy2(path, copy)
        os.rename(copy, path)


class Retries(Resuming):
    """rdcp runs itself again."""

    HOW_TO_GO_ON = "rdcp: run the same command again to go on\n"

    def test_a_copy_that_loses_its_host_goes_on(self):
        for victim in ("agent", "ssh"):
            with self.subTest(victim):
                self.copied.unlink(missing_ok=True)
                running = self.begin("-v", "--retries", "3", "--retry-time", "0", self.big, f"dest:{self.copied}",
                                     rate=NOT_OVER_BEFORE_IT_IS_HIT)
                self.await_progress(running, 30)
                recorded = recorded_chunks(self.target)
                self.hit(running, victim)
                done = running.finish(60)
                self.assertEqual(done.status, EXIT_OK, done)
                self.assertIn("rdcp: goes on in 1 s (try 1 of 3)\n", done.err)
                self.assertNotIn(self.HOW_TO_GO_ON, done.err)
                self.assert_same_file(self.big, self.copied)
                self.assert_sent(done, recorded)
                self.assertEqual(own_names(self.target), [])

    def test_without_them_it_says_how_to_go_on(self):
        running = self.begin(self.big, f"dest:{self.copied}", rate=NOT_OVER_BEFORE_IT_IS_HIT)
        self.await_progress(running, 30)
        self.hit(running, "agent")
        done = running.finish(60)
        self.assertEqual(done.status, EXIT_DATA, done)
        self.assertTrue(done.err.endswith(self.HOW_TO_GO_ON), done)
        self.resume(self.big, f"dest:{self.copied}")
        self.assert_same_file(self.big, self.copied)

    def test_a_host_that_stays_away_and_a_signal_in_the_pause(self):
        """The first session is let in, and no other."""
        ssh = self.stand_in_for_ssh(f'mkdir {self.disk}/once 2>/dev/null || {{ echo gone >&2; exit 255; }}; exec ssh "$@"')
        for retries, status in ((1, EXIT_HOST), (100, 128 + signal.SIGINT)):
            with self.subTest(retries):
                for left in (*own_names(self.target), *self.disk.glob("once")):
                    left.rmdir() if left.is_dir() else left.unlink()
                running = self.begin("-e", ssh, "--retry-time", "2", "--retries", str(retries), self.big, f"dest:{self.copied}",
                                     stderr=subprocess.PIPE, rate=NOT_OVER_BEFORE_IT_IS_HIT)
                self.await_progress(running, 5)
                self.hit(running, "agent")
                if retries > 1:
                    said = b""
                    while b"(try 3 of 100)" not in said:
                        piece = os.read(running.process.stderr.fileno(), 4096)
                        self.assertTrue(piece, said)  # it has not ended
                        said += piece
                    running.process.send_signal(signal.SIGINT)
                done = running.finish(60)
                self.assertEqual(done.status, status, done)
                self.assertEqual(self.HOW_TO_GO_ON in done.err, retries == 1, done)
                self.assertFalse(self.copied.exists())
                self.assert_nothing_lives(running)

    def stand_in_for_ssh(self, commands: str) -> Path:
        ssh = self.disk / "ssh"
        ssh.write_text(f'#!/bin/sh\ncase "$*" in *" -G "*) exec ssh "$@";; esac  # it only tells its configuration\n{commands}\n')
        ssh.chmod(0o755)
        return ssh

    def test_what_goes_through_a_pipe_goes_once(self):
        """Another try would read what is left, or write the beginning once more."""
        fifo = self.target / "fifo"
        os.mkfifo(fifo)
        other_end = os.open(fifo, os.O_RDWR)  # it stays, whoever else has come or gone
        self.addCleanup(os.close, other_end)
        for source, target, move in ((self.big, f"dest:{fifo}", lambda: os.read(other_end, MIB)),
                                     (fifo, f"dest:{self.copied}", lambda: os.write(other_end, bytes(4 * MIB)))):
            with self.subTest(source=source):
                running = self.begin("--retries", "5", "--retry-time", "0", source, target)
                self.assertTrue(move())
                self.hit(running, "agent")
                done = running.finish(60)
                self.assertEqual(done.status, EXIT_DATA, done)
                self.assertNotIn("goes on", done.err)
                self.assertNotIn("again", done.err)
                self.assertFalse(self.copied.exists())
                while select.select([other_end], [], [], 0)[0]:
                    os.read(other_end, MIB)

    def test_what_can_be_done_once_only(self):
        """A stream is not tried again, nor a copy that never began; a list of what one run has sent has one run."""
        running = self.begin("--retries", "5", "-", f"dest:{self.copied}", stdin=subprocess.PIPE)
        running.process.stdin.write(bytes(8 * MIB))  # more than waits anywhere, so the target has some
        self.hit(running, "agent")
        done = running.finish(60)
        self.assertEqual(done.status, EXIT_DATA, done)
        self.assertNotIn("again", done.err)
        done = self.fails(EXIT_HOST, "-e", self.stand_in_for_ssh("exit 255"), "--retries", "5", self.big, f"dest:{self.copied}")
        self.assertNotIn("try 1", done.err)
        self.fails(EXIT_USAGE, "--retries", "5", "--manifest", self.disk / "list", self.big, f"dest:{self.copied}")
        for wrong in ("-1", "x", "10001", ""):
            self.fails(EXIT_USAGE, "--retries", wrong, self.big, f"dest:{self.copied}")


class OneFile(Resuming):
    def test_each_victim_each_way(self):
        for victim in ("agent", "coordinator", "ssh"):
            for source, target in (("", "dest:"), ("dest:", ""), ("dest:", "other:")):
                with self.subTest(victim=victim, source=source, target=target):
                    words = (f"{source}{self.big}", f"{target}{self.copied}")
                    # Slower where it was over before the victim was found, as on a busy host.
                    for rate in ("6MiB", "3MiB", "1MiB"):
                        self.interrupt(*words, self.chance.randrange(20, 350), victim, "--retry-time", "0", rate=rate)
                        if not self.copied.exists():
                            break
                        self.copied.unlink()
                    recorded = recorded_chunks(self.target)
                    self.assertFalse(self.copied.exists())
                    self.assert_sent(self.resume(*words), recorded)
                    self.assert_same_file(self.big, self.copied)
                    self.copied.unlink()

    def test_again_at_once(self):
        """The agent of the run that was killed still has the part, and waits for its coordinator."""
        for source, target in (("", "dest:"), ("dest:", "")):
            with self.subTest(source=source, target=target):
                words = (f"{source}{self.big}", f"{target}{self.copied}")
                running = self.begin(*words)
                self.await_progress(running, 100)
                recorded = recorded_chunks(self.target)
                running.process.kill()
                self.assert_sent(self.resume(*words), recorded)
                self.assert_same_file(self.big, self.copied)
                self.copied.unlink()

    def test_several_blows(self):
        words = (self.big, f"dest:{self.copied}")
        for wanted in (60, 150, 250, 330):
            self.interrupt(*words, wanted, rate="4MiB")
            self.assertGreaterEqual(recorded_chunks(self.target), wanted - 1)
        self.assert_sent(self.resume(*words), 330)
        self.assert_same_file(self.big, self.copied)

    def test_nearly_done(self):
        words = (self.big, f"dest:{self.copied}")
        self.interrupt(*words, SIZE // CHUNK - 4, rate="8MiB")
        while not journals(self.target):  # the run was quicker than the blow
            self.copied.unlink()
            self.interrupt(*words, SIZE // CHUNK - 4, rate="8MiB")
        done = self.resume(*words)
        self.assertLess(sent_bytes(done), SIZE // 10)
        self.assert_same_file(self.big, self.copied)

    def test_an_older_file_stays_until_the_new_one_is_whole(self):
        self.make_file(self.copied, 3 * MIB, seed=1)
        old = digest(self.copied)
        with Watcher(self.copied) as seen:
            words = (self.big, f"dest:{self.copied}")
            self.interrupt(*words, 100)
            self.assertEqual(digest(self.copied), old)
            self.resume(*words)
        self.assertLessEqual(seen, {old, digest(self.big)})
        self.assert_same_file(self.big, self.copied)

    def test_no_resume_sends_all(self):
        words = (self.big, f"dest:{self.copied}")
        self.interrupt(*words, 100)
        self.assertIsNone(sent_bytes(self.resume("--no-resume", *words)))
        self.assert_same_file(self.big, self.copied)

    def test_a_source_that_changed_is_sent_anew(self):
        changes = {"content": lambda: self.flip(self.big, 1000),
                   "length": lambda: os.truncate(self.big, SIZE - 1),
                   "time": lambda: os.utime(self.big, ns=(1, 123456789)),
                   "inode": lambda: self.replace(self.big)}
        for name, change in changes.items():
            with self.subTest(name):
                words = (self.big, f"dest:{self.copied}")
                self.interrupt(*words, 100)
                change()
                self.assertIsNone(sent_bytes(self.resume(*words)))
                self.assert_same_file(self.big, self.copied)
                self.copied.unlink()

    def test_local(self):
        """Within one process, where the kernel copies: whatever it got to, the rest follows."""
        for _ in range(6):
            running = self.start(self.big, self.copied)
            wait_for(lambda: journals(self.target) or running.process.poll() is not None, 10, 0.0005)
            running.process.kill()
            running.process.wait()
            self.resume(self.big, self.copied)
            self.assert_same_file(self.big, self.copied)
            self.copied.unlink()

    def test_sparse(self):
        sparse = self.source / "sparse"
        self.make_file(sparse, 6 * MIB)
        os.truncate(sparse, 200 * MIB)
        with open(sparse, "r+b") as file:
            for at in (50, 120, 199):
                file.seek(at * MIB - 4096)
                file.write(random.Random(at).randbytes(MIB))
        os.truncate(sparse, 200 * MIB)
        words = (sparse, f"dest:{self.target}/sparse")
        self.interrupt(*words, 60)
        self.resume(*words)
        self.assert_same_tree(sparse, self.target / "sparse")
        self.assertLess((self.target / "sparse").stat().st_blocks * 512, 20 * MIB)


class Doubt(Resuming):
    """After a reboot, as far as the target can tell."""

    def setUp(self):
        super().setUp()
        self.rebooted = self.disk / "rebooted"
        boot_id = self.disk / "boot_id"
        boot_id.write_text("00000000-1111-2222-3333-444444444444\n")
        self.rebooted.write_text("#!/bin/sh\nexec unshare -m sh -c 'mount --bind \"$0\" /proc/sys/kernel/random/boot_id "
                                 f"&& exec \"$@\"' {boot_id} {RDCP} \"$@\"\n")
        self.rebooted.chmod(0o755)
        if subprocess.run([self.rebooted, "--version"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no mount namespaces here")

    @needs_root
    def test_what_is_right_is_not_sent_again(self):
        words = (self.big, f"dest:{self.copied}")
        self.interrupt(*words, 200)
        recorded = recorded_chunks(self.target)
        self.assert_sent(self.resume("--rdcp-path", self.rebooted, *words), recorded)
        self.assert_same_file(self.big, self.copied)

    @needs_root
    def test_what_is_wrong_is(self):
        words = (self.big, f"dest:{self.copied}")
        self.interrupt(*words, 200)
        part = next(path for path in own_names(self.target) if path.suffix == ".part")
        for chunk in (3, 50):
            self.flip(part, chunk * CHUNK + 7)
        self.resume("--rdcp-path", self.rebooted, *words)
        self.assert_same_file(self.big, self.copied)

    @needs_root
    def test_a_second_blow_after_the_reboot(self):
        words = (self.big, f"dest:{self.copied}")
        self.interrupt(*words, 100)
        self.interrupt(*words, 250, "coordinator", "--rdcp-path", self.rebooted)
        self.assert_sent(self.resume("--rdcp-path", self.rebooted, *words), 100)
        self.assert_same_file(self.big, self.copied)


class Hostile(Resuming):
    """What lies where a journal or part should."""

    def test_journals(self):
        victim = self.disk / "victim"
        victim.write_text("precious")

        def fifo(path):
            os.mkfifo(path)

        for name, make in {"garbage": lambda path: path.write_bytes(os.urandom(5000)), "symlink": victim_link(victim),
                           "fifo": fifo, "directory": lambda path: path.mkdir(),
                           "long": lambda path: os.truncate(path, 1 << 40),
                           "empty": lambda path: path.write_bytes(b"")}.items():
            for suffix in (".journal", ".part"):
                with self.subTest(name, suffix=suffix):
                    words = (self.big, f"dest:{self.copied}")
                    self.interrupt(*words, 100)
                    path = next(path for path in own_names(self.target) if path.suffix == suffix)
                    if name != "long":
                        path.unlink()
                    make(path)
                    self.copy(*words, "--chunk-size", "64K")
                    self.assert_same_file(self.big, self.copied)
                    self.assertEqual(victim.read_text(), "precious")
                    for path in own_names(self.target):
                        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
                    self.copied.unlink()


def victim_link(victim: Path):
    return lambda path: path.symlink_to(victim)


class Clean(Resuming):
    def test_it_lists_and_removes(self):
        self.interrupt(self.big, f"dest:{self.copied}", 50)
        names = own_names(self.target)
        self.assertEqual(len(names), 2)
        for place in (self.target, f"dest:{self.target}"):
            done = self.rdcp("--clean", "-n", place)
            self.assertEqual(done.status, 0, done)
            self.assertRegex(done.out.decode(), r"\Apartial file, [\d.]+ MB, \d+ \w+ old: \.rdcp-\w+\.journal \(of big\)\n\Z")
        self.assertEqual(own_names(self.target), names)
        self.assertRegex(self.rdcp("--clean", f"dest:{self.target}").out.decode(), r"\Aremoving partial file, .* \(of big\)\n\Z")
        self.assertEqual(own_names(self.target), [])
        self.assertEqual(self.rdcp("--clean", self.target).out, b"")

    def test_a_run_that_was_to_make_the_folder_is_found_beside_it(self):
        tree, new = self.source / "tree", self.target / "new"
        tree.mkdir()
        self.big.rename(tree / "big")
        other = self.target / f".rdcp-{'0' * 32}.run"
        other.write_bytes(b"0123456789abcdef\nother")
        for wanted in ("new", "new/", "../target/new"):
            running = self.begin("-r", tree, f"dest:{new}")
            self.assertTrue(wait_for(lambda: journals(self.target), 20))
            marker = next(path for path in self.target.iterdir() if path.suffix == ".run" and path != other)
            self.assertIn(f"in use, left alone: unfinished run, ", self.rdcp("--clean", new).out.decode())
            self.kill(running, "coordinator")
            self.assertTrue(new.is_dir())
            for place in (self.target / wanted, f"dest:{self.target}/{wanted}"):
                self.assertIn(f": ../{marker.name}\n", self.rdcp("--clean", "-n", place).out.decode())
            self.assertTrue(marker.exists())
            done = self.rdcp("--clean", self.target / wanted)
            self.assertEqual((done.status, own_names(self.target)), (0, [other]), done)
            shutil.rmtree(new)
        marker.write_bytes(b"0123456789abcdef\nnew")  # the run died before it made anything
        done = self.rdcp("--clean", new)
        self.assertEqual((done.status, done.err, own_names(self.target)), (0, "", [other]), done)

    def test_without_locks_leftovers_are_cleaned(self):
        self.interrupt(self.big, f"dest:{self.copied}", 50)
        replaced = self.target / ".old.rdcp-0123abcd"
        replaced.mkdir()
        for error in (errno.ENOSYS, errno.EOPNOTSUPP):
            for words in (("-n",), ()):
                done = self.rdcp("--clean", *words, self.target, env=self.failing("flock", "", error))
                self.assertEqual((done.status, done.err.count("flock")), (0, 1), done)
                self.assertIn(b"partial file", done.out)
                self.assertIn(b"temporary", done.out)
            self.assertEqual(list(self.target.iterdir()), [])
            replaced.mkdir()
            (self.target / f".rdcp-{'1' * 32}.part").touch()

    def test_what_is_in_use_stays(self):
        running = self.begin(self.big, f"dest:{self.copied}", rate="8MiB")
        self.await_progress(running, 20)
        done = self.rdcp("--clean", self.target)
        self.assertIn(b"in use, left alone: partial file", done.out)
        self.assertEqual(running.finish(60).status, 0)
        self.assert_same_file(self.big, self.copied)

    def test_a_folder_that_is_not_there(self):
        self.fails(1, "--clean", self.disk / "none", says=("No such file",))

    def test_parts_are_not_copied_as_part_of_a_tree(self):
        self.interrupt(self.big, f"dest:{self.copied}", 50)
        self.make_file(self.target / "file", 10)
        self.copy("-r", self.target, self.disk / "again")
        self.assertEqual(os.listdir(self.disk / "again"), ["file"])


class Trees(Resuming):
    """Small and large files over older ones; the blow falls anywhere, several times, on anybody."""

    def setUp(self):
        super().setUp()
        self.big.unlink()
        self.tree, self.landing = self.source / "tree", self.target / "tree"
        (self.tree / "sub").mkdir(parents=True)
        self.total = 0
        for i in range(80):
            size = SIZE if i in (10, 50) else self.chance.choice((0, 100, 5_000, 40_000, 20 * CHUNK))
            self.make_file(self.tree / ("sub" if i % 2 else ".") / f"file-{i}", size, seed=i)
            self.total += size
        self.landing.mkdir()
        self.old = self.make_file(self.landing / "file-10", 5 * CHUNK, seed=999)

    def state(self) -> int:
        """Bytes that are at the target, whole files and recorded chunks."""
        done = sum(path.stat().st_size for path in self.tree.rglob("file-*")
                   if (other := self.landing / path.relative_to(self.tree)).exists()
                   and other.stat().st_size == path.stat().st_size)
        return done + recorded_chunks(self.target) * CHUNK

    def blow(self, words, victim: str, after: int) -> bool:
        """Kills when so many bytes more are there. False: the run was quicker than the blow, at least at the target."""
        before = self.state()
        running = self.begin(*words, rate="30MiB")
        self.assertTrue(wait_for(lambda: self.state() >= before + after or running.process.poll() is not None, 60, 0.01))
        self.kill(running, victim)
        over = self.state() == self.total and not own_names(self.target)
        return running.process.returncode != 0 and not over

    def rounds(self, *options):
        left = BLOWS
        while left > 0:
            victim = self.chance.choice(("agent", "coordinator", "ssh"))
            source, target = self.chance.choice((("", "dest:"), ("dest:", ""), ("dest:", "other:")))
            words = ("-r", *options, f"{source}{self.tree}/", f"{target}{self.landing}")
            shutil.rmtree(self.target)
            self.landing.mkdir(parents=True)
            self.old = self.make_file(self.landing / "file-10", 5 * CHUNK, seed=999)
            points = [self.chance.randrange(self.total // 2) for _ in range(min(left, self.chance.randrange(1, 3)))]
            left -= len(points)
            with self.subTest(left=left, victim=victim, source=source, target=target, points=points):
                old, new = digest(self.old), digest(self.tree / "file-10")
                with Watcher(self.old) as seen:
                    cut_short = all(self.blow(words, victim, after) for after in points)
                    missing = self.total - self.state()
                    done = self.resume(*words)
                self.assertLessEqual(seen, {old, new})
                self.assert_same_tree(self.tree, self.landing)
                if not cut_short:
                    continue  # and then all was copied again
                sent = sent_bytes(done) or copied_bytes(done)  # the former counts all that went over the wire
                self.assertLess(sent, missing + self.total // 10, done)

    def test_a_copy(self):
        self.rounds()

    def test_a_sync(self):
        self.rounds("--sync")

    def lose_what_was_not_flushed(self, folder: Path) -> int:
        """As a loss of power may leave files: whole by size and time, without content; and another boot's marker."""
        lost = [path for path in folder.rglob("file-*") if path.stat().st_size > 0]
        for path in lost:
            status = path.stat()
            path.write_bytes(bytes(status.st_size))
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        marker = next(path for path in own_names(self.target) if path.suffix == ".run")
        marker.write_bytes(b"0123456789abcdef\n" + marker.read_bytes().partition(b"\n")[2])
        return len(lost)

    def test_a_tree_whose_files_never_reached_the_disk(self):
        for to in (self.landing, self.target / "new"):
            with self.subTest(to.name):
                source = f"{self.tree}/" if to is self.landing else self.tree
                words = ("-r", source, f"dest:{to}")
                running = self.begin(*words)
                self.await_progress(running, 30)
                self.kill(running, "coordinator")
                self.assertGreater(self.lose_what_was_not_flushed(to), 3)
                self.kill_after_a_while(words)
                self.resume(*words)
                self.assert_same_tree(self.tree, to)

    def kill_after_a_while(self, words):
        """A run after the loss, which does not come to its end either: what it has not seen yet is as doubtful."""
        running = self.begin(*words, rate="8MiB")
        wait_for(lambda: running.process.poll() is not None, 1)
        self.kill(running, "coordinator")

    def test_a_tree_that_the_first_run_makes(self):
        """The same command again means the same place, not one in it."""
        words = ("-r", self.tree, f"dest:{self.target}/new")
        running = self.begin(*words)
        self.await_progress(running, 30)
        self.kill(running, "coordinator")
        self.assertTrue((self.target / "new").is_dir())
        self.resume(*words)
        self.assert_same_tree(self.tree, self.target / "new")
        self.copy(*words)  # and from now on it is a directory to copy into, as ever
        self.assertTrue((self.target / "new" / "tree").is_dir())

    def test_that_tree_again_at_once(self):
        words = ("-r", self.tree, f"dest:{self.target}/new")
        running = self.begin(*words)
        self.await_progress(running, 30)
        running.process.kill()
        self.resume(*words)
        self.assert_same_tree(self.tree, self.target / "new")


if __name__ == "__main__":
    unittest.main()
