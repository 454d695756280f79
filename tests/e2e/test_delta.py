"""Large files of which the target has an old version: what crosses the wire, and what becomes of it."""

import os
import re
import unittest

from harness import MIB, CopyTest

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


if __name__ == "__main__":
    unittest.main()
