"""Options that fingers know: --log-file and --max-runtime for cron, -R, -4 and -6."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

from harness import EXIT_FILES, EXIT_HOST, EXIT_USAGE, MIB, CopyTest, is_root

STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z  ")
EXIT_TIME = 128 + signal.SIGALRM


class Log(CopyTest):
    def lines(self) -> list[str]:
        lines = (self.disk / "log").read_text().splitlines()
        for line in lines:
            self.assertRegex(line, STAMP)
        return [STAMP.sub("", line, count=1) for line in lines]

    def test_a_quiet_mirror_leaves_its_course_in_the_log(self):
        self.make_file(self.source / "file", 1000)
        done = self.copy("-q", "--sync", "-i", "--log-file", self.disk / "log", f"{self.source}/", f"dest:{self.target}")
        self.assertEqual(done.err, "")
        lines = self.lines()
        self.assertRegex(lines[0], rf"^rdcp [0-9.]+: {self.source}/ to dest:{self.target}$")
        self.assertIn("<f+++++++++ file", lines)
        self.assertRegex(lines[-2], r"^rdcp: 1 file, 1\.00 kB in 0:00, ")
        self.assertEqual(lines[-1], "rdcp: exit status 0")

    def test_problems_are_in_both_and_runs_follow_each_other(self):
        for _ in range(2):
            done = self.fails(EXIT_FILES, "--log-file", self.disk / "log", f"dest:{self.source}/none", self.target)
        lines = self.lines()
        self.assertEqual(lines.count("rdcp: exit status 1"), 2)
        self.assertEqual(lines.count(done.err.rstrip("\n")), 2, lines)
        self.assertIn("dest: ", done.err)

    def test_a_log_that_cannot_be_written_is_told_before_anything_is_done(self):
        link = self.disk / "link"
        link.symlink_to(self.disk / "log")
        file = self.make_file(self.source / "file", 10)
        for log in (self.disk / "none/log", self.disk, link, "/dev/null"):
            done = self.fails(EXIT_FILES, "--json", "--log-file", log, file, self.target, says=(str(log),))
            self.assertEqual(json.loads(done.out)["status"], EXIT_FILES)
        self.fails(EXIT_USAGE, "--doctor", "--log-file", self.disk / "log", says=("for copies and --check",))
        if is_root:
            theirs = self.disk / "theirs"
            theirs.symlink_to(self.disk)
            os.chown(theirs, 65534, 65534, follow_symlinks=False)
            self.fails(EXIT_FILES, "--log-file", theirs / "log", file, self.target, says=("belongs to another user",))
        self.assertFalse((self.target / "file").exists())
        self.assertFalse((self.disk / "log").exists())


class Runtime(CopyTest):
    def test_the_run_ends_and_the_same_command_goes_on(self):
        file = self.make_file(self.source / "file", 16 * MIB)
        begin = time.monotonic()
        words = [file, f"dest:{self.target}/copy"]
        self.fails(EXIT_TIME, "--bwlimit", "4M", "--max-runtime", "1", *words, says=("the time of --max-runtime is over",))
        self.assertLess(time.monotonic() - begin, 15)
        self.assertFalse((self.target / "copy").exists())
        done = self.copy("-v", "--max-runtime", "600", *words)
        self.assertIn("were there already", done.err)
        self.assert_same_file(file, self.target / "copy")

    def test_a_check_ends_too(self):
        silent = self.disk / "ssh"  # in ssh's place: nobody answers
        silent.write_text("#!/bin/sh\nexec 3>&1\nexec cat >/dev/null\n")
        silent.chmod(0o755)
        self.fails(EXIT_TIME, "--check", "--max-runtime", "1", "-e", silent, "--rdcp-path", "rdcp", self.source,
                   "dest:/there", says=("not all was compared",))
        self.fails(EXIT_USAGE, "--clean", "--max-runtime", "1", self.target, says=("for copies and --check",))


@unittest.skipUnless(shutil.which("rsync"), "no rsync to compare with")
class Relative(CopyTest):
    def setUp(self):
        super().setUp()
        for name in ("a/b/c/deep", "a/b/file", "a/other", "x/y/z"):
            (self.source / name).parent.mkdir(parents=True, exist_ok=True)
            self.make_file(self.source / name, len(name) * 100)
        for number, name in enumerate(("a", "a/b", "a/b/c", "x", "x/y")):
            os.utime(self.source / name, (10**9 + number, 10**9 + number))
        os.chmod(self.source / "a", 0o750)

    def assert_as_rsync(self, *sources, ignore: tuple = ()):
        ours, theirs = self.disk / "ours", self.disk / "theirs"
        for folder in (ours, theirs):
            shutil.rmtree(folder, ignore_errors=True)
        self.copy("-rR", *sources, ours, cwd=self.source)
        subprocess.run(["rsync", "-aR", *sources, f"{theirs}/"], cwd=self.source, check=True)
        # What stands for the beginning of SRC, rsync just makes; rdcp takes its metadata over.
        for folder in (ours, theirs):
            folder.chmod(0o755)
            os.utime(folder, (0, 0))
        self.assert_same_tree(theirs, ours, ignore=ignore)

    def test_as_rsync(self):
        for sources in (["a/b"], ["a/b/file"], ["a/b", "x/y/z"], ["a/./b"], ["./a/b/c"], [f"{self.source}/./a/b"],
                        ["a/./b/file", "a/./other"], ["a/b/"]):
            with self.subTest(sources):
                self.assert_as_rsync(*sources)
        # Directories above, which change all the time; rsync takes times of the same second for equal.
        self.assert_as_rsync(f"{self.source}/a/b/file", ignore=("mtime_ns",))

    def test_from_a_host(self):
        self.copy("-r", "-R", f"dest:{self.source}/./a/b", f"dest:{self.source}/./x/y/z", self.target)
        self.assertEqual(sorted(str(path.relative_to(self.target)) for path in self.target.rglob("*") if path.is_file()),
                         ["a/b/c/deep", "a/b/file", "x/y/z"])

    def test_what_does_not_begin_at_one_place_and_what_is_not_there(self):
        self.fails(EXIT_USAGE, "-rR", "a/./b", "./x", self.target, says=("begin in one place",), cwd=self.source)
        self.fails(EXIT_USAGE, "-rR", self.source / "a", self.source / "a/b/new", says=("into itself",))
        self.fails(EXIT_FILES, "-rR", "none/there", "a/b", self.target, says=("none/there",), cwd=self.source)
        self.assertTrue((self.target / "a/b/file").exists())


class Family(CopyTest):
    def test_only_addresses_of_one_family(self):
        file = self.make_file(self.source / "file", 100)
        self.assertIn("127.0.0.1", self.copy("-4", "-v", file, f"dest:{self.target}").err)
        self.fails(EXIT_HOST, "-6", file, f"dest:{self.target}")  # ssh_config says 127.0.0.1


if __name__ == "__main__":
    unittest.main()
