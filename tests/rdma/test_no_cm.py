"""RDMA where librdmacm cannot be used, as in a container without /dev/infiniband/rdma_cm: queue pairs are joined over control."""

import os
import subprocess
import unittest

from bed import CM_NODE, SSH, take_node_away
from copying import VmCopyTest  # puts the harness on the path
from harness import MIB

class OneHost(VmCopyTest):
    def test_streams_pass_their_suite(self):
        take_node_away(self)
        tests = os.path.join(os.environ["RDCP_BUILD_DIR"], "tests", "rdma_tests")
        done = subprocess.run([tests, "--gtest_filter=*/ByHandIoUring"], capture_output=True, text=True, timeout=400, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotIn("SKIPPED", done.stdout)

    def test_doctor_says_so(self):
        take_node_away(self)
        done = self.rdcp("--doctor")
        self.assertIn(f"{CM_NODE}: No such file or directory: connections are made without it", done.out.decode())
        self.assertIn("can be used: rxe0/1, rxe1/1", done.out.decode())


class TwoHosts(VmCopyTest):
    hosts = 2

    def setUp(self):
        super().setUp()
        self.file = self.make_file(self.source / "file", 3 * MIB + 1)

    def assert_copies(self, *options):
        """To the other host and back from it."""
        for source, target in ((str(self.file), f"dest:{self.target}/there"),
                               (f"dest:{self.target}/there", str(self.target / "back"))):
            done = self.copy("-v", "--transport", "rdma", *options, source, target)
            for device in ("rxe0", "rxe1"):
                self.assertRegex(done.err, rf"rdma {device}/1 \(RoCE, .*, without rdma_cm\) .* -> ")
        self.assert_same_file(self.file, self.target / "back")
        return done

    def test_neither_has_it(self):
        take_node_away(self)
        take_node_away(self, *SSH)
        self.assert_copies("--tos", "AF31")

    def test_this_host_lacks_it(self):
        take_node_away(self)
        done = self.assert_copies()
        self.assertIn(f"RDMA connections are made without rdma_cm; this host: {CM_NODE}: No such file or directory", done.err)

    def test_the_other_host_lacks_it(self):
        take_node_away(self, *SSH)
        done = self.assert_copies("--encrypt")
        self.assertIn(f"RDMA connections are made without rdma_cm; dest: {CM_NODE}: No such file or directory", done.err)

    def test_the_way_is_measured(self):
        take_node_away(self, *SSH)
        done = self.rdcp("--doctor", "dest", timeout=200)
        self.assertRegex(done.out.decode(), r"RDMA +\S.*B/s from memory to memory")


if __name__ == "__main__":
    unittest.main()
