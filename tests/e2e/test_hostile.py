"""A far agent that breaks the rules: an error each time, and nothing outside DST."""

import os
import subprocess
import unittest

from harness import BUILD, EXIT_DATA, EXIT_DIGEST, OPTIONS, CopyTest
from snapshot import differences, snapshot

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
                # Bytes that were not sealed are taken for altered ones.
                altered = "--encrypt" in OPTIONS and name == "garbage"
                self.assertEqual(done.status, EXIT_DIGEST if altered else EXIT_DATA, done)
                self.assertNotIn("does not encrypt", done.err)
                self.assertNotEqual(done.err, "")
                self.assertEqual(os.listdir(folder), ["dst"], "something was written outside DST")
                self.assertFalse(os.path.lexists("/tmp/rdcp-evil"))
                self.assert_no_litter(folder, cut_short=True)

    # What lies beside DST, where DST is missing and its parent is the root; and in DST, beside what lands there.
    def test_nothing_beside_the_landing_is_named(self):
        names = subprocess.run([AGENT, "--list-by-name"], capture_output=True, text=True, check=True).stdout.split()
        self.assertGreater(len(names), 12)
        for name in names:
            mirror = name.startswith("mirror-")
            for present in (False,) if mirror else (False, True):
                with self.subTest(attack=name, present=present):
                    folder = self.target / f"{name}-{present}"
                    (folder / "other").mkdir(parents=True)
                    for file in (folder / "keys", folder / "other" / "keys"):
                        file.write_text("precious")
                    before = snapshot(folder)
                    words = ["--sync", "--delete"] if mirror else ["-r"]
                    where = f"{folder}/" if present else folder / "dst"
                    done = self.start(*words, "--rdcp-path", AGENT, f"dest:/{name}", where).finish(40)
                    self.assertEqual(done.status, EXIT_DATA, done)
                    self.assertRegex(done.err, "outside of where the copy lands|unsafe hard link")
                    for left in folder.glob(".rdcp-*.run"):
                        left.unlink()
                    after = snapshot(folder)
                    after[b""].mtime_ns = before[b""].mtime_ns  # the run's marker was in it
                    self.assertEqual(differences(before, after), [])


if __name__ == "__main__":
    unittest.main()
