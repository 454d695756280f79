"""Small limits on what a process may have: each run ends soon, with a documented status and a message that names the
cause, or with a whole copy and status 0."""

import os
import resource
import shutil
import signal
import subprocess
import unittest

from harness import (BUILD, EXIT_DIGEST, EXIT_FILES, EXIT_OK, KIB, MIB, RDCP, CopyTest, Running, _end, is_root, make_file)
from pipes import KEY, RDRECV, RDSEND

ENDS = range(EXIT_OK, EXIT_DIGEST + 1)
NOBODY = 65534
NOT_EVEN_LOADED = 127  # says ld.so
SOON = 30  # seconds: what the other side takes for silence
# What stands in messages about it.
CAUSES = ("Too many open files", "no more threads", "out of memory", "Cannot allocate memory", "File too large",
          "Resource temporarily unavailable", "ended unexpectedly", "cannot be started")


def limited(which: int, most: int, user: int | None = None):
    def limit():
        if user is not None:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
        resource.setrlimit(which, (most, most))
    return limit


class Limits(CopyTest):
    def setUp(self):
        super().setUp()
        for folder in (self.disk, self.memory):
            os.chmod(folder, 0o755)
        self.tree = self.source / "tree"
        (self.tree / "deep" / "deeper").mkdir(parents=True)
        for number in range(20):
            (self.tree / "deep" / f"{number}").write_text(f"{number}\n")
        make_file(self.tree / "large", 2 * MIB)
        os.chmod(self.target, 0o777)

    def new(self, name: str):
        path = self.target / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        return path

    def run_limited(self, words, limit, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE):
        running = Running(words, preexec_fn=limit, cwd="/", stdin=stdin, stdout=stdout)
        self.addCleanup(_end, running)
        return running.finish(SOON)

    def judge(self, done, whole, what):
        self.assertIn(done.status, ENDS, f"{what}: {done}")
        if done.status == EXIT_OK:
            whole()
        else:
            self.assertTrue(any(cause in done.err for cause in CAUSES), f"{what}: names no cause: {done}")

    def sweep(self, which: int, values, user: int | None = None):
        for most in values:
            limit = limited(which, most, user)
            if self.run_limited([RDCP, "--version"], limit).status == NOT_EVEN_LOADED:
                continue
            with self.subTest(most=most):
                self.copies(limit, most)
                self.pipelines(limit, most)
                if user is None:
                    self.streams(limit, most)

    def copies(self, limit, most):
        large, target = self.tree / "large", self.new("copy")
        done = self.run_limited([RDCP, large, target], limit)
        self.judge(done, lambda: self.assert_same_file(large, target), f"a file, {most}")
        for words in (("-r",), ("--sync", "--delete")):
            copy = self.new("tree")
            done = self.run_limited([RDCP, *words, f"{self.tree}/", copy], limit)
            self.judge(done, lambda: self.assert_same_tree(self.tree, copy, ("uid", "gid", "owner")), f"{words}, {most}")
        same = self.new("same")
        subprocess.run(["cp", "-a", self.tree, same], check=True)
        done = self.run_limited([RDCP, "--check", f"{self.tree}/", same], limit)
        self.judge(done, lambda: None, f"--check, {most}")
        self.assertEqual(done.out, b"", f"--check, {most}: differences where there are none; {done}")

    def pipelines(self, limit, most):
        wanted = (self.tree / "large").read_bytes()
        done = self.run_limited([BUILD / "rdpipe", f"cat {self.tree / 'large'}"], limit)
        if done.status != EXIT_OK:  # the command itself may fail, too
            self.assertIn(done.status, (*ENDS, 126, 127, 128 + signal.SIGKILL, 128 + signal.SIGSEGV), f"{most}: {done}")
            self.assertTrue(done.err, f"rdpipe, {most}: {done}")
        else:
            self.assertEqual(done.out, wanted, f"rdpipe, {most}")

    def streams(self, limit, most):
        """The limit is the receiver's, then the sender's."""
        large, copy = self.tree / "large", self.new("stream")
        for limits in ((limit, None), (None, limit)):
            receiver = Running([RDRECV, "0", KEY, copy], preexec_fn=limits[0])
            self.addCleanup(_end, receiver)
            said = receiver.process.stderr.readline().decode()
            sent = None
            if said.startswith("port "):
                with open(large, "rb") as data:
                    sent = self.run_limited([RDSEND, "127.0.0.1", said.split()[1], KEY], limits[1], stdin=data)
                self.assertIn(sent.status, ENDS, f"rdsend, {most}: {sent}")
                if sent.status != EXIT_OK:
                    receiver.process.terminate()  # it may wait for another sender, as it should
            received = receiver.finish(SOON)
            self.assertIn(received.status, (*ENDS, -signal.SIGTERM, 128 + signal.SIGTERM), f"rdrecv, {most}: {received}")
            if sent is not None and sent.status == EXIT_OK:
                self.assertEqual(received.status, EXIT_OK, received)
                self.assert_same_file(large, copy)
            else:
                self.assertTrue(received.err or said or sent.err, f"{most}: nothing said")

    def test_descriptors(self):
        self.sweep(resource.RLIMIT_NOFILE, (8, 16, 24, 48))

    @unittest.skipUnless(is_root, "needs another user")
    def test_threads(self):
        enters = subprocess.run(["test", "-x", RDCP], user=NOBODY, group=NOBODY, extra_groups=[], cwd="/", check=False)
        if enters.returncode != 0:
            self.skipTest(f"nobody else may run {RDCP}: a folder above it is closed to others")
        os.chown(self.target, NOBODY, NOBODY)
        self.sweep(resource.RLIMIT_NPROC, (1, 5, 9, 13), NOBODY)

    def test_memory(self):
        self.sweep(resource.RLIMIT_AS, [mib * MIB for mib in (80, 112, 144)])

    def test_memory_that_ends_while_a_program_begins(self):
        """Wherever it ends: the steps are smaller than what a library takes for itself."""
        begun = 0
        for most in range(32 * MIB, 256 * MIB, 256 * KIB):
            limit = limited(resource.RLIMIT_AS, most)
            if self.run_limited([RDCP, "--version"], limit).status not in ENDS:
                continue  # ended before main()
            for words in ([RDCP, "--agent"], [RDSEND, "--wait", "0", "127.0.0.1", "1", KEY],
                          [RDCP, self.tree / "large", self.new("copy")]):
                done = self.run_limited(words, limit)
                self.assertIn(done.status, ENDS, f"{words}, {most}: {done}")
            begun += 1
            if begun == 40:  # 10 MiB more than it takes to be loaded
                return
        self.fail("it does not begin")

    def test_stack(self):
        self.sweep(resource.RLIMIT_STACK, (64 * KIB,))

    def test_size_of_files(self):
        self.sweep(resource.RLIMIT_FSIZE, (0, 1 * MIB))

    def test_locked_memory(self):
        self.sweep(resource.RLIMIT_MEMLOCK, (0,))

    def test_a_file_that_is_too_large_is_named_and_the_others_are_copied(self):
        for copy in (self.disk / "copy", self.target / "copy"):
            done = self.run_limited([RDCP, "-r", f"{self.tree}/", copy], limited(resource.RLIMIT_FSIZE, 4 * KIB))
            self.assertEqual(done.status, EXIT_FILES, done)
            self.assertIn("large: File too large", done.err)
            self.assertEqual(len(list((copy / "deep").iterdir())), 21)
            self.assertFalse((copy / "large").exists())

    def test_commands_get_the_signal_back(self):
        done = self.run_limited([BUILD / "rdpipe", "grep SigIgn /proc/self/status"], None)
        ignored = int(done.out.split()[1], 16)
        self.assertFalse(ignored >> (signal.SIGXFSZ - 1) & 1, done)


if __name__ == "__main__":
    unittest.main()
