"""The RDMA devices, made in software, of the test bed work, for root and for others; runs within the VM."""

import json
import resource
import subprocess
import unittest

from bed import FIRST, KIND, SECOND, InVm

NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


class Devices(InVm):
    def test_two_are_active_with_large_packets(self):
        links = json.loads(self.text("rdma", "-j", "link"))
        self.assertEqual([(link["ifname"], link["state"]) for link in links], [(FIRST, "ACTIVE"), (SECOND, "ACTIVE")])
        self.assertEqual(self.text("ibv_devinfo").count("active_mtu:\t\t4096"), 2)

    def test_both_carry_ipv4_and_ipv6(self):
        for address in ("10.77.0.1", "10.78.0.1", "fd77::1", "fd78::1"):
            with self.subTest(address):
                self.check_rping(address)

    def test_locked_memory_is_bounded_for_others(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (64 << 10, 64 << 10))

        self.assertIn(FIRST, self.text(*NOBODY, "ibv_devinfo"))  # opens the device
        words = [*NOBODY, "ibv_rc_pingpong", "-g", "1", "-s", str(1 << 20)]
        done = subprocess.run(words, preexec_fn=limit, capture_output=True, text=True, timeout=30, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("Couldn't register MR", done.stderr)

    def test_a_device_can_be_removed_and_made_again(self):
        self.text("rdma", "link", "delete", SECOND)
        self.assertEqual(len(json.loads(self.text("rdma", "-j", "link"))), 1)
        self.text("rdma", "link", "add", SECOND, "type", KIND, "netdev", "rail1")
        self.assertEqual(len(json.loads(self.text("rdma", "-j", "link"))), 2)


if __name__ == "__main__":
    unittest.main()
