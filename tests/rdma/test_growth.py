"""Streams that a copy over RDMA makes while it goes. Within the VM, both agents on one host."""

import unittest

from bed import KIND
from copying import VmCopyTest  # puts the harness on the path
from harness import CHUNK

CHUNKS = 600


class Growth(VmCopyTest):
    def check(self, source: str, target: str):
        """Both sides are held to a rate that more streams do not change, so they are tried, and rest again."""
        file = self.make_file(self.source / "file", CHUNKS * CHUNK + 17)
        copied = self.target / "file"
        told = self.copy("-v", "--transport", "rdma", "--bwlimit", "4M", "--chunk-size", "64K", f"{source}{file}",
                         f"{target}{copied}").err
        self.assertIn(f" over rdma {KIND}0/1 ", told)
        self.assertRegex(told, r"more streams than \d+ were not faster|\d+ streams were faster than \d+")
        self.assertNotIn("RDMA was given up", told)
        self.assertNotIn("was lost", told)
        self.assert_same_file(file, copied)
        self.assert_no_litter(self.target)

    def test_where_the_source_connects(self):
        self.check("", "dest:")

    def test_where_the_target_connects(self):
        self.check("dest:", "")


if __name__ == "__main__":
    unittest.main()
