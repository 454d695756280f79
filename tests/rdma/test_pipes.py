"""rdsend and rdrecv over RDMA, both on one host: what test_pipe_ends has of TCP, as far as the transport has a part in it."""

import os
import signal
import subprocess
import unittest

from bed import FIRST, InVm
from copying import harness  # noqa: F401: puts the harness on the path
from harness import EXIT_DATA, EXIT_FILES, EXIT_HOST, KIB, MIB, wait_for
from pipes import PipeTest
from test_pipe_ends import moved

HOST = "10.77.0.1"  # of the first device
RDMA = ("--transport", "rdma", "--via", FIRST)
SIZES = (0, 1, 4097, MIB, 5 * MIB + 17)


class OverRdma(PipeTest, InVm):
    @classmethod
    def setUpClass(cls):
        InVm.setUpClass.__func__(cls)
        PipeTest.setUpClass.__func__(cls)

    def pair(self, *words, receive: dict | None = None, **send):
        receiver, port = self.receiver(*words, options=RDMA, **(receive or {}))
        options = ("--transport", "rdma", *send.pop("options", ()))
        return receiver, self.sender(port, host=HOST, options=options, **send)

    def test_every_byte_and_over_what(self):
        for size in SIZES:
            source = self.make_file(f"source-{size}", size)
            for file in (False, True):
                with self.subTest(size=size, file=file):
                    found = self.send(source, file_in=file, file_out=file, host=HOST, options=("-v", "--transport", "rdma"),
                                      receive_options=("-v", *RDMA))
                    self.assert_same_bytes(source, found)
                    for said in self.said:
                        self.assertIn(f" over rdma {FIRST}/1 ", said)
                        self.assertNotIn(" over tcp", said)

    def test_through_pipes(self):
        source = self.make_file("source", 20 * MIB + 5)
        cat = self.feeder(source)
        receiver, sender = self.pair(stdin=cat.stdout, options=("--chunk-size", "64K"))
        self.take_all(receiver)
        self.end(sender, 0)
        self.end(receiver, 0)
        self.assert_same_bytes(source, self.folder / "out")

    def heard(self, receiver) -> bytes:
        if found := os.read(receiver.process.stdout.fileno(), 100):
            return found
        self.fail("rdrecv has ended: " + self.end(receiver, None))

    def test_a_line_travels_at_once(self):
        receiver, sender = self.pair(stdin=subprocess.PIPE)
        for line in (b"first", b"second"):
            os.write(sender.process.stdin.fileno(), line)
            self.assertEqual(self.heard(receiver), line)
        self.close_input(sender)
        self.end(sender, 0)
        self.end(receiver, 0)

    def test_a_wrong_key_is_refused_and_the_wait_goes_on(self):
        receiver, port = self.receiver(options=RDMA)
        self.assertIn("another KEY", self.end(self.sender(port, host=HOST, key=("wrong",)), EXIT_HOST))
        self.end(self.sender(port, host=HOST, options=("--transport", "rdma"), stdin=subprocess.DEVNULL), 0)
        self.assertIn("refused", self.end(receiver, 0))

    def under_way(self, *words, **options):
        feeder = self.feeder()
        receiver, sender = self.pair(*words, stdin=feeder.stdout, options=("--bwlimit", "10M"), **options)
        self.assertTrue(wait_for(lambda: moved(feeder.pid) > 4 * MIB, 60))
        return receiver, sender

    def test_a_killed_sender_is_no_end_of_the_stream(self):
        for words in ((), ("target",)):
            with self.subTest(words=words):
                receiver, sender = self.under_way(*words, receive={"stdout": subprocess.DEVNULL})
                os.kill(sender.pid, signal.SIGKILL)
                self.end(receiver, EXIT_DATA)
                self.assertFalse((self.folder / "target").exists())

    def test_a_killed_receiver_ends_the_sender(self):
        receiver, sender = self.under_way(receive={"stdout": subprocess.DEVNULL})
        os.kill(receiver.pid, signal.SIGKILL)
        self.end(sender, EXIT_DATA)

    def test_a_reader_that_is_gone(self):
        receiver, sender = self.under_way()
        self.assertTrue(receiver.process.stdout.read1(64 * KIB))
        self.close_output(receiver)
        self.assertIn("Broken pipe", self.end(sender, EXIT_FILES))
        self.assertIn("Broken pipe", self.end(receiver, EXIT_FILES))


if __name__ == "__main__":
    unittest.main()
