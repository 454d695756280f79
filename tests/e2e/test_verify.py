"""--verify: what is on the disk is what was sent, or it is written again, or the run ends with exit 5."""

import fcntl
import os
import re
import shutil
import struct
import subprocess
import unittest
from pathlib import Path

from harness import CHUNK, EXIT_DIGEST, MIB, CopyTest, needs_root, preloaded


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
            self.assertIn("verified: everything was read back from the disk", done.err)
        done = self.copy("-r", "-v", "--verify", tree, to / "local")
        self.assert_same_tree(tree, to / "local")
        self.assertIn("verified: everything was read back from the disk", done.err)

    def test_memory_is_read_through_the_page_cache(self):
        tree, target = self.make_tree(), self.memory / "to"
        done = self.copy("-r", "-v", "--verify", tree, target)
        self.assert_same_tree(tree, target)
        self.assertIn("through the page cache", done.err)

    def test_a_mirror_keeps_what_it_does_not_send(self):
        if b"--sync" not in self.rdcp("--help").out:
            self.skipTest("this rdcp makes no mirrors")
        tree, to = self.make_tree(), self.disk / "to"
        self.copy("--sync", "-r", "--verify", f"{tree}/", f"dest:{to}")
        self.assert_same_tree(tree, to)
        for path in tree.rglob("*"):
            if path.is_file() and not path.is_symlink():
                path.chmod(0o640)
        self.make_file(tree / "in/deep/s3", 5000, seed=77)
        self.copy("--sync", "-r", "--verify", f"{tree}/", f"dest:{to}")
        self.assert_same_tree(tree, to)

    def test_what_cannot_be_verified_is_told(self):
        file = self.make_file(self.source / "f", 3 * MIB)
        done = self.copy("--verify", file, "dest:/dev/null")
        self.assertIn("warning: not verified: /dev/null", done.err)


@needs_root
class Rot(CopyTest):
    """A disk that does not keep what was written: an ext4 image whose bits flip beneath the filesystem."""

    def setUp(self):
        super().setUp()
        self.log = self.disk / "rotten"
        self.image, self.mounted = self.disk / "image", self.disk / "mounted"
        with open(self.image, "wb") as file:
            file.truncate(100 * MIB)
        subprocess.run(["mkfs.ext4", "-q", "-b", "4096", self.image], check=True)
        self.mounted.mkdir()
        self.mount()
        self.addCleanup(subprocess.run, ["umount", "-l", self.mounted], check=False)
        self.small = self.source / "small"
        self.small.mkdir()
        for i in range(200):
            self.make_file(self.small / f"s{i}", 3000 + i, seed=i)
        self.large = self.make_file(self.source / "large", 20 * CHUNK + 5)

    def mount(self):
        done = subprocess.run(["mount", "-o", "loop", self.image, self.mounted], capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            self.skipTest(f"no loop mount here: {done.stderr.strip()}")

    def rot(self, times: int) -> dict:
        self.log.unlink(missing_ok=True)
        return {**os.environ, **preloaded("rot", RDCP_ROT_TIMES=times, RDCP_ROT_IMAGE=self.image, RDCP_ROT_LOG=self.log)}

    def rotten(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def forget_pages(self):
        """What is read next comes from the disk; the pages of other tests, which run meanwhile, stay."""
        subprocess.run(["sync", "-f", self.mounted], check=True)
        for path in filter(Path.is_file, self.mounted.rglob("*")):
            with open(path, "rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def flip_on_disk(self, path: Path, at: int):
        """One bit of what the disk has of a file; its pages in memory, all of them, stay right."""
        fs_ioc_fiemap, flag_sync = 0xC020660B, 1
        before = path.read_bytes()
        with open(path, "rb") as file:
            room = bytearray(struct.pack("=QQLLLL", at, 1, flag_sync, 0, 1, 0) + bytes(56))
            fcntl.ioctl(file, fs_ioc_fiemap, room)
        logical, physical = struct.unpack_from("=QQ", room, 32)
        with open(self.image, "r+b") as image:
            image.seek(physical + at - logical)
            byte = image.read(1)
            self.assertEqual(byte[0], before[at])
            image.seek(physical + at - logical)
            image.write(bytes([byte[0] ^ 1]))
        self.assertEqual(path.read_bytes(), before)

    # The shim sees pwrite(2), which the thread pool calls.
    WORDS = ("-r", "--chunk-size", "64K", "--ring", "threads", "--transport", "tcp")

    def test_without_verify_nobody_notices(self):
        """So what the other tests find is found by --verify, and lies beneath the page cache."""
        self.copy(*self.WORDS, "--cache", "keep", self.large, self.mounted / "to", env=self.rot(1))
        self.assertEqual(self.rotten(), 1)
        self.assert_same_file(self.large, self.mounted / "to")
        self.forget_pages()
        self.assertNotEqual(self.large.read_bytes(), (self.mounted / "to").read_bytes())

    def test_a_rotten_bit_is_written_again(self):
        for source in (self.small, self.large):
            for cache in ("auto", "keep"):
                for times in (1, 2):
                    with self.subTest(source=source.name, cache=cache, times=times):
                        to = self.mounted / f"{source.name}-{cache}-{times}"
                        done = self.copy(*self.WORDS, "--verify", "--cache", cache, source, to, env=self.rot(times))
                        self.assertEqual(self.rotten(), times)
                        self.assertIn("the disk does not hold what was written", done.err)
                        self.forget_pages()
                        self.assert_same_tree(source, to)

    # Where both agents are in one process nothing is taken over.

    def sent_of(self, done) -> int:
        sent = re.search(r"^rdcp: .* were there already; .* \((\d+) bytes\) were sent$", done.err, re.M)
        return int(sent[1]) if sent else self.large.stat().st_size

    def old_version(self, change) -> Path:
        """At the target, of a source that has been changed since."""
        folder = self.mounted / "delta"
        folder.mkdir(exist_ok=True)
        old = self.make_file(folder / "large", 20 * CHUNK + 777)
        os.utime(old, (1_000_000_000, 1_000_000_000))
        self.large.write_bytes(change(old.read_bytes()))
        return old

    def assert_on_disk(self, old: Path):
        self.forget_pages()
        self.assert_same_file(self.large, old)

    # The second one leaves whole spans of blocks: what is left behind the last of them would be sent at once.
    CHANGES = {"a byte": lambda old: old[:-9] + b"x" + old[-8:], "a deletion": lambda old: old[777:]}

    def test_a_rotten_bit_of_what_was_taken_over_is_sent(self):
        for name, change in self.CHANGES.items():
            for cache in ("auto", "keep", "bypass"):
                for times in (0, 1):
                    with self.subTest(name=name, cache=cache, times=times):
                        old = self.old_version(change)
                        # Over one stream what is written first is taken over.
                        done = self.copy(*self.WORDS, "-v", "--streams", "1", "--sync", "--verify",
                                         "--cache", cache, f"dest:{self.large}", old.parent, env=self.rot(times))
                        self.assertEqual(self.rotten(), times)
                        self.assertEqual("the disk does not hold what was written" in done.err, times > 0)
                        self.assertLess(self.sent_of(done), 8 * CHUNK)
                        self.assert_on_disk(old)

    def test_what_is_taken_over_and_never_right_ends_the_run(self):
        for name, change in self.CHANGES.items():
            with self.subTest(name=name):
                old = self.old_version(change)
                before = old.read_bytes()
                self.fails(EXIT_DIGEST, *self.WORDS, "--streams", "1", "--sync", "--verify", f"dest:{self.large}", old.parent,
                           env=self.rot(-1), says=("not on the target's disk",))
                self.assertEqual(old.read_bytes(), before)

    def test_a_check_past_the_page_cache_reads_the_disk(self):
        for source, rotten in ((self.small, "s7"), (self.large, "")):
            to = self.mounted / source.name
            self.copy("-r", source, to)
            subprocess.run(["sync", "-f", to], check=True)
            self.flip_on_disk(to / rotten, 100)
            for cache, wanted in (("keep", b""), ("bypass", f"content   {rotten or '.'}: first at offset 100\n".encode())):
                with self.subTest(source=source.name, cache=cache):
                    self.assertEqual(self.rdcp("--check", "--cache", cache, source, to).out, wanted)

    def test_what_stays_in_its_place_is_read_from_the_disk(self):
        for verify in ((), ("--verify",)):
            for cache in ("auto", "keep", "bypass"):
                with self.subTest(verify=verify, cache=cache):
                    old = self.old_version(self.CHANGES["a byte"])
                    self.flip_on_disk(old, 5 * CHUNK)
                    done = self.copy(*self.WORDS, "-v", "--inplace", *verify, "--cache", cache, f"dest:{self.large}", old.parent)
                    self.assertLess(self.sent_of(done), 8 * CHUNK)
                    if verify or cache == "bypass":
                        self.assert_on_disk(old)
                    else:
                        with self.assertRaises(AssertionError):
                            self.assert_on_disk(old)

    @unittest.skipUnless(shutil.which("mkfs.xfs"), "needs xfsprogs")
    def test_what_is_shared_with_the_old_file_is_read_from_the_disk(self):
        subprocess.run(["umount", self.mounted], check=True)
        with open(self.image, "wb") as file:
            file.truncate(400 * MIB)
        subprocess.run(["mkfs.xfs", "-q", "-m", "reflink=1", self.image], check=True)
        self.mount()
        for rotten in (False, True):
            with self.subTest(rotten=rotten):
                old = self.old_version(self.CHANGES["a byte"])
                if rotten:
                    self.flip_on_disk(old, 5 * CHUNK)
                done = self.copy(*self.WORDS, "-v", "--sync", "--verify", f"dest:{self.large}", old.parent, env=self.rot(0))
                self.assertEqual("the disk does not hold what was written" in done.err, rotten)
                self.assertLess(self.sent_of(done), 8 * CHUNK)
                self.assert_on_disk(old)

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
                self.assert_no_litter(target, cut_short=True)


if __name__ == "__main__":
    unittest.main()
