"""The terminal that scripts/terminal-svg records: the last screen, and what passed before it."""

import sys
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "scripts" / "lib"))

from terminal import Terminal, draw  # noqa: E402


class Screen(unittest.TestCase):
    def setUp(self):
        self.terminal = Terminal()

    def feed(self, *pieces: str):
        for time, piece in enumerate(pieces, 1):
            self.terminal.now = float(time)
            self.terminal.feed(piece)

    def test_a_progress_line_is_overwritten_and_erased(self):
        self.feed("\r10%  slow\x1b[K", "\r9%\x1b", "[K", "\r\x1b[Kdone\r\n", "\x1b[1mnext\x1b[0m\r\n")
        self.assertEqual(self.terminal.text(), "done\nnext")
        passed = [(each.text, each.start, each.end) for each in self.terminal.shown if each.end is not None]
        self.assertIn(("10%  slow", 1.0, 2.0), passed)
        self.assertIn(("9%", 3.0, 4.0), passed)

    def test_a_shorter_text_leaves_the_end_of_a_longer_one(self):
        self.feed("abcdef\rxy\r\n")
        self.assertEqual(self.terminal.text(), "xycdef")

    def test_a_sequence_that_moves_elsewhere_is_not_drawn_wrongly(self):
        with self.assertRaises(RuntimeError):
            self.feed("\x1b[3A")

    def test_commands_and_their_failure(self):
        self.terminal.run("hello", ["sh", "-c", "stty size; echo '<a & b>'"])
        self.assertEqual(self.terminal.text(), "$ hello\n24 80\n<a & b>")
        with self.assertRaisesRegex(RuntimeError, "exit 3"):
            self.terminal.run("fails", ["sh", "-c", "exit 3"])

    def test_an_svg_has_every_line_and_may_stand_still(self):
        self.terminal.run("hello", ["echo", "<a & b>"])
        root = xml.fromstring(draw(self.terminal))
        words = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
        self.assertEqual(words, ["$ hello", "<a & b>"])
        self.assertIn("prefers-reduced-motion", root.find("{http://www.w3.org/2000/svg}style").text)


if __name__ == "__main__":
    unittest.main()
