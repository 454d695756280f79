"""Each file or host that cannot be read, written or reached is named, the rest is copied, and nothing is left behind."""

import errno
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import time
import unittest
from pathlib import Path

from harness import (CHUNK, EXIT_FILES, EXIT_HOST, EXIT_OK, EXIT_USAGE, MIB, RDCP, CopyTest, held_by, is_root,
                     local_agent, needs_root, preloaded, remote_agents, wait_for)
from snapshot import snapshot


class Mounted(CopyTest):
    """Small filesystems, mounted for one test."""

    def mount(self, kind: str, size: int, options: str = "") -> Path:
        point = self.disk / f"mount-{kind}"
        point.mkdir()
        if kind == "tmpfs":
            command = ["mount", "-t", "tmpfs", "-o", f"size={size}{options}", "none", point]
        else:
            image = self.disk / "image"
            with open(image, "wb") as file:
                file.truncate(size)
            subprocess.run(["mkfs.ext4", "-q", "-m", "0", image], check=True)
            command = ["mount", "-o", f"loop{options}", image, point]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            self.skipTest(f"cannot mount a {kind} here: {done.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", point], check=False)
        return point

    def check_full(self, target: Path):
        precious = self.make_file(target / "precious", 300_000, seed=1)
        before = precious.read_bytes()
        with self.subTest("one large file"):
            big = self.make_file(self.source / "big", 24 * MIB)
            done = self.fails(EXIT_FILES, big, f"dest:{target}", says=("No space left on device", "big"))
            self.assertEqual(len(done.err.splitlines()), 1, done.err)
            self.assertEqual(sorted(path.name for path in target.iterdir() if path.name != "lost+found"), ["precious"])
        with self.subTest("a tree of which nothing fits"):
            self.fails(EXIT_FILES, "-r", f"{self.source}/", f"dest:{target}", says=("No space left on device", "big"))
            self.assertEqual(sorted(path.name for path in target.iterdir() if path.name != "lost+found"), ["precious"])
        with self.subTest("over an existing file"):
            replacement = self.make_file(self.disk / "precious", 24 * MIB)
            self.fails(EXIT_FILES, replacement, f"dest:{target}", says=("No space left on device",))
            self.assertEqual(precious.read_bytes(), before)
        with self.subTest("small files"):
            many = self.source / "many"
            many.mkdir()
            for i in range(1500):
                self.make_file(many / f"file-{i}", 20_000, seed=1)
            self.fails(EXIT_FILES, "-r", many, f"dest:{target}", says=("No space left on device",))
            for path in (target / "many").iterdir():
                self.assert_same_file(many / path.name, path)
        self.assertEqual(precious.read_bytes(), before)
        self.assert_no_litter(target, cut_short=True)

    @needs_root
    def test_a_full_ext4(self):
        self.check_full(self.mount("ext4", 20 * MIB))

    @needs_root
    def test_a_full_tmpfs(self):
        self.check_full(self.mount("tmpfs", 16 * MIB))

    @needs_root
    def test_no_more_inodes(self):
        target = self.mount("tmpfs", 64 * MIB, ",nr_inodes=100")
        many = self.source / "many"
        many.mkdir()
        for i in range(200):
            (many / str(i)).touch()
        self.fails(EXIT_FILES, "-r", many, f"dest:{target}", says=("No space left on device",))

    @needs_root
    def test_a_read_only_target(self):
        target = self.mount("tmpfs", MIB, ",ro")
        for size in (10, 3 * CHUNK):
            file = self.make_file(self.source / "file", size)
            done = self.fails(EXIT_FILES, file, f"dest:{target}", says=("Read-only file system",))
            self.assertEqual(len(done.err.splitlines()), 1, done.err)


class InTheWay(CopyTest):
    def setUp(self):
        super().setUp()
        self.tree = self.source / "tree"
        (self.tree / "sub").mkdir(parents=True)
        self.make_file(self.tree / "sub" / "inner", 10)
        self.make_file(self.tree / "other", 10)

    def test_a_file_where_a_directory_should_be(self):
        self.make_file(self.target / "sub", 77)
        self.fails(EXIT_FILES, "-r", f"{self.tree}/", f"dest:{self.target}", says=("sub",))
        self.assertEqual((self.target / "sub").stat().st_size, 77)
        self.assert_same_file(self.tree / "other", self.target / "other")

    def test_a_directory_where_a_file_should_be(self):
        self.make_file(self.tree / "large", 3 * CHUNK)
        for name in ("other", "large"):
            (self.target / name).mkdir()
        self.fails(EXIT_FILES, "-r", "--chunk-size", "64K", f"{self.tree}/", f"dest:{self.target}",
                   says=("other", "large"))
        self.assertTrue((self.target / "other").is_dir())
        self.assert_same_tree(self.tree / "sub", self.target / "sub")
        self.assert_no_litter(self.target)

    def test_a_target_whose_parent_is_missing(self):
        self.fails(EXIT_FILES, self.tree / "other", f"dest:{self.target}/no/such/place", says=("no/such",))


class FailingCalls(CopyTest):
    """A call that hardly ever fails does: what it was about is named, and nothing false is made of it."""

    def setUp(self):
        super().setUp()
        (self.source / "sub" / "in").mkdir(parents=True)
        for name in ("one", "sub/two", "sub/in/three"):
            self.make_file(self.source / name, 100, seed=len(name))
        self.to = self.target / "to"
        self.to.mkdir()
        self.make_file(self.to / "extra", 10)

    def fails_at(self, call: str, path, error: int, *words, says: tuple, **which):
        """A local copy of the source."""
        environment = self.failing(call, os.fspath(path), error, **which)
        done = self.fails(EXIT_FILES, *words, f"{self.source}/", self.to, says=(os.strerror(error), *says),
                          env=environment)
        self.assertTrue(self.failed_calls.exists(), f"{call} was never called")
        return done

    def test_a_source_that_cannot_be_looked_at(self):
        for words in (("-r",), ("--sync", "--delete")):
            with self.subTest(words):
                self.fails_at("fstat", self.source, errno.ESTALE, *words, says=(str(self.source),))
                self.assertEqual([path.name for path in self.to.iterdir()], ["extra"])

    def test_a_fifo_that_cannot_be_looked_at(self):
        os.mkfifo(self.source / "fifo")
        with subprocess.Popen(["sh", "-c", f"echo hello > '{self.source / 'fifo'}'"]) as writer:
            self.fails(EXIT_FILES, self.source / "fifo", self.to / "copy", says=("fifo",),
                       env=self.failing("fstat", "/fifo", errno.EIO))
            writer.kill()
        self.assertFalse((self.to / "copy").exists())

    def test_a_source_directory_that_cannot_be_looked_at(self):
        for words in (("-r",), ("--sync", "--delete")):
            with self.subTest(words):
                self.fails_at("fstat", self.source / "sub", errno.EIO, *words, says=(str(self.source / "sub"),))
                self.assertFalse((self.to / "sub").exists())
                self.assertTrue((self.to / "extra").exists())
                self.assert_same_file(self.source / "one", self.to / "one")

    def test_attributes_that_cannot_be_read_are_named_with_their_file(self):
        self.make_file(self.source / "large", 3 * MIB)
        for path in (self.source, self.source / "sub", self.source / "one", self.source / "large"):
            with self.subTest(path):
                self.fails_at("flistxattr", path, errno.EIO, "-r", says=(f"extended attributes of {path}:",))
                self.assert_same_file(self.source / "one", self.to / "one")

    def test_a_link_that_cannot_be_opened_has_lost_its_attributes(self):
        link = self.source / "link"
        os.symlink("one", link)
        for call in ("openat2", "openat"):
            with self.subTest(call):
                environment = self.failing(call, link, errno.EIO)
                done = self.rdcp("-r", f"{self.source}/", self.to, env=environment)
                if self.failed_calls.exists():  # each kernel has it opened by one of them
                    self.assertEqual(done.status, EXIT_FILES, done)
                    self.assertIn(f"open {link}: {os.strerror(errno.EIO)}", done.err)
                self.assertTrue((self.to / "link").is_symlink())

    def test_a_walk_for_names_that_breaks_off(self):
        """What is to be deleted is found by listing each directory twice: first for its names, then for what is in it."""
        for i in range(10):
            (self.source / f"d{i}").mkdir()
        names = len(os.listdir(self.source)) + 3  # with ".", ".." and the end
        for after in (0, 1, names + 1, 2 * names + 2):
            with self.subTest(after=after):
                self.fails_at("readdir", self.source, errno.EIO, "--sync", "--delete", after=after, times=1,
                              says=(str(self.source),))

    def test_a_directory_that_cannot_be_looked_at_for_its_names(self):
        self.fails_at("fstat", self.source / "sub", errno.EIO, "--sync", "--delete", after=1, says=("sub",))

    def test_what_cannot_be_read_again_is_not_in_a_list(self):
        large = self.make_file(self.source / "large", 3 * MIB)
        listed = self.disk / "list"
        # The first read is of the copy, the second for the list.
        for after in range(3, 6):
            shutil.rmtree(self.to)
            self.fails_at("pread", large, errno.EIO, "-r", "--ring", "threads", "--verify", "--manifest", listed,
                          says=(str(large),), after=after)
            self.assertNotIn("large", listed.read_text() if listed.exists() else "")


class LeftJournal(CopyTest):
    """A journal that could not be removed at the end of its file."""

    def test_a_mirror_that_removes_it_keeps_the_time_of_its_directory(self):
        (self.source / "sub").mkdir()
        self.make_file(self.source / "sub" / "big", 17 * MIB)
        os.utime(self.source / "sub", (1_600_000_000, 1_600_000_000))
        to = self.target / "to"
        self.fails(EXIT_FILES, "--sync", f"{self.source}/", to, says=(".journal", os.strerror(errno.EBUSY)),
                   env=self.failing("unlinkat", ".journal", errno.EBUSY))
        self.assertEqual(len(list(to.rglob(".rdcp-*.journal"))), 1)
        self.copy("--sync", f"{self.source}/", to)
        self.assert_same_tree(self.source, to)


class LeftNames(CopyTest):
    """What a killed run had made under a temporary name, to be renamed over what was there."""

    def test_links_and_nodes_are_removed(self):
        file = self.make_file(self.target / "file", 100)
        os.symlink("file", self.target / ".link.rdcp-0123abcd")
        os.mkfifo(self.target / ".fifo.rdcp-0123abcd")
        os.link(file, self.target / ".name.rdcp-0123abcd")
        if is_root:  # it had its final owner already
            os.chown(self.make_file(self.target / ".owned.rdcp-0123abcd", 10), 1, 1)
        # Whoever is just about to rename them is given a moment.
        self.assertTrue(wait_for(lambda: not self.in_use_after_cleaning(self.target)), "something is still in use")
        self.assertEqual(os.listdir(self.target), ["file"])


class HeardClose(CopyTest):
    """Where close(2) may tell that bytes were lost (NFS, quotas), it is heard before the file is taken for whole."""

    NFS = {"RDCP_FAKE_FILESYSTEM": str(0x6969)}

    def fails_at_close(self, path: str, *words):
        environment = {**self.failing("close", path, errno.EDQUOT), **self.NFS}
        self.fails(EXIT_FILES, *words, says=(os.strerror(errno.EDQUOT), "close"), env=environment)
        self.assertTrue(self.failed_calls.exists(), "close was never called")

    def test_a_file_gets_no_name_before_close_was_heard(self):
        for size, path in ((5000, " (deleted)"), (3 * MIB, " (deleted)"), (17 * MIB, ".part")):
            file = self.make_file(self.source / f"file-{size}", size)
            for old in (None, 100):
                with self.subTest(size, old=old):
                    copy = self.target / file.name
                    if old:
                        self.make_file(copy, old)
                    self.fails_at_close(path, "--ring", "threads", file, copy)
                    self.assertEqual(copy.stat().st_size if copy.exists() else None, old)
                    self.assert_no_litter(self.target)
                    self.copy(file, copy, env={**os.environ, **self.NFS})
                    self.assert_same_file(file, copy)
                    copy.unlink()

    def test_in_place_it_gets_no_time_before_close_was_heard(self):
        file, copy = self.make_file(self.source / "file", 3 * MIB), self.target / "file"
        os.utime(file, (1_600_000_000, 1_600_000_000))
        self.make_file(copy, 3 * MIB, seed=1)
        self.fails_at_close(str(copy), "--inplace", file, copy)
        self.assertNotEqual(copy.stat().st_mtime, file.stat().st_mtime)
        self.copy("--sync", "--inplace", f"{self.source}/", self.target)
        self.assert_same_tree(self.source, self.target)


class WithoutLocks(CopyTest):
    """Where flock(2) is not known, as on some Lustre mounts: nobody could tell whether a run is at what it leaves."""

    def test_without_locks_nothing_is_left(self):
        self.make_file(self.source / "small", 100)
        for error in (errno.ENOSYS, errno.EOPNOTSUPP):
            for more, words in enumerate((("-r",), ("-r", "--inplace"), ("--sync", "--checksum"))):
                with self.subTest(error=error, words=words):
                    self.make_file(self.source / "big", 17 * MIB + more)
                    done = self.copy(*words, f"{self.source}/", self.target, env=self.failing("flock", "", error))
                    self.assertEqual(done.err.count("flock"), 1, done)
                    self.assert_same_tree(self.source, self.target)
                    self.assert_no_litter(self.target)
            shutil.rmtree(self.target)
            self.target.mkdir()

    def test_what_cannot_be_removed_is_told(self):
        big = self.make_file(self.source / "big", 17 * MIB)
        for ending, words, source in ((".journal", (), big), (".run", ("-r",), f"{self.source}/")):
            with self.subTest(ending):
                done = self.fails(EXIT_FILES, *words, source, self.target, says=("remove", f"{self.target}/.rdcp-", ending),
                                  env=self.failing("unlinkat", ending, errno.EPERM))
                self.assertEqual(len(done.err.splitlines()), 1, done)
                self.assert_same_file(big, self.target / "big")
                self.assertEqual(sum(path.suffix == ending for path in self.target.iterdir()), 1)


class OddSizes(CopyTest):
    """Files that are not as long as they say, or longer than anything can be."""

    def test_a_file_of_more_than_can_be_copied_is_named(self):
        tree = self.memory / "tree"
        tree.mkdir()
        self.make_file(tree / "other", 5000)
        for size in (2**62, 2**63 - 4096):
            try:
                with open(tree / "huge", "wb") as file:
                    file.truncate(size)
            except OSError as error:
                self.skipTest(f"no file of {size} bytes here: {error}")
            for number, words in enumerate((("-r",), ("--sync",), ("--sync", "--checksum"), ())):
                with self.subTest(size=size, words=words):
                    to = self.target / f"{size}-{number}"
                    to.mkdir()
                    sources = [f"{tree}/"] if words else [tree / "huge", tree / "other"]
                    self.fails(EXIT_FILES, *words, *sources, to, says=(f"{tree}/huge", "File too large"))
                    self.assertEqual([path.name for path in to.iterdir()], ["other"])
                    self.assert_same_file(tree / "other", to / "other")

    def check_copied(self, source: Path, *words):
        for number, options in enumerate(((), ("-r",), ("--sync",), ("--encrypt",))):
            with self.subTest(source, options=options):
                to = self.target / f"{source.name}-{number}"
                host = "dest:" if "--encrypt" in options else ""
                self.copy(*options, *words, source, f"{host}{to}")
                self.assertEqual(to.read_bytes(), source.read_bytes())

    def test_a_small_file_that_says_it_is_empty(self):
        source = Path("/proc/version")
        self.assertEqual(source.stat().st_size, 0)
        self.check_copied(source)

    def test_a_large_file_that_says_it_is_empty(self):
        source = Path("/proc/kallsyms")
        if not os.access(source, os.R_OK) or len(source.read_bytes()) < 300_000:
            self.skipTest("no large file in /proc")
        self.check_copied(source, "--chunk-size", "64K")
        listed, to = self.disk / "list", self.target / "listed"
        to.mkdir()
        self.copy("--manifest", listed, source, to)
        self.copy("--check", "--manifest", listed, to)

    def test_a_tree_of_files_that_say_they_are_empty(self):
        for words in (("-r",), ("--sync",)):
            to = self.target / words[0].strip("-")
            self.copy(*words, "--exclude=driver", "/proc/tty/", to)
            for name in ("drivers", "ldiscs"):
                self.assertEqual((to / name).read_bytes(), Path("/proc/tty", name).read_bytes())
                self.assertNotEqual((to / name).stat().st_size, 0)


class Devices(CopyTest):
    @needs_root
    def test_a_device_is_read_if_that_is_meant(self):
        image = self.make_file(self.disk / "image", 3 * MIB)
        made = subprocess.run(["losetup", "--show", "-f", image], capture_output=True, text=True, check=False)
        if made.returncode != 0:
            self.skipTest(f"no loop device here: {made.stderr.strip()}")
        device = made.stdout.strip()
        self.addCleanup(subprocess.run, ["losetup", "-d", device], check=True)
        for to in (self.target / "copy", f"dest:{self.target}/copy"):
            self.fails(EXIT_FILES, device, to, says=(device, "--copy-devices"))
            self.assertEqual(os.listdir(self.target), [])
            self.copy("--copy-devices", "--max-size=3M", device, to)
            self.assert_same_file(image, self.target / "copy")
            (self.target / "copy").unlink()
            self.copy("--copy-devices", "--max-size=2M", device, to)
            self.assertEqual(os.listdir(self.target), [])

    def test_what_has_no_end_is_not_begun(self):
        for word in ("--max-size=1M", "--min-size=1"):
            done = self.fails(EXIT_FILES, "--copy-devices", word, "/dev/zero", self.target, says=("/dev/zero", "size"))
            self.assertEqual(len(done.err.splitlines()), 1, done.err)
        self.fails(EXIT_FILES, "--max-size=1M", "/dev/zero", self.target, says=("--copy-devices",))
        os.mkfifo(self.source / "fifo")
        self.fails(EXIT_FILES, "--max-size=1M", self.source / "fifo", self.target, says=("fifo", "--max-size"))
        self.assertEqual(os.listdir(self.target), [])
        self.copy("--copy-devices", "/dev/null", self.target / "empty")
        self.assertEqual((self.target / "empty").read_bytes(), b"")

    def test_it_is_not_for_trees(self):
        for word in ("-r", "--sync"):
            self.fails(EXIT_USAGE, word, "--copy-devices", self.source, self.target, says=("--copy-devices",))


class Waiting(CopyTest):
    """A source whose bytes may never come: a signal ends the run all the same."""

    def waiting_for(self, path: Path, *words, **options):
        """A run that has opened this FIFO."""
        running = self.start(*words, **options)
        def is_open():
            agents = [pid for pid in [local_agent(running.pid), *remote_agents()] if isinstance(pid, int)]
            return any(os.path.realpath(path) in held_by(pid).values() for pid in agents)
        self.assertTrue(wait_for(is_open, 10), "nobody has opened it")
        return running

    def check_ends(self, running, number: int):
        running.process.send_signal(number)
        done = running.finish(4)  # an agent that does not end by itself is given up after 5 s
        self.assertEqual(done.status, 128 + number, done)
        self.assertIn("ended by", done.err)
        self.assertIn("run the same command again", done.err)
        self.assertEqual(os.listdir(self.target), [])
        self.assert_nothing_lives(running)

    def test_a_fifo_without_a_writer(self):
        fifo, copy = self.source / "fifo", self.target / "copy"
        os.mkfifo(fifo)
        for words, number in (((fifo, copy), signal.SIGINT), ((fifo, copy), signal.SIGTERM),
                              ((fifo, f"dest:{copy}"), signal.SIGINT),
                              ((f"dest:{fifo}", copy), signal.SIGTERM),
                              (("--ring", "threads", fifo, copy), signal.SIGTERM)):
            with self.subTest(words=words, number=number):
                self.check_ends(self.waiting_for(fifo, *words), number)

    def test_a_fifo_whose_writer_is_silent(self):
        fifo = self.source / "fifo"
        os.mkfifo(fifo)
        for words in ((), ("--ring", "threads")):
            with self.subTest(words):
                running = self.waiting_for(fifo, *words, fifo, self.target / "copy")
                with open(fifo, "wb", buffering=0) as writer:
                    writer.write(b"begun")
                    self.check_ends(running, signal.SIGINT)

    def test_standard_input_that_is_silent(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, writer)
        with os.fdopen(reader) as silent:
            running = self.start("--progress", "-", self.target / "copy", stdin=silent)
            self.assertTrue(wait_for(lambda: self.is_reading(local_agent(running.pid)), 20))
            self.check_ends(running, signal.SIGTERM)

    def is_reading(self, pid: int) -> bool:
        """All of its workers are there."""
        return len(os.listdir(f"/proc/{pid}/task")) > 3

    def test_a_writer_that_comes_late(self):
        fifo, copy = self.source / "fifo", self.target / "copy"
        os.mkfifo(fifo)
        for text in (b"", b"late", os.urandom(3 * MIB)):
            with self.subTest(len(text)):
                running = self.waiting_for(fifo, fifo, copy)
                with open(fifo, "wb") as writer:
                    writer.write(text)
                self.assertEqual(running.finish(30).status, EXIT_OK)
                self.assertEqual(copy.read_bytes(), text)


class NoReader(CopyTest):
    """A FIFO as DST that nobody reads is not waited for."""

    def test_it_is_told_what_to_do(self):
        small, fifo = self.make_file(self.source / "small", 10), self.target / "fifo"
        os.mkfifo(fifo)
        for words in ((small, fifo), (small, f"dest:{fifo}"), ("--no-landlock", small, f"dest:{fifo}")):
            with self.subTest(words=words):
                self.fails(EXIT_FILES, *words, says=(str(fifo), "No such device or address", "start its reader first"))
                self.assertTrue(stat.S_ISFIFO(fifo.lstat().st_mode))


class MovingSources(CopyTest):
    """Files that change while they are read; the rate is limited so that there is a while."""

    LONG_AGO = 1_600_000_000
    # Not by the kernel, whose copies no library sees.
    WORDS = ("--ring", "threads", "--verify", "--chunk-size", "1M")
    CHANGED = "changed while it was read"

    def stirred(self, path: Path, times: int, back: bool = False) -> dict:
        """The environment of a copy in which the file changes under so many of its reads (stir.c)."""
        back_too = {"RDCP_STIR_BACK": 1} if back else {}
        return {**os.environ, **preloaded("stir", RDCP_STIR_PATH=path, RDCP_STIR_TIMES=times,
                                          RDCP_STIR_LOG=self.disk / "stirs", **back_too)}

    def torn_files(self):
        """Old files to be copied alone, a small one and a large one; each with whether its mtime is set back."""
        for name, size in (("small", 5000), ("large", 9 * MIB)):
            for back in (False, True):
                shutil.rmtree(self.source)
                shutil.rmtree(self.target)
                self.source.mkdir()
                self.target.mkdir()
                file = self.make_file(self.source / name, size)
                os.utime(file, (self.LONG_AGO, self.LONG_AGO))
                yield file, self.target / name, back

    def check_torn(self, file: Path, copy: Path, *words):
        """It is there with a time that no later run takes for the file's."""
        self.assertEqual(copy.stat().st_size, file.stat().st_size)
        self.assertLess(copy.stat().st_mtime_ns, file.stat().st_mtime_ns)
        self.copy("--sync", *words, f"{self.source}/", self.target)
        self.assert_same_file(file, copy)
        self.assertEqual(copy.stat().st_mtime_ns, file.stat().st_mtime_ns)

    def test_a_file_that_is_never_still_is_not_equal_later(self):
        for words in (("-r",), ("--sync",), ("--sync", "--update")):
            for file, copy, back in self.torn_files():
                with self.subTest(file.name, back=back, words=words):
                    done = self.fails(EXIT_FILES, *self.WORDS, *words, f"{self.source}/", self.target,
                                      env=self.stirred(file, -1, back), says=(str(file), self.CHANGED))
                    self.assertEqual(done.err.count(self.CHANGED), 1, done.err)
                    if not back:
                        self.assertEqual(copy.stat().st_mtime, self.LONG_AGO)
                    self.check_torn(file, copy, *words[1:])

    def test_a_file_that_comes_to_rest_is_read_again(self):
        for file, copy, back in self.torn_files():
            with self.subTest(file.name, back=back):
                done = self.copy("--json", *self.WORDS, file, self.target, env=self.stirred(file, 2, back))
                self.assert_same_file(file, copy)
                self.assertEqual(copy.stat().st_mtime_ns, file.stat().st_mtime_ns)
                self.assertEqual(json.loads(done.out)["bytes"], file.stat().st_size)
                self.assert_no_litter(self.target)

    def test_what_changes_while_it_is_compared_is_not_equal_later(self):
        for file, copy, back in self.torn_files():
            with self.subTest(file.name, back=back):
                self.copy(file, self.target)
                os.utime(file, (self.LONG_AGO + 70, self.LONG_AGO + 70))
                self.fails(EXIT_FILES, "--sync", "--checksum", *self.WORDS, f"{self.source}/", self.target,
                           env=self.stirred(file, -1, back), says=(str(file), self.CHANGED))
                self.check_torn(file, copy)

    def test_a_list_has_nothing_of_a_torn_file_that_is_not_there(self):
        listed = self.disk / "list"
        for file, _, back in self.torn_files():
            with self.subTest(file.name, back=back):
                self.fails(EXIT_FILES, *self.WORDS, "--manifest", listed, file, self.target,
                           env=self.stirred(file, -1, back))
                found = self.rdcp("--check", "--manifest", listed, self.target)
                self.assertNotIn("content", found.out.decode())

    def test_a_growing_file(self):
        file = self.make_file(self.source / "growing", 20 * MIB)
        running = self.start("--bwlimit", "20MiB", file, f"dest:{self.target}")
        with open(file, "ab", buffering=0) as writer:
            while running.process.poll() is None:
                writer.write(b"more" * 1024)
                time.sleep(0.005)
        done = running.finish(30)
        self.assertEqual(done.status, EXIT_FILES, done)
        self.assertIn("growing", done.err)

    def test_a_file_cut_short(self):
        file = self.make_file(self.source / "shrinking", 20 * MIB)
        running = self.start("--bwlimit", "5MiB", file, f"dest:{self.target}")
        self.assertTrue(wait_for(lambda: self.bytes_under_way() or running.process.poll() is not None))
        time.sleep(0.1)  # no matter where exactly: any moment of the copy will do
        os.truncate(file, 5 * MIB + 3)
        done = running.finish(30)
        self.assertEqual(done.status, EXIT_OK, done)  # it stands still then, and is read again
        self.assert_same_file(file, self.target / "shrinking")
        self.assert_no_litter(self.target)

    def test_vanishing_files(self):
        for i in range(200):
            self.make_file(self.source / f"file-{i:03}", 200_000, seed=1)
        running = self.start("-r", "--bwlimit", "20MiB", f"{self.source}/", f"dest:{self.target}")
        wait_for(lambda: any(self.target.iterdir()) or running.process.poll() is not None)
        gone = [path for path in self.source.iterdir() if not (self.target / path.name).exists()][::2]
        for path in gone:
            path.unlink()
        done = running.finish(30)
        self.assertIn(done.status, (0, EXIT_FILES), done)
        for path in self.source.iterdir():
            self.assert_same_file(path, self.target / path.name)
        missing = [path.name for path in gone if not (self.target / path.name).exists()]
        for name in missing:  # those that the walk had not seen yet are nobody's loss
            if done.status == 0:
                self.assertNotIn(name, done.err)
        self.assert_no_litter(self.target)

    def bytes_under_way(self) -> bool:
        """True when an agent beneath our sshd has a file open that is being written."""
        within = f"{self.target}/"
        return any(name.startswith(within) for pid in self.sshd.descendants() for name in held_by(pid).values())


class Unreachable(CopyTest):
    def setUp(self):
        super().setUp()
        self.file = self.make_file(self.source / "file", 10)

    def wrapper(self, text: str) -> Path:
        path = self.disk / "wrapper"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path

    def test_no_rdcp_there(self):
        self.fails(EXIT_HOST, "--rdcp-path", "/no/such/rdcp", self.file, f"dest:{self.target}",
                   says=("dest", "install"))

    def test_something_else_there(self):
        self.fails(EXIT_HOST, "--rdcp-path", "/bin/true", self.file, f"dest:{self.target}", says=("dest",))

    def test_a_file_that_cannot_be_executed(self):
        path = self.wrapper("exit 0\n")
        path.chmod(0o644)
        self.fails(EXIT_HOST, "--rdcp-path", path, self.file, f"dest:{self.target}", says=("dest",))

    def test_an_unknown_host(self):
        done = self.fails(EXIT_HOST, self.file, "no-such-host.invalid:x", says=("no-such-host.invalid",))
        self.assertLess(done.seconds, 20)

    def test_nobody_listens(self):
        self.fails(EXIT_HOST, "-P", "1", self.file, f"dest:{self.target}", says=("dest",))

    def test_a_noisy_profile(self):
        path = self.wrapper(f"echo 'Welcome to the machine!'\nexec {RDCP} \"$@\"\n")
        done = self.fails(EXIT_HOST, "--rdcp-path", path, self.file, f"dest:{self.target}",
                          says=("dest", "Welcome to the machine!"))
        self.assertLess(done.seconds, 10)
        self.assertFalse((self.target / "file").exists())

    def test_endless_noise(self):
        done = self.fails(EXIT_HOST, "--rdcp-path", self.wrapper("exec yes\n"), self.file, f"dest:{self.target}")
        self.assertLess(done.seconds, 20)

    def test_noise_on_stderr_is_nobodys_business(self):
        path = self.wrapper(f"echo 'Welcome!' >&2\nexec {RDCP} \"$@\"\n")
        self.copy("--rdcp-path", path, self.file, f"dest:{self.target}")
        self.assert_same_file(self.file, self.target / "file")

    def test_another_remote_shell(self):
        shell = self.disk / "shell"
        shell.write_text('#!/bin/sh\n[ "$1" = dest ] || exit 9\nshift\nexec sh -c "$*"\n')
        shell.chmod(0o755)
        done = subprocess.run([RDCP, "-e", shell, "--rdcp-path", RDCP, self.file,
                               f"dest:{self.target}"], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_same_file(self.file, self.target / "file")


class Congestion(CopyTest):
    # Between two far hosts it is only they who use it.
    def test_congestion_control_that_is_not_there(self):
        file = self.make_file(self.source / "file", 10)
        available = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().strip()
        for way in ((file, self.target), (file, f"dest:{self.target}"), (f"dest:{file}", self.target),
                    (f"dest:{file}", f"other:{self.target}")):
            with self.subTest(way=way):
                done = self.fails(EXIT_USAGE, "--congestion", "nope", *way,
                                  says=("nope", f"on {socket.gethostname()}: ", f"available: {available}"))
                self.assertEqual(len(done.err.splitlines()), 1, done)
                self.assertEqual(os.listdir(self.target), [])

    def test_congestion_control_that_is_there(self):
        file = self.make_file(self.source / "file", 10)
        allowed = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read_text().split()
        self.copy("--congestion", allowed[-1], file, f"dest:{self.target}")
        self.assert_same_file(file, self.target / "file")


class Unwritable(CopyTest):
    @needs_root
    def test_an_immutable_target_file(self):
        victim = self.make_file(self.disk / "target-file", 50)
        if subprocess.run(["chattr", "+i", victim], capture_output=True, check=False).returncode:
            self.skipTest("no immutable files on this filesystem")
        self.addCleanup(subprocess.run, ["chattr", "-i", victim], check=False)
        before = snapshot(victim)
        file = self.make_file(self.source / "target-file", 3 * CHUNK)
        self.fails(EXIT_FILES, file, f"dest:{self.disk}", says=("target-file",))
        self.assertEqual(snapshot(victim), before)
        self.assert_no_litter(self.disk)


if __name__ == "__main__":
    unittest.main()
