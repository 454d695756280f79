"""A path of many milliseconds that loses packets: the connections change to a congestion control that does not take each loss
for a full queue, unless the user has chosen one."""

import tempfile
import unittest
from pathlib import Path

from harness import BUILD, MIB, RDCP, CopyTest, make_file, needs_root

from long_path import Way, long_path, why_no_long_path  # in scripts/lib, as harness has it
from sshd import LocalSshd

SSH_PORT = 2222
# One connection of cubic carries about 0.5 MB/s over it, bbr many times that.
WAY = Way(delay_ms=15, loss=0.01)
SIZE = 6 * MIB
CHANGED = "by bbr because packets are lost on the way"


def has_bbr() -> bool:
    names = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    return "bbr" in names.read_text().split()


@needs_root
class LongPath(CopyTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if why := why_no_long_path():
            raise unittest.SkipTest(why)
        path = cls.enterClassContext(long_path(BUILD / "long_path", WAY))
        keys = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="rdcp-keys-")))
        cls.far = cls.enterClassContext(LocalSshd(keys, path.address, port=SSH_PORT, inside=path.inside))

    def command(self, *words) -> list[str]:
        return [str(RDCP), "-F", str(self.far.config), "--rdcp-path", str(RDCP), *map(str, words)]

    def copied(self, *options):
        file = make_file(self.disk / "file", SIZE)
        done = self.copy("-v", "--streams", "1", *options, file, f"dest:{self.target}/copy", timeout=300)
        self.assert_same_file(file, self.target / "copy")
        return done.err

    def test_a_connection_changes_to_bbr(self):
        if not has_bbr():
            self.skipTest("this kernel has no bbr loaded")
        self.assertRegex(self.copied(), rf"1 stream over tcp 10\S+ -> 10\S+, {CHANGED}")

    def test_what_the_user_has_chosen_stays(self):
        self.assertNotIn("bbr", self.copied("--congestion", "cubic"))

    def test_a_long_path_has_more_connections(self):
        file = make_file(self.disk / "file", MIB)
        done = self.copy("-v", file, f"dest:{self.target}/copy")
        self.assertRegex(done.err, "rdcp: 1[56] streams")  # for 30 ms, or a little more, of 1.25 GB/s: 2.5 MB each

    def test_a_pipe_has_more_connections(self):
        """Fewer than a file, because the bytes of each wait for those of the others."""
        file = make_file(self.disk / "file", 3 * MIB + 5)
        done = self.copy("-v", "-", f"dest:{self.target}/copy", stdin=file.read_bytes())
        self.assertIn("rdcp: 4 streams", done.err)
        self.assert_same_file(file, self.target / "copy")


if __name__ == "__main__":
    unittest.main()
