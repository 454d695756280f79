"""No payload byte is copied in user space on the way over RDMA: the slot that O_DIRECT filled is the one that the NIC
sends, and the slot that the NIC wrote is the one that is written to disk. All large memcpy and memmove are counted."""

import os
import unittest

from harness import MIB, CopyTest, preloaded

SIZE = 32 * MIB


class ZeroCopy(CopyTest):
    def setUp(self):
        super().setUp()
        self.counts = self.disk / "counts"
        self.file = self.make_file(self.source / "file", SIZE)

    def counted(self, *words, stdin=None) -> list[int]:
        """Bytes copied, by process, in a copy with the counter loaded at both ends."""
        settings = preloaded("count_copies", RDCP_COUNT_COPIES=self.counts)
        far = self.far_rdcp("rdcp", settings)
        environment = {**os.environ, **settings}
        options = {"env": environment} if stdin is None else {"env": environment, "stdin": stdin}
        done = self.start("--rdcp-path", far, *words, **options).finish(120)
        self.assertEqual(done.status, 0, done)
        return [int(line) for line in self.counts.read_text().split()]

    @unittest.skipUnless(os.environ.get("RDCP_TEST_TRANSPORT") == "rdma", "RDMA runs in the VM")
    def test_rdma_copies_no_payload(self):
        target = self.disk / "copy"
        counts = self.counted("--cache=bypass", "-v", self.file, f"dest:{target}")
        self.assert_same_file(self.file, target)
        self.assertGreaterEqual(len(counts), 2, "both ends must have counted")
        # What is left are libraries at their start and the like; a single pass over the payload would be 32 MiB.
        self.assertLess(sum(counts), MIB, counts)

    def test_the_counter_counts(self):
        """Standard input to a local file goes through streams in memory, which do copy."""
        with open(self.file, "rb") as source:
            counts = self.counted("-", self.disk / "copy", stdin=source)
        self.assertGreaterEqual(sum(counts), SIZE)


if __name__ == "__main__":
    unittest.main()
