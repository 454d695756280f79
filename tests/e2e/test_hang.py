"""A peer that hangs ends the run within a bounded time. Slow by nature, so in a file of its own."""

import os
import signal
import subprocess
import unittest

from harness import (EXIT_DATA, EXIT_HOST, MIB, OPTIONS, RDCP, CopyTest, LocalSshd, Running, agents_of, needs_root,
                     remote_agents, wait_for)
from network import NEAR_DEVICE, second_network
from test_lost_streams import Cutting

IDLE_LIMIT = 35  # the promise is 30 s; the rest is for a busy machine


class Hanging(CopyTest):
    def check(self, source: str, target: str):
        file = self.make_file(self.source / "file", 60 * MIB)
        running = self.start("--bwlimit", "20MiB", f"{source}{file}", f"{target}{self.target}/copy")
        agents = wait_for(remote_agents, 20)
        self.assertTrue(agents)
        wait_for(lambda: any(self.target.iterdir()), 1)
        os.kill(agents[0], signal.SIGSTOP)
        try:
            done = running.finish(IDLE_LIMIT + 10)
        finally:
            for pid in agents:
                os.kill(pid, signal.SIGCONT)
        self.assertEqual(done.status, EXIT_DATA, done)
        self.assertLess(done.seconds, IDLE_LIMIT, done)
        self.assertIn("dest", done.err)
        self.assertFalse((self.target / "copy").exists())
        self.assert_nothing_lives(running, 10)
        self.assert_no_litter(self.target, cut_short=True)

    def test_a_stopped_target(self):
        self.check("", "dest:")

    def test_a_stopped_source(self):
        self.check("dest:", "")

    def test_an_agent_that_never_speaks(self):
        silent = self.disk / "silent"
        silent.write_text("#!/bin/sh\nexec sleep 300\n")
        silent.chmod(0o755)
        file = self.make_file(self.source / "file", 10)
        running = self.start("--rdcp-path", silent, file, f"dest:{self.target}")
        done = running.finish(90)
        self.assertEqual(done.status, EXIT_HOST, done)
        self.assertIn("dest", done.err)


@needs_root  # some kernels let nobody else put a filter before a socket
class SilentStream(Cutting):
    """One connection through which nothing comes any more, while the others live."""

    def check(self, *words, **options):
        done = self.copy_cut(1, *words, self.tree, f"dest:{self.target}/tree", **options)
        self.assertLess(done.seconds, IDLE_LIMIT)
        self.assert_same_tree(self.tree, self.target / "tree")

    def test_the_target_hears_nothing(self):
        self.check("--rdcp-path", self.agent(1, 5, RDCP_CUT_SILENTLY=1))

    def test_the_source_hears_nothing(self):
        self.check(env={**self.environment(1, 5), "RDCP_CUT_SILENTLY": "1"})


class CutNetwork(CopyTest):
    @needs_root
    def test_a_network_that_is_cut(self):
        keys = self.disk / "ssh"
        keys.mkdir()
        with second_network() as (address, inside), LocalSshd(keys, address, 2222, inside) as sshd:
            file = self.make_file(self.source / "file", 60 * MIB)
            running = Running([RDCP, "-F", sshd.config, "--rdcp-path", RDCP, *OPTIONS, "--bwlimit", "5MiB", file,
                               f"dest:{self.target}/copy"])
            self.assertTrue(wait_for(lambda: agents_of(sshd), 20))
            wait_for(lambda: any(self.target.iterdir()), 1)
            subprocess.run(["ip", "link", "set", NEAR_DEVICE, "down"], check=True)
            done = running.finish(IDLE_LIMIT + 10)
            self.assertEqual(done.status, EXIT_DATA, done)
            self.assertLess(done.seconds, IDLE_LIMIT, done)
            self.assertNotEqual(done.err, "")
            self.assertIsNotNone(wait_for(lambda: not agents_of(sshd), IDLE_LIMIT), "the far agent lives on")
        self.assertFalse((self.target / "copy").exists())
        self.assert_no_litter(self.target, cut_short=True)


if __name__ == "__main__":
    unittest.main()
