"""--verify: what is on the disk is what was sent, or it is written again, or the run ends with exit 5."""

import os
import subprocess
import unittest

from harness import BUILD, CHUNK, EXIT_DIGEST, MEMORY, MIB, RDCP, CopyTest, needs_root


class Verify(CopyTest):
    def make_tree(self):
        tree = self.source / "tree"
        (tree / "in/deep").mkdir(parents=True)
        for size in (0, 1, 4095, 4096, 4097, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 77, 9 * MIB + 5):
            self.make_file(tree / f"f{size}", size, seed=size + 1)
        for i in range(300):
            self.make_file(tree / f"in/deep/s{i}", i * 41, seed=i)
        os.link(tree / "in/deep/s7", tree / "linked")
        (tree / "link").symlink_to("in/deep/s8")
        for name in ("sparse-small", "sparse-large"):
            with open(tree / name, "wb") as file:
                file.truncate(100_000 if name == "sparse-small" else 5 * MIB)
                file.seek(50_000)
                file.write(b"in the middle")
        os.utime(tree / "in/deep", (1_000_000_000, 1_000_000_000))
        return tree

    def test_everything_arrives(self):
        tree, to = self.make_tree(), self.disk / "to"
        to.mkdir()
        for number, words in enumerate(((), ("--cache", "keep"), ("--cache", "bypass"), ("--ring", "threads"))):
            done = self.copy("-r", "-v", "--verify", "--chunk-size", "64K", *words, tree, f"dest:{to}/{number}")
            self.assert_same_tree(tree, to / str(number))
            self.assertIn("verified: all read back from the disk", done.err)
        done = self.copy("-r", "-v", "--verify", tree, to / "local")
        self.assert_same_tree(tree, to / "local")
        self.assertIn("verified: all read back from the disk", done.err)

    def test_memory_is_read_through_the_page_cache(self):
        tree, target = self.make_tree(), self.memory / "to"
        done = self.copy("-r", "-v", "--verify", tree, target)
        self.assert_same_tree(tree, target)
        self.assertIn("through the page cache", done.err)

    def test_what_cannot_be_verified_is_told(self):
        file = self.make_file(self.source / "f", 3 * MIB)
        done = self.copy("--verify", file, "dest:/dev/null")
        self.assertIn("warning: not verified: /dev/null", done.err)


@needs_root
class Rot(CopyTest):
    """A disk that does not keep what was written: an ext4 image whose bits flip beneath the filesystem."""

    def setUp(self):
        super().setUp()
        self.shim, self.log = BUILD / "librot.so", self.disk / "rotten"
        self.assertTrue(self.shim.exists(), f"{self.shim} is not built")
        if b"AddressSanitizer" in subprocess.run(["strings", RDCP], capture_output=True, check=False).stdout:
            self.skipTest("sanitizers must be preloaded first")
        self.image, self.mounted = self.disk / "image", self.disk / "mounted"
        with open(self.image, "wb") as file:
            file.truncate(100 * MIB)
        subprocess.run(["mkfs.ext4", "-q", "-b", "4096", self.image], check=True)
        self.mounted.mkdir()
        done = subprocess.run(["mount", "-o", "loop", self.image, self.mounted], capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            self.skipTest(f"no loop mount here: {done.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", self.mounted], check=False)
        self.small = self.source / "small"
        self.small.mkdir()
        for i in range(200):
            self.make_file(self.small / f"s{i}", 3000 + i, seed=i)
        self.large = self.make_file(self.source / "large", 20 * CHUNK + 5)

    def rot(self, times: int) -> dict:
        self.log.unlink(missing_ok=True)
        return {**os.environ, "LD_PRELOAD": str(self.shim), "RDCP_ROT_TIMES": str(times),
                "RDCP_ROT_IMAGE": str(self.image), "RDCP_ROT_LOG": str(self.log)}

    def rotten(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def drop_caches(self):
        subprocess.run(["sync", "-f", self.mounted], check=True)
        with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
            file.write("1")

    # The shim sees pwrite(2), which the thread pool calls.
    WORDS = ("-r", "--chunk-size", "64K", "--ring", "threads", "--transport", "tcp")

    def test_without_verify_nobody_notices(self):
        """So what the other tests find is found by --verify, and lies beneath the page cache."""
        self.copy(*self.WORDS, "--cache", "keep", self.large, self.mounted / "to", env=self.rot(1))
        self.assertEqual(self.rotten(), 1)
        self.assert_same_file(self.large, self.mounted / "to")
        self.drop_caches()
        self.assertNotEqual(self.large.read_bytes(), (self.mounted / "to").read_bytes())

    def test_a_rotten_bit_is_written_again(self):
        for source in (self.small, self.large):
            for cache in ("auto", "keep"):
                for times in (1, 2):
                    with self.subTest(source=source.name, cache=cache, times=times):
                        to = self.mounted / f"{source.name}-{cache}-{times}"
                        done = self.copy(*self.WORDS, "--verify", "--cache", cache, source, to, env=self.rot(times))
                        self.assertEqual(self.rotten(), times)
                        self.assertIn("read back from the disk other than written", done.err)
                        self.drop_caches()
                        self.assert_same_tree(source, to)

    def test_a_disk_that_keeps_nothing_ends_the_run(self):
        for source, name in ((self.small, "s0"), (self.large, "large")):
            with self.subTest(source=source.name):
                target = self.mounted / source.name
                target.mkdir()
                old = self.make_file(target / name, 10, seed=99)
                before = old.read_bytes()
                where = f"{source}/" if source.is_dir() else source
                self.fails(EXIT_DIGEST, *self.WORDS, "--streams", "1", "--verify", where, target, env=self.rot(-1),
                           says=("not on the target's disk",))
                self.assertGreaterEqual(self.rotten(), 3)
                self.assertEqual(old.read_bytes(), before)
                self.assert_no_litter(target)


if __name__ == "__main__":
    unittest.main()
