"""What tests of copies to several hosts have in common (scripts/lib/fleet.py)."""

import os
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import EXIT_FILES, MIB, CopyTest, make_file, wait_for
from snapshot import differences, snapshot

from fleet import Fleet, why_no_fleet  # in scripts/lib, as harness has it

JOURNAL_OF_SOME_CHUNKS = 700  # bytes


class FleetTest(CopyTest):
    """Copies to hosts of which each sees another folder at `self.fleet.data`. A test case says how rdcp is called there
    (command), and with `self.to` what DST is at all of them."""

    HOSTS = 4
    SSHDS = None  # all of them have one

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if why := why_no_fleet():
            raise unittest.SkipTest(why)
        cls.place = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="rdcp-fleet-", dir="/var/tmp")))
        cls.place.chmod(0o755)
        folder = cls.place / "fleet"
        folder.mkdir()
        cls.fleet = cls.enterClassContext(Fleet(folder, cls.HOSTS, sshds=cls.SSHDS))

    def setUp(self):
        super().setUp()
        for host in self.fleet.hosts:
            host.join()
            subprocess.run(["sh", "-c", 'rm -rf "$1"/* "$1"/.[!.]*', "sh", str(host.own)], check=True)

    def tree(self, large: int = 3 * MIB + 77) -> Path:
        tree = self.disk / "tree"
        (tree / "sub" / "empty").mkdir(parents=True)
        for i in range(200):
            (tree / "sub" / f"small-{i}").write_bytes(bytes([i]) * (i * 50))
        make_file(tree / "large", large)
        make_file(tree / "sub" / "other", 2 * MIB, 9)
        (tree / "link").symlink_to("sub/small-7")
        os.link(tree / "sub" / "small-9", tree / "linked")
        return tree

    def assert_have(self, tree: Path, *numbers: int, name: str = "copy"):
        for number in numbers:
            lines = differences(snapshot(tree), snapshot(self.fleet[number].own / name), ())
            self.assertEqual(lines, [], f"h{number}")

    def assert_no_agents(self):
        for host in self.fleet.hosts:
            self.assertTrue(wait_for(lambda host=host: not host.agents(), 20), f"{host.name}: {host.agents()}")

    def slow_copy(self, *words, to: str = "", fanout: int = 1):
        """A copy of a tree to `self.to`, or to these hosts, that takes some seconds; begun, and with bytes at the last host.
        Who passes on to whom is not left to what a busy machine takes for a round trip."""
        tree = self.tree(24 * MIB)
        running = self.start("--bwlimit", "8M", "--fanout", fanout, "-r", f"{tree}/", to or self.to, *words)
        last = self.fleet[self.HOSTS].own

        def has_begun():
            return any(path.stat().st_size > JOURNAL_OF_SOME_CHUNKS for path in last.rglob("*.journal"))

        self.assertTrue(wait_for(has_begun, 30), "the last host gets nothing")
        return tree, running

    def assert_one_that_dies_is_left_out(self, to: str):
        tree, running = self.slow_copy(to=to)
        for pid in self.fleet[2].agents():
            os.kill(pid, signal.SIGKILL)
        done = running.finish(120)
        self.assertEqual(done.status, EXIT_FILES, done)
        self.assertIn(f"{self.HOSTS - 1} of {self.HOSTS} hosts have all", done.err)
        self.assert_have(tree, *(number for number in range(1, self.HOSTS + 1) if number != 2))
        self.assert_no_agents()
