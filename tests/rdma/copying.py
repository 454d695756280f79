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
