"""How many round trips a copy takes beyond ssh's own login, counted without a clock (lockstep.py)."""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from harness import MEMORY, RDCP, needs_root

from network import set_firewall  # in scripts/lib, as harness has it
from lockstep import LockstepPath
from long_path import why_no_long_path
from snapshot import differences, snapshot
from sshd import LocalSshd
from trees import make_file

SSH_PORT, ECHO_PORT = 2222, 2223
FILES, FILE_BYTES = 6, 1000  # which TCP's first window holds
# As ARCHITECTURE.md has it under "The wire", in a network in which nothing is closed.
ROUND_TRIPS = (["-r"], 4), (["--sync"], 4), (["--sync", "--delete"], 5)

ECHO = """\
import socket, sys
with socket.create_server((sys.argv[1], int(sys.argv[2]))) as listener:
    print(flush=True)
    while True:
        peer = listener.accept()[0]
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while word := peer.recv(1):
            peer.sendall(word)
"""
ASK = """\
import socket, sys
peer = socket.create_connection((sys.argv[1], int(sys.argv[2])))
peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # without it a second word waits for the first one's acknowledgement
for word in sys.argv[3]:
    peer.sendall(word.encode())
    if word == "a":  # what is asked for is awaited, and all before it
        while peer.recv(1) != b"a":
            pass
"""


@needs_root
class RoundTrips(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if why := why_no_long_path():
            raise unittest.SkipTest(why)
        cls.path = cls.enterClassContext(LockstepPath())
        keys = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="rdcp-keys-")))
        with cls.path.let_through():
            cls.far = cls.enterClassContext(LocalSshd(keys, cls.path.address, port=SSH_PORT, inside=cls.path.inside))
        cls.login = cls.path.steps_of(cls.far.ssh("dest", "true"))

    def folder(self) -> Path:
        # In memory: who waits for a disk sleeps, too.
        return Path(self.enterContext(tempfile.TemporaryDirectory(prefix="rdcp-turns-", dir=MEMORY)))

    def steps_of_asking(self, words: str) -> int:
        return self.path.steps_of([sys.executable, "-c", ASK, self.path.address, str(ECHO_PORT), words])

    def test_a_turn_is_what_is_sent_because_something_came(self):
        echo = [*self.path.inside, sys.executable, "-c", ECHO, self.path.address, str(ECHO_PORT)]
        with subprocess.Popen(echo, stdout=subprocess.PIPE) as server:
            self.addCleanup(server.kill)
            server.stdout.readline()
            for words, turns in ("a", 1), ("aa", 2), ("aaaaa", 5), ("bbba", 1), ("babbba", 2):
                with self.subTest(words):
                    self.assertEqual(self.steps_of_asking(words), 2 * (1 + turns))  # one for the connection
            server.kill()

    def fewest(self, copy: list[str], source: Path, target: Path, enough: float) -> float:
        """How many round trips a copy takes beyond ssh's login. On a machine so slow that rdcp's own clocks tick meanwhile
        (a beat every five seconds) it takes more than it needs to, so it has three tries."""
        fewest = float("inf")
        for _ in range(3):
            if "-r" in copy:
                shutil.rmtree(target, ignore_errors=True)
            steps = self.path.steps_of([*copy, f"{source}/", f"dest:{target}"])
            fewest = min(fewest, (steps - self.login) / 2)
            if fewest <= enough:
                break
        return fewest

    def copies(self, more: int = 0) -> list[tuple[float, float]]:
        """A first copy of a few files, then mirrors that find nothing to do: how many round trips each takes, and how many it
        may, with so many more than in a network in which nothing is closed."""
        folder = self.folder()
        source, target = folder / "few", folder / "copy"
        source.mkdir()
        for number in range(FILES):
            make_file(source / str(number), FILE_BYTES, seed=number)
        ours = [str(RDCP), "-q", "-F", str(self.far.config), "--rdcp-path", str(RDCP)]
        counted = [(self.fewest([*ours, *words], source, target, most + more), most + more) for words, most in ROUND_TRIPS]
        self.assertEqual(differences(snapshot(source), snapshot(target)), [])
        return counted

    def test_a_copy_takes_as_many_as_are_written_down(self):
        for taken, written_down in self.copies():
            self.assertEqual(taken, written_down)

    def test_a_far_host_that_lets_nothing_in_costs_five_more(self):
        """One less where a round trip takes longer than the quarter of a second after which both sides knock."""
        if not shutil.which("nft"):
            self.skipTest("no nft")
        self.addCleanup(set_firewall, self.path.inside, SSH_PORT)
        set_firewall(self.path.inside, SSH_PORT, inward=("reject with tcp reset",))
        for taken, written_down in self.copies(more=5):
            self.assertLessEqual(taken, written_down)


if __name__ == "__main__":
    unittest.main()
