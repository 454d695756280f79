"""A control message that could not be written ends the run: its receiver must not wait for it while beats go on."""

import errno
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

import processes  # noqa: E402
from harness import BUILD, EXIT_DATA, EXIT_FILES, EXIT_HOST, EXIT_OK, MEMORY  # noqa: E402
from scenario import Scenario  # noqa: E402
from workplace import Workplace  # noqa: E402


class LostMessages(unittest.TestCase):
    COPY = Scenario("file", False, True, "empty", 0, ())

    def setUp(self):
        processes.adopt_orphans()
        folder = Path(tempfile.mkdtemp(prefix="rdcp-campaign-test-", dir=MEMORY))
        self.addCleanup(shutil.rmtree, folder)
        self.place = Workplace(folder / "job", folder, [BUILD])

    def run_with_each_failing(self, call: str, error: int, statuses: tuple):
        """Each call of this kind of each side fails, one in each run."""
        tried = 0
        for role in ("near", "local agent", "target"):
            self.place.prepare(self.COPY)
            self.place.page.no_order()
            self.assertEqual(self.place.run(self.COPY, (BUILD, BUILD)).status, EXIT_OK)
            for nth in range(1, self.place.page.counts().get((role, call), 0) + 1):
                tried += 1
                with self.subTest(role=role, nth=nth):
                    self.place.prepare(self.COPY)
                    self.place.page.order(role, call, "error", nth, 1, error)
                    ended = self.place.run(self.COPY, (BUILD, BUILD))
                    self.assertEqual(ended.complaints, [])
                    self.assertIn(ended.status, statuses)
        self.assertGreater(tried, 1)

    def test_each_write_of_each_side(self):
        self.run_with_each_failing("write", errno.ENOBUFS, (EXIT_OK, EXIT_FILES, EXIT_HOST, EXIT_DATA))

    def test_an_interrupted_send_is_made_again(self):
        self.run_with_each_failing("send", errno.EINTR, (EXIT_OK,))


if __name__ == "__main__":
    unittest.main()
