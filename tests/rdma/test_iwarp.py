"""What is different between two hosts with iWARP, whose connections are those of TCP. Within the VM, with --device siw."""

import subprocess
import unittest

from bed import FIRST, KIND, SECOND, SSH
from copying import OneFile  # puts the harness on the path
from harness import EXIT_OK


class Iwarp(OneFile):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if KIND != "siw":
            raise unittest.SkipTest("not a VM with Soft-iWARP")

    def test_both_cables_are_used_with_and_without_a_traffic_class(self):
        for options in ((), ("--tos", "af31"), ("--encrypt", "--compress=1")):
            with self.subTest(options):
                told = self.told("--transport", "rdma", *options)
                # Each cable has two pairs of addresses; on a starved machine the second one may answer first.
                for device, cable in ((FIRST, 77), (SECOND, 78)):
                    self.assertRegex(told, rf"rdma {device}/1 \(iWARP, .* (10\.{cable}\.0\.1 -> 10\.{cable}\.0\.2|"
                                           rf"fd{cable}::1 -> fd{cable}::2)")

    def test_tcp_where_packets_to_the_port_of_rdma_are_dropped(self):
        """It listens on the first number, and TCP on the next: they share them."""
        table = "table inet lost { chain in { type filter hook input priority 0; tcp dport 7400 drop; }; }"
        subprocess.run([*SSH, "nft", "-f", "-"], input=table, text=True, check=True)
        self.addCleanup(subprocess.run, [*SSH, "nft", "delete", "table", "inet", "lost"], check=True)
        told = self.told("--transport", "auto", "--data-port", "7400-7401")
        self.assertRegex(told, rf"RDMA was given up for TCP: .*{FIRST}/1 -> 10\.77\.0\.2: does not answer")
        self.assertIn(" over tcp ", told)
        self.assertIn(":7401", told)

    def test_the_doctor_measures_it(self):
        done = self.rdcp("--doctor", "--transport", "rdma", "dest")
        self.assertEqual(done.status, EXIT_OK, done)
        self.assertRegex(done.out.decode(), r"ok +RDMA +[\d.]+ .B/s from memory to memory")


if __name__ == "__main__":
    unittest.main()
