"""RDMA where little memory may be locked: it makes do with less, or says what to raise. Within the VM."""

import os
import re
import shlex
import shutil
import subprocess
import unittest
from pathlib import Path

from copying import VmCopyTest  # puts the harness on the path
from harness import EXIT_DATA, EXIT_OK, KIB, MIB, RDCP, Running, preloaded, wait_for
from sshd import children_of

NOBODY = 65534
SLOT_KIB, QUEUES_KIB = 256, 512  # of one slot; more than a stream's queues, and less than its four slots


class LockedMemory(VmCopyTest):
    """As a user to whom the limit applies."""

    def limited_copy(self, kib: int, *options, meanwhile=None, container=()):
        """meanwhile: what happens while it runs. container: words before those that it runs by."""
        shell = self.disk / "rsh"  # the other host is this one, and has the same limit
        shell.write_text('#!/bin/sh\nshift\nexec sh -c "$*"\n')
        shell.chmod(0o755)
        for folder in (self.disk, self.source, self.memory, self.target):
            os.chmod(folder, 0o755)
            os.chown(folder, NOBODY, NOBODY)
        file = self.make_file(self.source / "file", 6 * MIB + 1)
        if "--compress" in options:
            file.write_bytes(bytes(file.stat().st_size))
        rdcp = self.disk / "rdcp"  # where anybody may read it: the build's folder may be root's alone
        shutil.copy(RDCP, rdcp)
        rdcp.chmod(0o755)
        words = ["prlimit", f"--memlock={kib * KIB}:{kib * KIB}", "setpriv", "--reuid", str(NOBODY), "--regid",
                 str(NOBODY), "--clear-groups", *container, rdcp, "-v", "-e", shlex.quote(str(shell)), "--rdcp-path", rdcp, *options,
                 file, f"dest:{self.target}/copy"]
        running = Running(words, cwd=self.disk)
        self.addCleanup(running.kill)
        if meanwhile:
            try:
                meanwhile(running)
            except AssertionError as failure:
                running.kill()
                raise AssertionError(f"{failure}: {running.finish(10)}") from failure
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
                self.assertIn(" over rdma rxe0/1 ", done.err)
                self.assertIn("so there are only", done.err)

    def test_little_is_made_do_with_in_a_rootless_container(self):
        for transport in ("rdma", "auto"):
            with self.subTest(transport):
                done = self.limited_copy(1024, "--transport", transport, container=["unshare", "-Ur"])
                self.assertEqual(done.status, EXIT_OK, done)
                self.assertIn(" over rdma rxe0/1 ", done.err)
                self.assertIn("so there are only", done.err)

    def test_memory_is_left_to_compress(self):
        # Four slots, and nothing for what is compressed, would fit.
        done = self.limited_copy(5120, "--transport", "rdma", "--streams", "1", "--compress")
        self.assertEqual(done.status, EXIT_OK, done)
        self.assertIn("so there are only 1 stream of", done.err)
        self.assertRegex(done.err, r"compressed .* \(\d{3,}\.\d+ : 1\)")

    def test_what_takes_the_place_of_a_lost_stream_may_lock_too_little(self):
        limits = {}  # by process, with what it had locked

        def agents_of(running: Running) -> list[int]:
            """Both agents of this copy: the one of an earlier test may not have gone yet."""
            pids = [running.pid, *children_of(running.pid)]
            return [pid for pid in pids if Path(f"/proc/{pid}/comm").read_text() == "rdcp\n"]

        def pinned_kib(pid: int) -> int:
            pinned = re.search(r"^VmPin:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.M)
            return int(pinned[1]) if pinned else 0  # a process that has just ended has no memory

        def arenas_on(device: str) -> int:
            """How many streams have their slots registered there. How many slots that are depends on the round-trip time."""
            shown = subprocess.run(["rdma", "resource", "show", "mr", "dev", device], capture_output=True, text=True, check=True)
            return sum(int(size) >= 4 * SLOT_KIB * KIB for size in re.findall(r"mrlen (\d+)", shown.stdout))

        def lose_one(running: Running):
            """Half of what is locked is given back; queues have room above that, slots have not."""
            def both_are_up() -> bool:
                return all(arenas_on(device) == 2 for device in ("rxe0", "rxe1")) or running.process.poll() is not None

            self.assertTrue(wait_for(both_are_up, 60), "the streams do not come up")
            self.assertIsNone(running.process.poll(), "the copy is over too soon")
            for pid in agents_of(running):
                pinned = pinned_kib(pid)
                limit = (pinned // 2 + QUEUES_KIB) * KIB
                limits[pid] = f"{pinned} kB locked, then limited to {limit // KIB} kB"
                subprocess.run(["prlimit", "--pid", str(pid), f"--memlock={limit}:{limit}"], check=True)
            deleting = subprocess.Popen(["rdma", "link", "delete", "rxe1"])
            self.addCleanup(subprocess.run, ["rdma", "link", "add", "rxe1", "type", "rxe", "netdev", "rail1"], check=True)
            self.addCleanup(deleting.wait, 60)
            self.assertIsNone(running.process.poll())

        # No other stream is tried for when the copy ends, because then there is memory again.
        words = ("--streams", "2", "--chunk-size", f"{SLOT_KIB}K", "--bwlimit", "500k", "--retry-time", "3")
        done = self.limited_copy(64 * KIB, "--transport", "rdma", *words, meanwhile=lose_one)
        self.assertEqual(done.status, EXIT_OK, done)
        lost = [line for line in done.err.splitlines() if "was lost" in line]
        self.assertEqual(len(lost), 1, done)
        self.assertRegex(lost[0], "rxe1/1 .* was lost: .*; its chunks went over the others", limits)
        self.assertNotRegex(done.err, "stream [^01] over")  # tries that failed


class RefusedMemory(VmCopyTest):
    """A device that registers less than the limit allows: the streams are made, and then carry nothing."""

    def copied(self, *options, here: dict[str, str]):
        file = self.make_file(self.source / "file", 6 * MIB + 1)
        done = self.rdcp("-v", *options, file, f"dest:{self.target}/copy", env={**os.environ, **here})
        if done.status == EXIT_OK:
            self.assert_same_file(file, self.target / "copy")
        return done

    def assert_tcp(self, done):
        self.assertEqual(done.status, EXIT_OK, done)
        self.assertIn("RDMA was given up for TCP: it carried nothing", done.err)
        self.assertIn(" over tcp ", done.err)

    def test_tcp_where_this_host_cannot_register(self):
        done = self.copied("--transport", "auto", here=preloaded("refuse_memory"))
        self.assert_tcp(done)
        self.assertRegex(done.err, r"was lost: register \d+ MiB with RDMA device rxe\d: not enough memory may be locked")

    def test_tcp_where_the_other_host_cannot(self):
        far = self.far_rdcp("refusing", preloaded("refuse_memory"))
        self.assert_tcp(self.copied("--transport", "auto", "--rdcp-path", far, here={}))

    def test_no_tcp_where_rdma_is_asked_for(self):
        done = self.copied("--transport", "rdma", "--retry-time", "2", here=preloaded("refuse_memory"))
        self.assertEqual(done.status, EXIT_DATA, done)
        self.assertIn("not enough memory may be locked", done.err)
        self.assertFalse((self.target / "copy").exists())


if __name__ == "__main__":
    unittest.main()
