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
    def test_each_write_of_each_side(self):
        processes.adopt_orphans()
        folder = Path(tempfile.mkdtemp(prefix="rdcp-campaign-test-", dir=MEMORY))
        self.addCleanup(shutil.rmtree, folder)
        place = Workplace(folder / "job", folder, [BUILD])
        copy = Scenario("file", False, True, "empty", 0, ())
        for role in ("near", "target"):
            place.prepare(copy)
            place.page.no_order()
            self.assertEqual(place.run(copy, (BUILD, BUILD)).status, EXIT_OK)
            writes = place.page.counts()[role, "write"]
            for nth in range(1, writes + 1):
                with self.subTest(role=role, nth=nth):
                    place.prepare(copy)
                    place.page.order(role, "write", "error", nth, 1, errno.ENOBUFS)
                    ended = place.run(copy, (BUILD, BUILD))
                    self.assertEqual(ended.complaints, [])
                    self.assertIn(ended.status, (EXIT_OK, EXIT_FILES, EXIT_HOST, EXIT_DATA))


if __name__ == "__main__":
    unittest.main()
