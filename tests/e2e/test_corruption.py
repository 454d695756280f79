"""Bits that flip on the way: sent again, or exit 5; never a wrong file under its final name."""

import os
import subprocess
import unittest

from harness import BUILD, CHUNK, EXIT_DIGEST, RDCP, CopyTest


class Corruption(CopyTest):
    def setUp(self):
        super().setUp()
        self.shim, self.log = BUILD / "libcorrupt.so", self.disk / "flips"
        self.assertTrue(self.shim.exists(), f"{self.shim} is not built")
        self.tree = self.source / "tree"
        self.tree.mkdir()
        self.make_file(self.tree / "large", 40 * CHUNK + 5)
        for i in range(100):
            self.make_file(self.tree / f"small-{i}", 3000, seed=i)

    def command(self, *words) -> list[str]:
        return super().command("--transport", "tcp", *words)  # the shim damages what goes through sockets

    def environment(self, times: int) -> dict:
        return {**os.environ, "LD_PRELOAD": str(self.shim), "RDCP_CORRUPT_TIMES": str(times),
                "RDCP_CORRUPT_LOG": str(self.log)}

    def agent(self, times: int):
        """An rdcp for the far side that has the shim in it."""
        wrapper = self.disk / f"rdcp-{times}"
        words = " ".join(f"{name}='{self.environment(times)[name]}'"
                         for name in ("LD_PRELOAD", "RDCP_CORRUPT_TIMES", "RDCP_CORRUPT_LOG"))
        wrapper.write_text(f"#!/bin/sh\n{words} exec {RDCP} \"$@\"\n")
        wrapper.chmod(0o755)
        return wrapper

    def flips(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def require_shim(self):
        if b"AddressSanitizer" in subprocess.run(["strings", RDCP], capture_output=True, check=False).stdout:
            self.skipTest("sanitizers must be preloaded first")

    def test_a_flipped_bit_is_sent_again(self):
        self.require_shim()
        for times in (1, 2):
            self.log.unlink(missing_ok=True)
            done = self.copy("-r", "-v", "--chunk-size", "64K", self.tree, f"dest:{self.target}/{times}",
                             env=self.environment(times))
            self.assertEqual(self.flips(), times)
            self.assert_same_tree(self.tree, self.target / str(times))
            self.assertIn("sent again", done.err)

    def test_a_flipped_bit_on_the_way_here(self):
        self.require_shim()
        # Two at most: of three tries one is right then, though both hit the same chunk.
        self.copy("-r", "--chunk-size", "64K", "--rdcp-path", self.agent(2), f"dest:{self.tree}", self.target / "back")
        self.assertEqual(self.flips(), 2)
        self.assert_same_tree(self.tree, self.target / "back")

    def test_bad_memory_ends_the_run(self):
        self.require_shim()
        old = self.make_file(self.target / "large", 10, seed=99)
        before = old.read_bytes()
        self.fails(EXIT_DIGEST, "--chunk-size", "64K", self.tree / "large", f"dest:{self.target}",
                   env=self.environment(-1))
        self.assertGreaterEqual(self.flips(), 3)
        self.assertEqual(old.read_bytes(), before)
        self.assert_no_litter(self.target)


if __name__ == "__main__":
    unittest.main()
