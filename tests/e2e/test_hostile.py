"""A far agent that breaks the rules: an error each time, and nothing outside DST."""

import os
import subprocess
import unittest

from harness import BUILD, EXIT_DATA, CopyTest

AGENT = BUILD / "hostile_agent"


class Hostile(CopyTest):
    def test_every_attack(self):
        names = subprocess.run([AGENT, "--list"], capture_output=True, text=True, check=True).stdout.split()
        self.assertGreater(len(names), 8)
        for name in names:
            with self.subTest(attack=name):
                folder = self.target / name
                (folder / "dst").mkdir(parents=True)
                done = self.start("-r", "--rdcp-path", AGENT, f"dest:/{name}", folder / "dst").finish(40)
                self.assertEqual(done.status, EXIT_DATA, done)
                self.assertNotEqual(done.err, "")
                self.assertEqual(os.listdir(folder), ["dst"], "something was written outside DST")
                self.assertFalse(os.path.lexists("/tmp/rdcp-evil"))
                self.assert_no_litter(folder, cut_short=True)


if __name__ == "__main__":
    unittest.main()
