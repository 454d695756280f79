"""Outputs that somebody who shares them has made non-blocking, as ssh does with standard error, and whose reader takes
its time: nothing is lost, and it is no error."""

import fcntl
import os
import select
import signal
import subprocess
import unittest

from harness import (BUILD, EXIT_FILES, EXIT_OK, KIB, RDCP, CopyTest, Running, _end, make_file, wait_for)
from pipes import PipeTest

F_SETPIPE_SZ = 1031
ONE_PAGE = 4096


class SlowReader:
    """The pipe that is given to a program, and its lazy reader."""

    def __init__(self):
        self.read_end, self.write_end = os.pipe()
        fcntl.fcntl(self.write_end, F_SETPIPE_SZ, ONE_PAGE)
        os.set_blocking(self.write_end, False)

    def is_full(self) -> bool:
        return not select.select([], [self.write_end], [], 0)[1]

    def read(self) -> bytes:
        os.close(self.write_end)
        with open(self.read_end, "rb") as pipe:
            return pipe.read()


def many_files(folder, count: int = 200):
    folder.mkdir(exist_ok=True)
    for number in range(count):
        (folder / f"{'a long name ' * 4}{number:04}").write_text(f"{number}\n")


class Outputs(CopyTest):
    def run_slowly(self, *words, status: int = EXIT_OK, command=None, both: bool = False) -> bytes:
        """both: standard error is the same pipe."""
        reader = SlowReader()
        errors = reader.write_end if both else None
        running = Running(command or self.command(*words), stdout=reader.write_end, stderr=errors, cwd=self.disk)
        self.addCleanup(_end, running)
        wait_for(lambda: reader.is_full() or running.process.poll() is not None, 30)
        text = reader.read()
        self.assertEqual(running.process.wait(60), status, text[-500:])
        return text

    def test_changes_of_a_mirror(self):
        many_files(self.source)
        lines = self.run_slowly("--sync", "-i", "-n", f"{self.source}/", self.target, both=True).splitlines()
        self.assertEqual(sum(b"a long name" in line for line in lines), 200)

    def test_a_mirror_by_ssh_whose_errors_go_to_the_same_pipe(self):
        many_files(self.source)
        lines = self.run_slowly("--sync", "-i", f"{self.source}/", f"dest:{self.target}", both=True).splitlines()
        self.assertEqual(sum(b"a long name" in line for line in lines), 200)
        self.assert_same_tree(self.source, self.target)

    def test_differences(self):
        many_files(self.source)
        for options in ((), ("--json",)):
            text = self.run_slowly("--check", *options, f"{self.source}/", self.target, status=EXIT_FILES)
            self.assertEqual(text.count(b"a long name") // 4, 200)

    def test_what_clean_finds(self):
        for number in range(100):
            (self.target / f".rdcp-{number:08x}{'0' * 24}.run").touch()
        self.assertEqual(len(self.run_slowly("--clean", "-n", self.target).splitlines()), 100)

    def test_help(self):
        wanted = subprocess.run([RDCP, "--help"], capture_output=True, check=True).stdout
        self.assertEqual(self.run_slowly(command=[RDCP, "--help"]), wanted)

    def test_help_that_cannot_be_written(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([RDCP, "--help"], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, EXIT_FILES)
        self.assertIn(b"standard output: No space left on device", done.stderr)

    def test_problems_on_standard_error(self):
        many_files(self.source)
        names = [f"missing {'long name ' * 5}{number}" for number in range(100)]
        text = self.run_slowly(*names, self.target, status=EXIT_FILES, both=True)
        self.assertEqual(text.count(b"No such file"), 100)

    def test_a_file_to_standard_output(self):
        for size in (100 * KIB, 3000 * KIB):  # a pipe that can be made larger is
            path = make_file(self.source / "data", size)
            self.assertEqual(self.run_slowly(path, "-"), path.read_bytes())
            self.assertEqual(self.run_slowly(f"dest:{path}", "-"), path.read_bytes())

    def test_the_end_of_a_pipeline(self):
        path = make_file(self.source / "data", 3000 * KIB)
        words = [BUILD / "rdpipe", "-F", self.sshd.config, "--rdcp-path", RDCP, f"dest:cat {path}"]
        self.assertEqual(self.run_slowly(command=words), path.read_bytes())

    def test_a_signal_ends_the_wait_for_a_reader(self):
        many_files(self.source)
        reader = SlowReader()
        running = Running(self.command("--sync", "-i", f"{self.source}/", self.target),
                          stdout=reader.write_end, stderr=reader.write_end)
        self.addCleanup(_end, running)
        self.assertTrue(wait_for(reader.is_full))
        os.kill(running.pid, signal.SIGTERM)
        self.assertEqual(running.process.wait(10), 128 + signal.SIGTERM)
        reader.read()


class Receiver(PipeTest):
    def test_standard_output(self):
        path = self.make_file("data", 3000 * KIB)
        reader = SlowReader()
        receiver, port = self.receiver(stdout=reader.write_end)
        with open(path, "rb") as data:
            sender = self.sender(port, stdin=data)
        self.assertTrue(wait_for(reader.is_full))
        self.assertEqual(reader.read(), path.read_bytes())
        self.end(sender, EXIT_OK)
        self.end(receiver, EXIT_OK)


if __name__ == "__main__":
    unittest.main()
