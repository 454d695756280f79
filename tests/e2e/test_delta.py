"""Large files of which the target has an old version: what crosses the wire, and what becomes of it."""

import os
import re
import shutil
import unittest

from harness import EXIT_FILES, MIB, CopyTest, wait_for

BIG = 64 * MIB


class InPlace(CopyTest):
    def setUp(self):
        super().setUp()
        self.file = self.make_file(self.source / "file", BIG)
        self.old = self.make_file(self.target / "file", BIG)
        self.inode = self.old.stat().st_ino

    def change(self, offset: int, content: bytes):
        with open(self.file, "r+b") as file:
            file.seek(offset)
            file.write(content)

    def update(self, *words) -> int:
        """The bytes that were sent."""
        done = self.copy("-v", *words, self.file, f"dest:{self.target}")
        self.assert_same_file(self.file, self.old)
        self.assert_no_litter(self.target)
        sent = re.search(r"^rdcp: .* were there already; .* \((\d+) bytes\) were sent$", done.err, re.M)
        return int(sent[1]) if sent else BIG

    def test_nothing_changed(self):
        self.assertLess(self.update("--inplace"), BIG // 1000)
        self.assertEqual(self.old.stat().st_ino, self.inode)

    def test_a_part_is_overwritten(self):
        self.change(20 * MIB + 77, os.urandom(MIB))
        self.assertLess(self.update("--inplace"), 4 * MIB)
        self.assertEqual(self.old.stat().st_ino, self.inode)

    def test_it_has_grown(self):
        self.change(BIG, os.urandom(MIB))
        self.assertLess(self.update("--inplace"), 2 * MIB)

    def test_it_has_become_shorter(self):
        os.truncate(self.file, 10 * MIB + 5)
        self.assertLess(self.update("--inplace"), MIB)
        self.assertEqual(self.old.stat().st_size, 10 * MIB + 5)

    def test_a_whole_file(self):
        self.change(0, b"x")
        self.assertEqual(self.update("--inplace", "--whole-file"), BIG)
        self.assertEqual(self.old.stat().st_ino, self.inode)

    def test_no_more_is_sent_to_be_verified(self):
        before = self.file.read_bytes()
        cases = (("--inplace", before[:20 * MIB + 77] + os.urandom(MIB) + before[21 * MIB + 77:], 4 * MIB),
                 ("--sync", before[:20 * MIB + 77] + os.urandom(MIB) + before[21 * MIB + 77:], 4 * MIB),
                 ("--sync", before[:9 * MIB] + b"x" + before[9 * MIB:], MIB))
        for where in (self.memory, self.disk):
            for how, after, most in cases:
                with self.subTest(how=how, where=where, size=len(after)):
                    self.target = where / "verified"
                    self.target.mkdir(exist_ok=True)
                    self.old = self.target / "file"
                    self.old.write_bytes(before)
                    os.utime(self.old, (1_000_000_000, 1_000_000_000))
                    self.file.write_bytes(after)
                    plain = self.update(how)
                    self.old.write_bytes(before)
                    os.utime(self.old, (1_000_000_000, 1_000_000_000))
                    verified = self.update(how, "--verify")
                    self.assertLess(plain, most)
                    self.assertLess(verified, plain * 1.1 + 300_000)

    def test_all_is_sent_otherwise(self):
        self.assertEqual(self.update(), BIG)
        self.assertNotEqual(self.old.stat().st_ino, self.inode)

    def test_from_a_host(self):
        self.change(BIG // 2, b"changed")
        self.copy("--inplace", f"dest:{self.file}", self.target)
        self.assert_same_file(self.file, self.old)
        self.assertEqual(self.old.stat().st_ino, self.inode)

    def test_on_this_host(self):
        self.change(BIG // 2, b"changed")
        self.copy("--inplace", self.file, self.target)
        self.assert_same_file(self.file, self.old)
        self.assertEqual(self.old.stat().st_ino, self.inode)

    def make_sparse(self, path):
        """24 MiB, of which three are data."""
        path.unlink()
        with open(path, "wb") as file:
            for at in (0, 11, 20):
                file.seek(at * MIB)
                file.write(os.urandom(MIB))
            file.truncate(24 * MIB)

    def blocks(self) -> int:
        return self.old.stat().st_blocks * 512

    def test_a_new_sparse_file_keeps_its_holes(self):
        self.make_sparse(self.file)
        for words in ((), ("--whole-file",), ("--verify",), ("--sync", "--checksum")):
            for host in ("", "dest:"):
                with self.subTest(words=words, host=host):
                    self.old.unlink()
                    source, to = (f"{self.source}/", self.target) if "--sync" in words else (self.file, self.old)
                    self.copy("--inplace", *words, source, f"{host}{to}")
                    self.assert_same_file(self.file, self.old)
                    self.assertLess(self.blocks(), 5 * MIB)

    def test_holes_become_zeros_in_an_old_file(self):
        self.make_sparse(self.file)
        for words in ((), ("--whole-file",), ("--verify",), ("--sync", "--checksum")):
            for host in ("", "dest:"):
                for size in (1000, 100_000, 24 * MIB, 30 * MIB):
                    with self.subTest(words=words, host=host, size=size):
                        self.make_file(self.old, size)
                        source, to = (f"{self.source}/", self.target) if "--sync" in words else (self.file, self.old)
                        self.copy("--inplace", *words, source, f"{host}{to}")
                        self.assert_same_file(self.file, self.old)

    def test_what_stands_in_a_hole_is_compared(self):
        """Without --inplace, by content: size and time are equal."""
        self.make_sparse(self.file)
        for host in ("", "dest:"):
            shutil.copy2(self.file, self.old)
            with open(self.old, "r+b") as file:
                file.seek(5 * MIB)
                file.write(b"garbage")
            shutil.copystat(self.file, self.old)
            self.copy("--sync", "--checksum", f"{self.source}/", f"{host}{self.target}")
            self.assert_same_file(self.file, self.old)

    def test_two_sources_at_once_are_not_mixed(self):
        other = self.make_file(self.source / "other", BIG, seed=11)
        self.file.write_bytes(os.urandom(BIG))
        words = ("--inplace", "--whole-file")
        # Slower than others are patient, twice.
        first = self.start(*words, "--bwlimit", "2MiB", self.file, f"dest:{self.old}")
        before = self.old.stat().st_mtime_ns
        self.assertTrue(wait_for(lambda: self.old.stat().st_mtime_ns != before, 20))
        for host in ("", "dest:"):
            self.fails(EXIT_FILES, *words, other, f"{host}{self.old}", says=(str(self.old), "another copy"))
        self.assertEqual(first.finish(120).status, 0)
        self.assert_same_file(self.file, self.old)
        self.copy(*words, other, self.old)
        self.assert_same_file(other, self.old)


if __name__ == "__main__":
    unittest.main()
