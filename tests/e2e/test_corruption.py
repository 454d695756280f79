"""Bits that flip on the way: sent again, or exit 5; never a wrong file under its final name."""

import os
import unittest

from harness import CHUNK, EXIT_DIGEST, CopyTest, preloaded


class Corruption(CopyTest):
    def setUp(self):
        super().setUp()
        self.log = self.disk / "flips"
        self.tree = self.source / "tree"
        self.tree.mkdir()
        self.make_file(self.tree / "large", 40 * CHUNK + 5)
        for i in range(100):
            self.make_file(self.tree / f"small-{i}", 3000, seed=i)

    def command(self, *words) -> list[str]:
        return super().command("--transport", "tcp", *words)  # the shim damages what goes through sockets

    def settings(self, times: int) -> dict:
        return preloaded("corrupt", RDCP_CORRUPT_TIMES=times, RDCP_CORRUPT_LOG=self.log)

    def environment(self, times: int) -> dict:
        return {**os.environ, **self.settings(times)}

    def agent(self, times: int):
        """An rdcp for the far side that has the shim in it."""
        return self.far_rdcp(f"rdcp-{times}", self.settings(times))

    def flips(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def test_a_flipped_bit_is_sent_again(self):
        for times in (1, 2):
            self.log.unlink(missing_ok=True)
            done = self.copy("-r", "-v", "--chunk-size", "64K", self.tree, f"dest:{self.target}/{times}",
                             env=self.environment(times))
            self.assertEqual(self.flips(), times)
            self.assert_same_tree(self.tree, self.target / str(times))
            self.assertIn("sent again", done.err)

    def test_a_flipped_bit_on_the_way_here(self):
        # Two at most: of three tries one is right then, though both hit the same chunk.
        self.copy("-r", "--chunk-size", "64K", "--rdcp-path", self.agent(2), f"dest:{self.tree}", self.target / "back")
        self.assertEqual(self.flips(), 2)
        self.assert_same_tree(self.tree, self.target / "back")

    def test_bad_memory_ends_the_run(self):
        old = self.make_file(self.target / "large", 10, seed=99)
        before = old.read_bytes()
        self.fails(EXIT_DIGEST, "--chunk-size", "64K", self.tree / "large", f"dest:{self.target}",
                   env=self.environment(-1))
        self.assertGreaterEqual(self.flips(), 3)
        self.assertEqual(old.read_bytes(), before)
        self.assert_no_litter(self.target)

    def test_the_same_command_goes_on_where_it_began(self):
        """A run that failed has made DST. It is not for that the directory that the next run copies SRC into."""
        words = "-r", "--chunk-size", "64K", self.tree, f"dest:{self.target}/new"
        self.fails(EXIT_DIGEST, *words, env=self.environment(-1))
        self.copy(*words)
        self.assert_same_tree(self.tree, self.target / "new")
        self.assert_no_litter(self.target)


if __name__ == "__main__":
    unittest.main()
