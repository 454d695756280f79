"""Copies within the VM: the end-to-end harness, in a test that knows of how many hosts it needs."""

import sys
from pathlib import Path

from bed import InVm

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "e2e"))
import harness  # noqa: E402


class VmCopyTest(harness.CopyTest, InVm):
    @classmethod
    def setUpClass(cls):
        InVm.setUpClass.__func__(cls)
        harness.CopyTest.setUpClass.__func__(cls)


class OneFile(VmCopyTest):
    """Copies of one file to the other host."""

    hosts = 2

    def setUp(self):
        super().setUp()
        self.file = self.make_file(self.source / "file", 2 * harness.MIB + 1)

    def told(self, *options) -> str:
        done = self.copy("-v", *options, self.file, f"dest:{self.target}/copy")
        self.assert_same_file(self.file, self.target / "copy")
        return done.err
