"""What the tests of rdsend and rdrecv share: pairs of real processes on this host."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import BUILD, MEMORY, OPTIONS, Running, _end, make_file, wait_for

RDSEND, RDRECV = BUILD / "rdsend", BUILD / "rdrecv"
KEY = "a_key_for_tests"
RECEIVER_OPTIONS = tuple(option for option in OPTIONS if option == "--encrypt")  # which both sides must be told


class PipeTest(unittest.TestCase):
    """Has a folder in memory (self.folder), removed afterwards."""

    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        for program in (RDSEND, RDRECV):
            if not os.access(program, os.X_OK):
                raise RuntimeError(f"no program at {program}: build it, or set RDCP_BUILD_DIR")

    def setUp(self):
        self.folder = self.make_folder(MEMORY if os.access(MEMORY, os.W_OK) else "/var/tmp")

    def make_folder(self, where) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="rdcp-pipe-", dir=where))
        self.addCleanup(subprocess.run, ["rm", "-rf", folder], check=False)
        return folder

    def make_file(self, name: str, size: int, seed: int = 7) -> Path:
        return make_file(self.folder / name, size, seed)

    # -- running -----------------------------------------------------------------------------------------------

    def start(self, program: Path, *words, **options) -> Running:
        running = Running([program, *map(str, words)], **{"cwd": self.folder, **options})
        self.addCleanup(_end, running)
        return running

    def receiver(self, *words, key: tuple = (KEY,), port: int = 0, options: tuple = (), **process):
        """rdrecv, listening, and its port. Its stderr goes to self.errors[running]."""
        errors = tempfile.NamedTemporaryFile(dir=self.folder, prefix="stderr-", delete=False)
        with errors:
            running = self.start(RDRECV, *RECEIVER_OPTIONS, *options, port, *key, *words, stderr=errors, **process)
        running.errors = Path(errors.name)
        if port:
            return running, port
        found = wait_for(lambda: re.search(r"^port (\d+)$", running.errors.read_text(), re.M), 60)
        self.assertTrue(found, f"rdrecv names no port: {running.errors.read_text()}\n{running.where()}")
        return running, int(found[1])

    def sender(self, port: int, *words, host: str = "127.0.0.1", key: tuple = (KEY,), options: tuple = (),
               **process) -> Running:
        return self.start(RDSEND, *OPTIONS, *options, host, port, *key, *words, **process)

    def end(self, running: Running, status: int | None, timeout: float = 60) -> str:
        """Waits for its end; what it said on stderr. Status None: any but 0."""
        out, err = running.process.communicate(timeout=timeout)
        running.out = out
        text = running.errors.read_text() if hasattr(running, "errors") else err.decode(errors="replace")
        found = running.process.returncode
        if status is None:
            self.assertNotEqual(found, 0, text)
        else:
            self.assertEqual(found, status, text)
        return text

    def zeros(self):
        """Bytes without end, for practical purposes."""
        path = self.folder / "zeros"
        if not path.exists():
            path.touch()
            os.truncate(path, 1 << 40)
        opened = open(path, "rb")
        self.addCleanup(opened.close)
        return opened

    def feeder(self, path: Path = Path("/dev/zero")) -> subprocess.Popen:
        """A process that writes the file into a pipe. What it has read tells how far the pipe's reader is."""
        process = subprocess.Popen(["cat", path], stdout=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        return process

    def take_all(self, running: Running):
        """Its output, to the end, goes into the file "out"."""
        with open(self.folder / "out", "wb") as out:
            subprocess.run(["cat"], stdin=running.process.stdout, stdout=out, check=True)
        self.close_output(running)

    @staticmethod
    def close_output(running: Running):
        running.process.stdout.close()
        running.process.stdout = None

    @staticmethod
    def close_input(running: Running):
        running.process.stdin.close()
        running.process.stdin = None

    # -- whole streams -----------------------------------------------------------------------------------------

    def send(self, source: Path, *, file_in: bool, file_out: bool, options: tuple = (), receive_options: tuple = (),
             host: str = "127.0.0.1") -> Path:
        """Sends source through a pair; both must succeed. The file that came out."""
        target = self.folder / "target"
        target.unlink(missing_ok=True)
        with open(source, "rb") as stdin, open(self.folder / "out", "wb") as stdout:
            receiver, port = self.receiver(*(["target"] if file_out else []), options=receive_options, stdout=stdout)
            sender = self.sender(port, *([source] if file_in else []), options=options, host=host,
                                 stdin=subprocess.DEVNULL if file_in else stdin)
            sent = self.end(sender, 0)
            received = self.end(receiver, 0)
        self.said = sent, received
        return target if file_out else self.folder / "out"

    def assert_same_bytes(self, wanted: Path, found: Path):
        compared = subprocess.run(["cmp", wanted, found], capture_output=True, check=False)
        self.assertEqual(compared.returncode, 0, compared.stdout + compared.stderr)
