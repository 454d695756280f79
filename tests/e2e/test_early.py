"""Streams that are proven without a round trip (net/crypto/early.h): what a stranger at the listener's address, and somebody
between the two, can make of them."""

import os
import socket
import threading
import unittest
from pathlib import Path

from harness import CHUNK, EXIT_DIGEST, CopyTest, preloaded
from meddler import Meddler

EARLY = b"RDCE"
EARLY_HELLO, WELCOME = 72, 32
STREAMS = 2
CONTENT = b"content that no stranger may see; "


class Stranger(Meddler):
    """Answers in the place of the listener whoever proves himself early, and passes on all others.

    answer: closes, tells (something else), or waits (for more, and says nothing)."""

    def __init__(self, port, answer: str):
        self.answer, self.heard = answer, []
        super().__init__(port)

    def _serve(self, near, far):
        if near.recv(len(EARLY), socket.MSG_PEEK | socket.MSG_WAITALL) != EARLY:
            return super()._serve(near, far)
        far.close()
        heard = near.recv(EARLY_HELLO + 1)
        self.heard.append(heard)
        if self.answer == "tells":
            near.sendall(b"HTTP/1.1 400 Bad Request\r\nServer: somebody else's\r\nConnection: close\r\n\r\n")
        while self.answer == "waits" and (more := near.recv(1 << 16)):
            self.heard.append(more)
        near.close()


class Repeater(Meddler):
    """Sends all that came for the listener over the first connection over further ones, too, as soon as it comes."""

    def __init__(self, port, times: int):
        self.times, self.answers, self.repeating = times, [], []
        super().__init__(port)

    def _carry(self, from_, to, index: int, to_listener: bool, seen: bytearray):
        if index == 0 and to_listener:
            first = from_.recv(1 << 16)
            to.sendall(first)
            seen += first
            for _ in range(self.times):
                self.repeating.append(threading.Thread(target=self._repeat, args=(first,), daemon=True))
                self.repeating[-1].start()
        super()._carry(from_, to, index, to_listener, seen)

    def _repeat(self, what: bytes):
        answer = b""
        try:
            with socket.create_connection(("127.0.0.1", self.to())) as again:
                again.settimeout(30)
                again.sendall(what)
                answer = again.recv(1 << 16)
        except OSError:
            pass
        self.answers.append(answer)


class Early(CopyTest):
    def setUp(self):
        super().setUp()
        self.ports = self.disk / "ports"
        self.tree = self.source / "tree"
        self.tree.mkdir()
        self.make_file(self.tree / "large", 20 * CHUNK + 1, seed=1)
        (self.tree / "small").write_bytes(CONTENT * 100)

    def port(self) -> int:
        return int(self.ports.read_text().split()[-1])

    def copy_by(self, meddler: Meddler, source, target, *words, encrypt: str = "--encrypt", fails: int = 0, warnings: int = 0):
        """A copy whose connections go by him. They are encrypted, as those to another host are by themselves."""
        self.addCleanup(meddler.close)
        env = {**os.environ, **preloaded("cut"), "RDCP_DETOUR": str(meddler.port), "RDCP_DETOUR_LOG": str(self.ports)}
        words = ["-r", encrypt, "--streams", str(STREAMS), *words, source, target]
        if fails:
            return self.fails(fails, *words, env=env, says=("altered",))
        done = self.copy(*words, env=env)
        lines = done.err.splitlines()
        self.assertEqual(len(lines), warnings, done.err)
        for line in lines:
            self.assertRegex(line, r"^rdcp: warning: stream [12] \(tcp.*\) was lost: .*; "
                                   r"(another one took its place|its chunks went over the others)$")
        return done

    def ways(self):
        """There and back."""
        there, back = self.target / "there", self.target / "back"
        for source, target, path in (self.tree, f"dest:{there}", there), (f"dest:{self.tree}", back, back):
            with self.subTest(target=str(target)):
                yield source, target, path

    def assert_by(self, path: Path):
        self.assert_same_tree(self.tree, path)
        self.assert_no_litter(path)

    def test_all_that_a_knock_has_opened_are(self):
        for source, target, path in self.ways():
            meddler = Meddler(self.port)
            self.copy_by(meddler, source, target)
            self.assert_by(path)
            self.assertEqual(meddler.seen.count(EARLY), STREAMS)
            self.assertFalse(CONTENT in meddler.seen)

    def test_who_encrypts_nothing_or_may_not_come_again_waits(self):
        for encrypt, retry in ("--no-encrypt", "--retry-time=9"), ("--encrypt", "--retry-time=0"):
            with self.subTest(encrypt):
                meddler, path = Meddler(self.port), self.target / encrypt
                self.copy_by(meddler, self.tree, f"dest:{path}", retry, encrypt=encrypt)
                self.assert_by(path)
                self.assertFalse(EARLY in meddler.seen)
                self.assertTrue(b"RDCP" in meddler.seen)

    def test_a_stranger_learns_nothing_and_stops_nobody(self):
        for answer in "closes", "tells", "waits":
            for source, target, path in self.ways():
                stranger = Stranger(self.port, answer)
                self.copy_by(stranger, source, target, warnings=STREAMS)
                self.assert_by(path)
                self.assertGreaterEqual(len(stranger.heard), STREAMS)
                self.assertFalse(CONTENT in b"".join(stranger.heard))
                self.remove(path)

    def remove(self, path: Path):
        for entry in path.iterdir():
            entry.unlink()
        path.rmdir()

    def test_what_is_sent_again_is_taken_nowhere(self):
        for source, target, path in self.ways():
            repeater = Repeater(self.port, 3)
            self.copy_by(repeater, source, target)
            self.assert_by(path)
            for repeating in repeater.repeating:
                repeating.join()
            self.assertEqual(repeater.answers, [b""] * 3)

    def test_a_changed_byte_gets_nowhere(self):
        for source, target, path in self.ways():
            pushes = source == self.tree
            for at in 8, EARLY_HELLO - 1:
                meddler = Meddler(self.port, change=(0, True, at))
                self.copy_by(meddler, source, target, warnings=1)
                self.assertTrue(meddler.changed)
                self.assert_by(path)
                self.remove(path)
            meddler = Meddler(self.port, change=(0, False, WELCOME - 1))
            self.copy_by(meddler, source, target, warnings=1)
            self.assertTrue(meddler.changed)
            self.assert_by(path)
            self.remove(path)
            meddler = Meddler(self.port, change=(0, pushes, (EARLY_HELLO if pushes else WELCOME) + 5))
            self.copy_by(meddler, source, target, fails=EXIT_DIGEST)
            self.assertTrue(meddler.changed)


if __name__ == "__main__":
    unittest.main()
