"""--compress=auto over RDMA: it compresses where the cables between two hosts are slower than the compressor, and not where
they are faster. Within the VM."""

import json
import os
import random
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from bed import SSH
from copying import VmCopyTest  # puts the harness on the path
from harness import EXIT_OK, MEMORY, MIB, Running, preloaded

# A stream with few slots: what is under way when the link has been judged was sent as it is.
FEW_SLOTS = ["prlimit", f"--memlock={MIB}:{MIB}", "setpriv", "--bounding-set", "-ipc_lock"]
STREAM = ["--transport", "rdma", "--via", "rxe0", "--streams", "1", "--chunk-size", "64K"]
# A twentieth of what the slowest machines got through it unlimited, so that the compressor, emulated, is faster, also
# where other tests take its processor.
SLOW = "8mbit"


def make_text(path: Path, size: int) -> Path:
    """Words as of a book: zstd makes it 2.5 times as short, and works for it."""
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9))) for _ in range(2000)]
    page = " ".join(chance.choices(words, k=200_000)).encode()[:MIB]
    path.write_bytes(page * (size // MIB))
    return path


class TwoHosts(VmCopyTest):
    hosts = 2

    def setUp(self):
        super().setUp()
        folder = Path(tempfile.mkdtemp(dir=MEMORY))
        self.addCleanup(shutil.rmtree, folder)
        self.text_in = folder

    def ratio(self, size: int, *options, here: dict[str, str] | None = None) -> float:
        """How many times as short as the text what went over the cable was. It goes into the far host's memory."""
        file, copy = make_text(self.text_in / "text", size), f"{MEMORY}/copy"
        command = self.command("-v", "--json", *STREAM, *options, file, f"dest:{copy}")
        running = Running([*FEW_SLOTS, *command], cwd=self.disk, env={**os.environ, **(here or {})})
        self.addCleanup(running.kill)
        done = running.finish(60)
        self.assertEqual(done.status, EXIT_OK, done)
        self.text(*SSH, f"cat {copy} > {self.target}/copy; rm {copy}")
        self.assert_same_file(file, self.target / "copy")
        self.assertIn(" over rdma rxe0/1 ", done.err)
        self.assertIn("rdcp: compressed ", done.err)
        said = json.loads(done.out)
        return said["raw_bytes"] / said["packed_bytes"]

    def slow_down(self):
        # The queue is as long as all that can be under way: what is dropped is sent again only after a while.
        subprocess.run(["tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", SLOW, "burst", "64kb", "limit",
                        "4mb"], check=True)
        self.addCleanup(subprocess.run, ["tc", "qdisc", "del", "dev", "eth0", "root"], check=True)

    def test_a_slow_link_carries_what_was_compressed(self):
        self.slow_down()
        for options in (["--compress=auto"], ["--compress=auto", "--encrypt"]):
            with self.subTest(options):
                # The first MiB or two go as they are: until the link was judged, and again if its first burst made it
                # look faster than it is. Where other tests take the compressor's processor, six MiB did.
                self.assertGreater(self.ratio(24 * MIB, *options), 1.5)

    def test_a_fast_one_does_not(self):
        # Both hosts are emulated: where other tests take the far one's processor, the cable is slow in truth.
        self.assertLess(self.ratio(32 * MIB, "--compress=auto", here=preloaded("slow_compressor")), 1.3)


if __name__ == "__main__":
    unittest.main()
