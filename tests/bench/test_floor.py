"""The program that only makes a job's system calls: what it is said to do, it does."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "e2e"))

from harness import BUILD, MIB  # noqa: E402
from snapshot import differences, snapshot  # noqa: E402

from trees import make_file, make_node_modules  # noqa: E402  in scripts/lib, as harness has it

FLOOR = BUILD / "tests" / "kernel_floor"


class Floor(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(dir="/dev/shm")))

    def run_floor(self, *words) -> int:
        return subprocess.run([FLOOR, *words], check=False, stderr=subprocess.DEVNULL).returncode

    def test_a_copied_tree_has_the_same_files(self):
        source = make_node_modules(self.folder, 500)
        self.assertEqual(self.run_floor("copy", source, self.folder / "copy"), 0)
        wanted, found = snapshot(source), snapshot(self.folder / "copy")
        self.assertEqual(differences(wanted, found, ignore=("mtime_ns",)), [])  # making names changes a directory's
        times = [{path: facts.mtime_ns for path, facts in tree.items() if facts.content} for tree in (wanted, found)]
        self.assertEqual(*times)
        self.assertGreater(len(times[0]), 400)
        for job in ("stat", "look", "read"):
            self.assertEqual(self.run_floor(job, source, self.folder / "copy"), 0)

    def test_a_stream_arrives_whole(self):
        make_file(self.folder / "file", 5 * MIB + 77)
        self.assertEqual(self.run_floor("stream", self.folder / "file", self.folder / "to"), 0)
        self.assertEqual((self.folder / "to").read_bytes(), (self.folder / "file").read_bytes())
        self.assertEqual(self.run_floor("stream", self.folder / "file"), 0)
        shown = subprocess.run([FLOOR, "stream", self.folder / "file", "-"], check=True, stdout=subprocess.PIPE).stdout
        self.assertEqual(shown, (self.folder / "file").read_bytes())

    def test_bad_words_are_refused(self):
        self.assertEqual(self.run_floor("look", self.folder), 2)
        self.assertEqual(self.run_floor("guess", self.folder, self.folder), 2)
        self.assertEqual(self.run_floor("look", self.folder, self.folder / "nothing"), 1)
        self.assertEqual(self.run_floor("stream", self.folder / "nothing"), 1)


if __name__ == "__main__":
    unittest.main()
