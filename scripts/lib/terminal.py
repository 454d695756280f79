"""A terminal that remembers when it showed what, and an SVG of it. It knows what line-wise programs send: text, carriage
return, line feed, and the sequences that erase the rest of a line or set colours."""

import codecs
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import time
from dataclasses import dataclass
from html import escape

COLUMNS, ROWS = 80, 24
CELL, LINE, EDGE, BAR = 8, 20, 16, 30  # in pixels: width and height of a cell, the margin, the bar above the screen
THINK, LOOK = 1.2, 0.8  # seconds before a command is typed, and after it until it starts
TOKEN = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)", re.DOTALL)
STYLE = f"""<style>
  text {{ font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre }}
  .screen {{ fill: #f6f8fa; stroke: #d1d9e0 }} .bar {{ fill: #d1d9e0 }} .out {{ fill: #1f2328 }}
  .typed {{ fill: #0550ae; font-weight: 600 }} .passing {{ fill: #59636e; opacity: 0 }}
  @keyframes appear {{ from {{ opacity: 0 }} }}
  @keyframes pass {{ from, to {{ opacity: 1 }} }}
  @media (prefers-color-scheme: dark) {{
    .screen {{ fill: #0d1117; stroke: #3d444d }} .bar {{ fill: #3d444d }} .out {{ fill: #e6edf3 }}
    .typed {{ fill: #79c0ff }} .passing {{ fill: #9198a1 }} }}
  @media (prefers-reduced-motion: reduce) {{ text {{ animation: none !important }} }}
</style>"""


@dataclass
class Shown:
    """A row's text from `start` until `end`; without an end it stays."""
    row: int
    text: str
    start: float
    end: float | None = None
    kind: str = "out"


class Terminal:
    def __init__(self):
        self.shown: list[Shown] = []
        self.row, self.column, self.now = 0, 0, 0.0
        self._rest = ""

    def run(self, command: str, words: list[str]):
        """Types a command and runs `words` for it. Raises RuntimeError when it fails."""
        self.now += THINK
        self._show(f"$ {command}", "typed")
        self.row, self.column = self.row + 1, 0
        self.now += LOOK
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode  # a read may end within a character
        started, before = time.monotonic(), self.now
        process = subprocess.Popen(words, stdin=follower, stdout=follower, stderr=follower, start_new_session=True)
        os.close(follower)
        try:
            while data := os.read(leader, 1 << 16):
                self.now = before + time.monotonic() - started
                self.feed(decode(data))
        except OSError:  # EIO: nobody has the other end open any more
            pass
        os.close(leader)
        status = process.wait()
        self.now = before + time.monotonic() - started
        if status:
            raise RuntimeError(f"{command}: exit {status}: {self.text()}")

    def feed(self, text: str):
        """Takes in what a program sends."""
        text, self._rest = self._rest + text, ""
        if (cut := re.search(r"\x1b(\[[0-9;?]*)?$", text)):
            text, self._rest = text[:cut.start()], text[cut.start():]
        line = self._line()
        for token in TOKEN.finditer(text):
            sequence, control, words = token[2], token[3], token[4]
            if sequence == "K":
                line = line[:self.column]
            elif sequence and sequence != "m":
                raise RuntimeError(f"a terminal sequence that is not known here: {token[0]!r}")
            elif control == "\r":
                self.column = 0
            elif control == "\n":
                self._show(line)
                self.row, line = self.row + 1, ""
            elif words:
                line = line[:self.column].ljust(self.column) + words + line[self.column + len(words):]
                self.column += len(words)
        self._show(line)

    def text(self) -> str:
        """The last screen."""
        rows = {each.row: each.text for each in self.shown if each.end is None}
        return "\n".join(rows.get(row, "") for row in range(self.row))

    def _line(self) -> str:
        return next((each.text for each in self.shown if each.row == self.row and each.end is None), "")

    def _show(self, text: str, kind: str = "out"):
        if text == self._line():
            return
        for each in self.shown:
            if each.row == self.row and each.end is None:
                each.end = self.now
        if text:
            self.shown.append(Shown(self.row, text, self.now, kind=kind))


def _row(shown: Shown) -> str:
    y = BAR + EDGE + LINE * shown.row + 14
    if shown.end is None:
        how = f'class="{shown.kind}" style="animation: appear 1ms {shown.start:.2f}s backwards"'
    else:
        how = f'class="passing" style="animation: pass {shown.end - shown.start:.2f}s {shown.start:.2f}s"'
    return f'<text x="{EDGE}" y="{y}" {how}>{escape(shown.text)}</text>'


def draw(terminal: Terminal) -> str:
    """The session as an SVG."""
    width, height = COLUMNS * CELL + 2 * EDGE, BAR + 2 * EDGE + LINE * terminal.row
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img">',
        f"<title>{escape(terminal.text())}</title>", STYLE,
        f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" class="screen"/>',
        *(f'<circle cx="{EDGE + 6 + 18 * i}" cy="{BAR / 2 + 2}" r="5" class="bar"/>' for i in range(3)),
        *(_row(each) for each in terminal.shown if each.end is None or each.end - each.start >= 0.01), "</svg>", ""])
