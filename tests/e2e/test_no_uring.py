"""Where io_uring is forbidden, as in most containers, the thread pool does the work and says so."""

import subprocess
import unittest

from harness import BUILD, CHUNK, RDCP, CopyTest


class NoUring(CopyTest):
    def setUp(self):
        super().setUp()
        self.forbid = BUILD / "no_uring"
        self.assertTrue(self.forbid.exists(), f"{self.forbid} is not built")
        self.agent = self.disk / "rdcp-there"
        self.agent.write_text(f"#!/bin/sh\nexec {self.forbid} {RDCP} \"$@\"\n")
        self.agent.chmod(0o755)
        self.tree = self.source / "tree"
        self.tree.mkdir()
        self.make_file(self.tree / "large", 20 * CHUNK + 5)
        for i in range(50):
            self.make_file(self.tree / f"small-{i}", 1000, seed=i)

    def check(self, source: str, target: str, *options):
        command = [self.forbid, *self.command("-r", "-v", "--rdcp-path", self.agent, *options,
                                              f"{source}{self.tree}", f"{target}{self.target}/copy")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("thread pool", done.stderr)
        self.assertNotIn("files by io_uring", done.stderr)
        self.assert_same_tree(self.tree, self.target / "copy")

    def test_to_remote(self):
        self.check("", "dest:")

    def test_from_remote(self):
        self.check("dest:", "", "--cache", "bypass")

    def test_it_cannot_be_forced(self):
        done = subprocess.run([self.forbid, *self.command("--ring", "io_uring", self.tree / "large", self.target)],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("io_uring", done.stderr)


if __name__ == "__main__":
    unittest.main()
