"""RDMA where little memory may be locked: it makes do with less, or says what to raise. Within the VM."""

import os
import shlex
import unittest

from copying import VmCopyTest  # puts the harness on the path
from harness import EXIT_DATA, EXIT_OK, KIB, MIB, RDCP, Running

NOBODY = 65534


class LockedMemory(VmCopyTest):
    """As a user to whom the limit applies."""

    def limited_copy(self, kib: int, *options):
        shell = self.disk / "rsh"  # the other host is this one, and has the same limit
        shell.write_text('#!/bin/sh\nshift\nexec sh -c "$*"\n')
        shell.chmod(0o755)
        for folder in (self.disk, self.source, self.memory, self.target):
            os.chmod(folder, 0o755)
            os.chown(folder, NOBODY, NOBODY)
        file = self.make_file(self.source / "file", 6 * MIB + 1)
        if "--compress" in options:
            file.write_bytes(bytes(file.stat().st_size))
        words = ["prlimit", f"--memlock={kib * KIB}:{kib * KIB}", "setpriv", "--reuid", str(NOBODY), "--regid",
                 str(NOBODY), "--clear-groups", RDCP, "-v", "-e", shlex.quote(str(shell)), "--rdcp-path", RDCP, *options,
                 file, f"dest:{self.target}/copy"]
        running = Running(words, cwd=self.disk)
        self.addCleanup(running.kill)
        done = running.finish(60)
        if done.status == EXIT_OK:
            self.assert_same_file(file, self.target / "copy")
        return done

    def test_too_little_is_told_and_tcp_is_taken(self):
        done = self.limited_copy(64)
        self.assertEqual(done.status, EXIT_OK, done)
        self.assertIn("RDMA was not used: the locked-memory limit of", done.err)
        self.assertIn("/etc/security/limits.d/rdma.conf", done.err)
        self.assertIn(" over tcp ", done.err)

    def test_too_little_is_an_error_where_rdma_is_asked_for(self):
        done = self.limited_copy(64, "--transport", "rdma")
        self.assertEqual(done.status, EXIT_DATA, done)
        self.assertIn("the locked-memory limit of", done.err)
        self.assertFalse((self.target / "copy").exists())

    def test_little_is_made_do_with(self):
        for kib in (1024, 8192):
            with self.subTest(kib=kib):
                done = self.limited_copy(kib, "--transport", "rdma")
                self.assertEqual(done.status, EXIT_OK, done)
                self.assertIn(" over rdma rxe0 ", done.err)
                self.assertIn("so there are only", done.err)

    def test_memory_is_left_to_compress(self):
        # Four slots, and nothing for what is compressed, would fit.
        done = self.limited_copy(5120, "--transport", "rdma", "--streams", "1", "--compress")
        self.assertEqual(done.status, EXIT_OK, done)
        self.assertIn("so there are only 1 stream of", done.err)
        self.assertRegex(done.err, r"compressed .* \(\d{3,}\.\d+ : 1\)")


if __name__ == "__main__":
    unittest.main()
