"""--encrypt: nothing that was changed on the wire gets through, and nobody is talked out of it (test_wiretap: nothing shows)."""

import unittest
from pathlib import Path

from harness import EXIT_DIGEST, EXIT_HOST, CopyTest, wait_for
from meddler import Meddler
from pipes import PipeTest
from test_corruption import Corruption

NAME = "a-name-that-nobody-may-see"
CONTENT = b"content that nobody may see either; "


def make_tree(folder: Path) -> Path:
    tree = folder / NAME
    tree.mkdir()
    for name in ("small", "large"):
        (tree / f"{NAME}-{name}").write_bytes(CONTENT * (10 if name == "small" else 20000))
    return tree


class Copies(CopyTest):
    def test_it_is_said(self):
        done = self.copy("-r", "-v", "--encrypt", "--compress", make_tree(self.source), f"dest:{self.target}")
        self.assertIn("rdcp: encrypted\n", done.err)
        self.assertRegex(done.err, r"rdcp: compressed 7\d\d\.\d+ kB to [\d.]+ k?B \([\d.]+ : 1\)")


class Changed(Corruption):
    """What Corruption does, to encrypted copies."""

    def command(self, *words) -> list[str]:
        return super().command("--encrypt", *words)

    def test_a_flipped_bit_is_sent_again(self):  # here it ends the copy
        for options in ((), ("--streams", "1"), ("--compress=1",)):
            self.log.unlink(missing_ok=True)
            done = self.fails(EXIT_DIGEST, "-r", "--chunk-size", "64K", *options, self.tree, f"dest:{self.target}",
                              env=self.environment(1), says=("altered",))
            self.assertEqual(self.flips(), 1)
            self.assertEqual(len(done.err.splitlines()), 1, done.err)
            self.assertFalse((self.target / "tree/large").exists())
            self.assert_no_litter(self.target, cut_short=True)

    def test_a_flipped_bit_on_the_way_here(self):
        done = self.fails(EXIT_DIGEST, "-r", "--chunk-size", "64K", "--rdcp-path", self.agent(1),
                          f"dest:{self.tree}", self.target / "back", says=("altered",))
        self.assertEqual(len(done.err.splitlines()), 1, done.err)

    def test_bad_memory_ends_the_run(self):
        old = self.make_file(self.target / "large", 10, seed=99)
        before = old.read_bytes()
        self.fails(EXIT_DIGEST, "--chunk-size", "64K", self.tree / "large", f"dest:{self.target}",
                   env=self.environment(-1))
        self.assertEqual(old.read_bytes(), before)
        self.assert_no_litter(self.target)


class Pipes(PipeTest):
    def through(self, options: tuple, change: tuple | None = None, receive_options: tuple | None = None,
                refused_for: str = ""):
        """Sends self.content through somebody in between. Both ends' statuses, and him. A receiver that refused goes on
        waiting; it is ended when it has said why."""
        self.source = self.folder / NAME
        self.source.write_bytes(CONTENT * 20000)
        target = self.folder / "target"
        target.write_bytes(b"old")
        receive_options = receive_options if receive_options is not None else options[:1]
        receiver, port = self.receiver("target", options=receive_options)
        meddler = Meddler(port, change)
        self.addCleanup(meddler.close)
        sender = self.sender(meddler.port, self.source, options=(*options, "--transport", "tcp", "--chunk-size", "64K"))
        _, error = sender.process.communicate(timeout=60)
        self.error = error.decode()
        if self.error and sender.process.returncode == EXIT_HOST:
            wait_for(lambda: refused_for in receiver.errors.read_text())
            receiver.kill()
        receiver.process.wait(timeout=60)
        self.receiver_error = receiver.errors.read_text()
        self.found = target.read_bytes()
        return sender.process.returncode, receiver.process.returncode, meddler

    def test_nothing_shows(self):
        *statuses, meddler = self.through((), receive_options=())
        self.assertEqual(statuses, [0, 0], self.error)
        in_clear = (CONTENT, b"rdcp control")
        for text in in_clear:
            self.assertIn(text, meddler.seen)
        self.assertGreater(meddler.seen.count(b"RDFR"), 2)
        for options in (("--encrypt",), ("--encrypt", "--compress=3")):
            *statuses, meddler = self.through(options)
            self.assertEqual(statuses, [0, 0], self.error)
            self.assertEqual(self.found, self.source.read_bytes())
            for text in (*in_clear, NAME.encode()):
                self.assertFalse(text in meddler.seen, text)
            # Four bytes are in a megabyte of noise once in thousands of runs, but not twice.
            self.assertLess(meddler.seen.count(b"RDFR"), 2)

    def test_a_changed_byte_gets_nowhere(self):
        # The first connection is control, the others are streams; handshakes are 40 + 32 and 88 bytes long.
        changes = [(connection, to_listener, at) for connection in (0, 1) for to_listener in (True, False)
                   for at in (72, 76, 88, 95, 120, 300)]
        for change in [*changes, (1, True, 5000), (1, True, 70_000)]:
            with self.subTest(change):
                sent, received, meddler = self.through(("--encrypt", "--streams", "1"), change,
                                                       receive_options=("--encrypt",))
                if not meddler.changed:
                    continue
                said = self.error + self.receiver_error
                if sent == 0:  # its last word was changed, when all was there and checked
                    self.assertEqual(self.found, self.source.read_bytes())
                else:
                    self.assertEqual(self.found, b"old")
                in_handshake = change[2] < (72 if change[1] else 88)
                if not in_handshake:
                    self.assertIn(EXIT_DIGEST, (sent, received), said)
                    self.assertIn("altered", said)

    def test_both_ends_must_be_told(self):
        for here, there in ((("--no-encrypt",), ("--encrypt",)), (("--encrypt",), ("--no-encrypt",))):
            sent, _, meddler = self.through(here, receive_options=there, refused_for="--no-encrypt")
            self.assertEqual(sent, EXIT_HOST, self.error)
            self.assertIn("--no-encrypt", self.error)
            self.assertNotIn("another KEY", self.error)
            self.assertIn("--no-encrypt", self.receiver_error)
            self.assertEqual(self.found, b"old")
            self.assertNotIn(CONTENT, meddler.seen)


del Corruption  # is run in its own module

if __name__ == "__main__":
    unittest.main()
