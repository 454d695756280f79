"""A peer that hangs ends the run within a bounded time. Slow by nature, so in a file of its own."""

import os
import signal
import unittest

from harness import EXIT_DATA, EXIT_HOST, MIB, CopyTest, remote_agents, wait_for

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
        self.assert_no_litter(self.target)

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


if __name__ == "__main__":
    unittest.main()
