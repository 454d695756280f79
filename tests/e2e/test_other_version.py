"""This version's programs with agents of the version before: all that both know works. Builds that version, so for --thorough."""

import os
import re
import shutil
import subprocess
import sys
import unittest

from harness import BUILD, CHUNK, EXIT_OK, RDCP, REPO, CopyTest, Running, wait_for

sys.path.insert(0, str(REPO / "tests" / "campaign"))
from other_build import make_other_build  # noqa: E402

WISHES = [["--mkpath"], ["--backup"], ["--backup-dir=old"], ["--link-dest=../old"]]


class OtherVersion(CopyTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.other, why = make_other_build(BUILD, os.cpu_count() or 1, of_version_before=True)
        if cls.other is None:
            raise unittest.SkipTest(why)
        print(f"({why}) ", end="", flush=True)

    def setUp(self):
        super().setUp()
        self.older = ["--rdcp-path", self.other / "rdcp"]
        self.tree = self.source / "tree"
        (self.tree / "sub").mkdir(parents=True)
        for i in range(50):
            self.make_file(self.tree / "sub" / f"file-{i}", (i % 5) * 3000 + i, seed=i)
        self.make_file(self.tree / "large", 40 * CHUNK + 1)
        os.symlink("large", self.tree / "link")

    def check(self, *words, source="", target="dest:"):
        self.copy(*self.older, *words, "-r", f"{source}{self.tree}/", f"{target}{self.target}")
        self.assert_same_tree(self.tree, self.target)
        self.assert_no_litter(self.target)

    def test_to_and_from_a_host(self):
        self.check()
        self.make_file(self.tree / "large", 41 * CHUNK)
        self.check(source="dest:", target="")

    def test_between_two(self):
        self.check(source="dest:", target="other:")

    def test_between_a_host_of_this_version_and_one_of_that(self):
        for first, second in ((self.other / "rdcp", RDCP), (RDCP, self.other / "rdcp")):
            taken, either = self.disk / "taken", self.disk / "either"
            either.write_text(f'#!/bin/sh\nmkdir {taken} 2>/dev/null && exec {first} "$@"\nexec {second} "$@"\n')
            either.chmod(0o755)
            self.older = ["--rdcp-path", either]
            self.check(source="dest:", target="other:")
            self.make_file(self.tree / "large", 41 * CHUNK)
            taken.rmdir()

    def test_through_ssh_encrypted_and_compressed(self):
        self.check("--via", "ssh", "--compress=1")
        self.make_file(self.tree / "large", 41 * CHUNK)
        self.check("--encrypt")

    def test_a_mirror_and_a_check(self):
        self.check()
        self.make_file(self.tree / "large", 40 * CHUNK, seed=2)
        (self.tree / "sub" / "file-1").unlink()
        self.check("--sync", "--delete")
        self.copy(*self.older, "--check", "-r", f"{self.tree}/", f"dest:{self.target}")

    def test_its_doctor_and_its_cleaning(self):
        done = self.rdcp(*self.older, "--doctor", "dest:")
        self.assertIn(done.status, (EXIT_OK, 1), done)
        self.copy(*self.older, "--clean", f"dest:{self.target}")

    # What that version does not have is refused, and nothing is done.
    def test_among_several_targets(self):
        """The one in the middle is of that version, and knows no deltas in a chain."""
        shell, mixed = self.disk / "shell", self.disk / "mixed"
        shell.write_text(f'#!/bin/sh\nmkdir -p {self.target}/$1\ncd {self.target}/$1\nshift\nexec sh -c "$*"\n')
        mixed.write_text(f'#!/bin/sh\n[ "${{PWD##*/}}" = b ] && exec {self.other / "rdcp"} "$@"\nexec {RDCP} "$@"\n')
        for script in (shell, mixed):
            script.chmod(0o755)
        for number, (program, says) in enumerate(((mixed, False), (RDCP, True), (mixed, False))):
            with (self.tree / "large").open("r+b") as large:
                large.seek(number * CHUNK)
                large.write(b"changed")
            done = subprocess.run([RDCP, "-e", shell, "--rdcp-path", program, "-v", "--sync", f"{self.tree}/", "a,b,c:copy"],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, EXIT_OK, done)
            for host in "abc":
                self.assert_same_tree(self.tree, self.target / host / "copy")
            self.assertEqual("were there already" in done.stderr, says, done)

    def test_alterations(self):
        self.copy(*self.older, "-r", "--chmod=D750", f"dest:{self.tree}/", self.target / "new")
        self.assertEqual((self.target / "new").stat().st_mode & 0o777, 0o750)

    def test_a_stream(self):
        received, errors = self.disk / "received", self.disk / "errors"
        with open(errors, "wb") as said:
            receiver = Running([self.other / "rdrecv", "0", "a_key", received], stderr=said)
        self.addCleanup(receiver.kill)
        found = wait_for(lambda: re.search(r"^port (\d+)$", errors.read_text(), re.M), 20)
        sender = Running([BUILD / "rdsend", "127.0.0.1", found[1], "a_key", self.tree / "large"])
        done = sender.finish(60)
        self.assertEqual(done.status, EXIT_OK, f"{done}{errors.read_text()}")
        self.assertEqual(receiver.process.wait(60), EXIT_OK, errors.read_text())
        self.assert_same_file(self.tree / "large", received)

    def test_a_pipeline(self):
        done = Running([BUILD / "rdpipe", "-F", self.sshd.config, *self.older, f"cat {self.tree}/large",
                        f"dest:cat > {self.target}/large"]).finish(60)
        self.assertEqual(done.status, EXIT_OK, done)
        self.assert_same_file(self.tree / "large", self.target / "large")

    def test_that_version_speaks_with_this_one(self):
        command = [self.other / "rdcp", "-F", self.sshd.config, "--rdcp-path", RDCP, "-r", f"{self.tree}/", f"dest:{self.target}"]
        done = Running(command).finish(60)
        self.assertEqual(done.status, EXIT_OK, done)
        self.assert_same_tree(self.tree, self.target)

    def test_wishes(self):
        for words in WISHES:
            with self.subTest(words=words):
                for target, source in (("dest:", ""), ("", "dest:")):
                    self.copy(*self.older, *words, "-r", f"{source}{self.tree}/", f"{target}{self.target}/here")
                    self.assert_same_tree(self.tree, self.target / "here")
                    shutil.rmtree(self.target / "here")


if __name__ == "__main__":
    unittest.main()
