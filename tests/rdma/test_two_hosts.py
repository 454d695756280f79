"""The two VMs of the test bed reach each other over both cables, and share a folder; runs within the first."""

import os
import unittest
from pathlib import Path

from bed import SSH, InVm


class TwoHosts(InVm):
    hosts = 2

    def test_rdma_over_both_cables(self):
        for address in ("10.77.0.2", "10.78.0.2", "fd77::2", "fd78::2"):
            with self.subTest(address):
                self.check_rping(address, *SSH)

    def test_the_second_is_another_machine(self):
        self.assertEqual(self.text(*SSH, "hostname").strip(), "vm2")
        self.assertEqual(self.text("hostname").strip(), "vm1")

    def test_they_share_a_folder(self):
        shared = Path(os.environ["RDCP_VM_SHARED"])
        (shared / "here").write_text("from vm1")
        self.assertEqual(self.text(*SSH, f"cat {shared}/here; echo from vm2 >{shared}/there"), "from vm1")
        self.assertEqual((shared / "there").read_text(), "from vm2\n")

    def test_packets_can_be_lost(self):
        self.text("tc", "qdisc", "add", "dev", "eth0", "root", "netem", "loss", "10%")
        self.addCleanup(self.text, "tc", "qdisc", "del", "dev", "eth0", "root")
        self.check_rping("10.77.0.2", *SSH, loses=True)
        self.assertRegex(self.text("tc", "-s", "qdisc", "show", "dev", "eth0"), r"dropped \d+")


if __name__ == "__main__":
    unittest.main()
