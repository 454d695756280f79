"""--compress over links of 1 and 10 Gbit/s (tc tbf on a veth pair): what goes over them, counted by the links themselves."""

import random
import shutil
import tempfile
import unittest
from pathlib import Path

from harness import CHUNK, MIB, CopyTest, needs_root

from network import FAR_DEVICE, device_bytes, rate_limit, second_network, slow_link, why_no_network  # in scripts/lib, as harness has it
from sshd import LocalSshd


class Link:
    RATE = ""

    @classmethod
    def setUpClass(cls):
        if why := why_no_network(*rate_limit("lo", cls.RATE)):
            raise unittest.SkipTest(why)
        folder = Path(tempfile.mkdtemp(prefix="rdcp-slow-"))
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        address, cls.inside = cls.enterClassContext(second_network())
        slow_link(cls.inside, cls.RATE)
        cls.sshd = cls.enterClassContext(LocalSshd(folder, address, port=2222, inside=cls.inside))

    def link_bytes(self) -> int:
        """Returns how many bytes have arrived on the other side."""
        return device_bytes(FAR_DEVICE, self.inside)[0]

    def text(self, size: int) -> Path:
        """Half of it repeats."""
        path = self.make_file(self.source / "text", size // 2)
        with open(path, "ab") as file:
            file.write(b"the quick brown fox jumps over the lazy dog\n" * (size // 2 // 44))
        # By pieces, so that every chunk has something of both.
        noise, words = path.read_bytes()[:size // 2], path.read_bytes()[size // 2:]
        piece = CHUNK // 2
        path.write_bytes(b"".join(noise[i:i + piece] + words[i:i + piece] for i in range(0, size // 2, piece)))
        return path

    def sent(self, file: Path, *options) -> tuple[int, str]:
        before = self.link_bytes()
        done = self.copy("-v", "--transport", "tcp", *options, file, f"dest:{self.target}/copy")
        self.assert_same_file(file, self.target / "copy")
        return self.link_bytes() - before, done.err

    def test_a_link_carries_what_was_compressed(self):
        file = self.text(48 * MIB)
        size = file.stat().st_size
        plain, said = self.sent(file)
        self.assertGreater(plain, size)
        self.assertNotIn("compressed", said)
        for options in (("--compress=1",), ("--compress=1", "--encrypt")):
            packed, said = self.sent(file, *options)
            self.assertLess(packed, 0.62 * plain, said)
            self.assertRegex(said, r"compressed .* \((1\.[89]|2\.0)\d? : 1\)")

    def test_auto_leaves_noise_alone(self):
        file = self.make_file(self.source / "noise", 64 * MIB)
        plain, _ = self.sent(file)
        packed, said = self.sent(file, "--compress=auto")
        self.assertLess(packed, 1.02 * plain, said)
        self.assertRegex(said, r"compressed .* \(1\.00 : 1\)")


@needs_root
class OneGigabit(Link, CopyTest):
    RATE = "1gbit"

    def test_auto_notices_that_the_link_is_slow(self):
        file = self.text(160 * MIB)
        plain, _ = self.sent(file)
        packed, said = self.sent(file, "--compress=auto")
        self.assertLess(packed, 0.75 * plain, said)


@needs_root
class TenGigabits(Link, CopyTest):
    RATE = "10gbit"


class FastLink(CopyTest):
    """Without a processor to spare, the receiver's idle windows look as a slow network does, so packing is tried."""

    def words(self, size: int) -> Path:
        """As of a book: zstd makes it 2.5 times as short, and works for it."""
        chance = random.Random(1)
        words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9))) for _ in range(2000)]
        page = " ".join(chance.choices(words, k=200_000)).encode()[:MIB]
        file = self.source / "words"
        file.write_bytes(page * (size // MIB))
        return file

    def test_auto_does_not_keep_up_what_makes_a_copy_slower(self):
        file = self.words(512 * MIB)
        done = self.copy("-v", "--transport", "tcp", "--compress=auto", file, f"dest:{self.target}")
        said = next(line for line in done.err.splitlines() if "compressed" in line)
        self.assertRegex(said, r"\(1\.[0-4]\d : 1\)")


if __name__ == "__main__":
    unittest.main()
