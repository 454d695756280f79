"""rdpipe between two hosts: the streams go over RDMA, and what ends a pipeline ends it on both."""

import os
import unittest

from bed import KIND, InVm
from copying import harness  # noqa: F401: puts the harness on the path
from harness import MIB
from test_rdpipe import PipelineTest


class TwoHosts(PipelineTest, InVm):
    hosts = 2

    @classmethod
    def setUpClass(cls):
        InVm.setUpClass.__func__(cls)
        PipelineTest.setUpClass.__func__(cls)

    def test_there_and_back_over_rdma(self):
        data = os.urandom(9 * MIB + 5)
        done = self.pipe("-v", ":cat", "dest:hostname >&2; cat", stdin=data)
        self.assertEqual(done.out, data)
        self.assertIn("dest: vm2\n", done.err)
        for way in ("this host -> dest", "dest -> standard output"):
            self.assertRegex(done.err, rf"{way}: .* over rdma {KIND}[01]/1 ")

    def test_a_file_there_into_a_file_here(self):
        there, here = self.disk / "there", self.disk / "here"
        self.make_file(there, 20 * MIB + 3)
        self.output(f"dest:< {there}", f":> {here}")
        self.assert_same_file(there, here)

    def test_a_command_that_fails_there(self):
        done = self.pipe(":cat /dev/zero", "dest:head -c 1000000 > /dev/null; exit 7", ":cat", status=7)
        self.assertIn("dest", done.err)
        self.assertTrue(harness.wait_for(lambda: not harness.remote_agents()), "an agent goes on there")


if __name__ == "__main__":
    unittest.main()
