"""Over what the data goes, between two hosts: the ports that were asked for, and TCP where RDMA turns out not to work."""

import subprocess
import unittest

from copying import VmCopyTest  # puts the harness on the path
from harness import EXIT_DATA, EXIT_OK, MIB

NOBODYS_MAC = "02:00:00:00:00:99"
CABLES = {"eth0": "10.77.0.2", "eth1": "10.78.0.2"}  # of the far host
OVER_IPV6 = ["-o", "HostName=fd77::2"]


class Ways(VmCopyTest):
    hosts = 2

    def setUp(self):
        super().setUp()
        self.file = self.make_file(self.source / "file", 2 * MIB + 1)

    def told(self, *options) -> str:
        done = self.copy("-v", *options, self.file, f"dest:{self.target}/copy")
        self.assert_same_file(self.file, self.target / "copy")
        return done.err

    def mislead(self):
        """IPv4 packets for the far host go to nobody; ssh and TCP have IPv6."""
        for interface, address in CABLES.items():
            subprocess.run(["ip", "neigh", "replace", address, "lladdr", NOBODYS_MAC, "nud", "permanent", "dev",
                            interface], check=True)
            self.addCleanup(subprocess.run, ["ip", "neigh", "del", address, "dev", interface], check=True)

    def test_both_cables_are_used(self):
        told = self.told("--transport", "auto")
        self.assertIn("rdma rxe0 port 1", told)
        self.assertIn("rdma rxe1 port 1", told)

    def test_via_picks(self):
        for via in ("rxe1", "eth1", "10.78.0.1", "10.78.0.2"):
            with self.subTest(via):
                told = self.told("--transport", "rdma", "--via", via)
                self.assertIn("10.78.0.1 -> 10.78.0.2", told)
                self.assertNotIn("rxe0", told)

    def test_tcp_where_it_is_asked_for(self):
        self.assertIn(" over tcp ", self.told("--transport", "tcp"))

    def test_tcp_where_nobody_answers_over_rdma(self):
        self.mislead()
        told = self.told("--transport", "auto", *OVER_IPV6)
        self.assertIn("RDMA was given up for TCP: ", told)
        self.assertIn("over tcp [fd77::", told)

    def test_no_tcp_where_rdma_is_asked_for(self):
        self.mislead()
        done = self.rdcp("--transport", "rdma", *OVER_IPV6, self.file, f"dest:{self.target}/copy")
        self.assertEqual(done.status, EXIT_DATA, done)
        self.assertIn("rxe0 -> 10.77.0.2: ", done.err)
        self.assertFalse((self.target / "copy").exists())

    def test_cables_that_lose_packets(self):
        for interface in CABLES:
            subprocess.run(["tc", "qdisc", "add", "dev", interface, "root", "netem", "delay", "1ms", "loss", "0.1%"],
                           check=True)
            self.addCleanup(subprocess.run, ["tc", "qdisc", "del", "dev", interface, "root"], check=True)
        self.assertIn("rdma rxe1 port 1", self.told("--transport", "rdma"))

    def test_the_doctor_measures_both(self):
        done = self.rdcp("--doctor", "dest")
        self.assertEqual(done.status, EXIT_OK, done)
        for transport in ("RDMA", "TCP"):
            self.assertRegex(done.out.decode(), rf"ok +{transport} +[\d.]+ .B/s from memory to memory")


if __name__ == "__main__":
    unittest.main()
