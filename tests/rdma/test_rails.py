"""What becomes of a copy over two RDMA ports when one of them, both, or the peer goes away. Within the VM, both agents on
one host."""

import os
import signal
import subprocess
import unittest
from pathlib import Path

from copying import VmCopyTest  # puts the harness on the path
from harness import EXIT_DATA, EXIT_OK, MIB, Running, remote_agents, wait_for

SIZE = 24 * MIB
SLOWLY = ["-v", "--transport", "rdma", "--chunk-size", "64K", "--bwlimit", "4M"]
MANY_PACKETS = 200  # more than connecting takes


def packets_sent(device: str) -> int:
    return int(Path(f"/sys/class/infiniband/{device}/ports/1/hw_counters/sent_pkts").read_text())


def run(*words):
    subprocess.run(words, check=True, timeout=60)


class Rails(VmCopyTest):
    def setUp(self):
        super().setUp()
        self.make_file(self.source / "large", SIZE)
        for i in range(20):
            (self.source / f"small-{i}").write_bytes(bytes([i]) * i * 100)

    def start_copy(self, *options) -> Running:
        """A copy that is under way over both ports."""
        before = {device: packets_sent(device) for device in ("rxe0", "rxe1")}
        running = self.start("-r", *SLOWLY, *options, f"{self.source}/", f"dest:{self.target}")

        def both_carry():
            return all(packets_sent(device) - sent > MANY_PACKETS for device, sent in before.items())
        if not wait_for(lambda: both_carry() or running.process.poll() is not None, 40):
            running.kill()
        if running.process.poll() is not None:
            self.fail(f"no data over both ports: {running.finish(10)}")
        return running

    def delete(self, device: str, interface: str):
        """Deleting waits for the processes that have the device open, so it is not waited for here."""
        deleting = subprocess.Popen(["rdma", "link", "delete", device])
        self.addCleanup(run, "rdma", "link", "add", device, "type", "rxe", "netdev", interface)
        self.addCleanup(deleting.wait, 60)

    def assert_went_on(self, running: Running, device: str):
        done = running.finish(150)
        self.assertEqual(done.status, EXIT_OK, done)
        self.assert_same_tree(self.source, self.target)
        self.assertRegex(done.err, rf"warning: stream \d+ \(rdma {device} .*\) was lost: ")
        self.assertIn("its chunks went over the others", done.err)

    def test_a_device_is_deleted(self):
        running = self.start_copy()
        self.delete("rxe1", "rail1")
        self.assert_went_on(running, "rxe1")

    def test_an_interface_goes_down(self):
        running = self.start_copy()
        # Linux 6.1: the management queue pair of a Soft-RoCE device that met this is stuck until it is made anew. (rping
        # does not connect, either.) IPv6 addresses do not come back by themselves.
        self.addCleanup(run, "rdma", "link", "add", "rxe1", "type", "rxe", "netdev", "rail1")
        self.addCleanup(run, "rdma", "link", "delete", "rxe1")
        self.addCleanup(run, "ip", "addr", "replace", "fd78::1/64", "dev", "rail1", "nodad")
        self.addCleanup(run, "ip", "link", "set", "rail1", "up")
        run("ip", "link", "set", "rail1", "down")
        self.assert_went_on(running, "rxe1")

    def test_all_devices_are_deleted(self):
        running = self.start_copy()
        self.delete("rxe0", "rail0")
        self.delete("rxe1", "rail1")
        done = running.finish(60)
        self.assertEqual(done.status, EXIT_DATA, done)
        self.assertNotIn("large", os.listdir(self.target))
        self.assert_no_litter(self.target, cut_short=True)
        self.assert_nothing_lives(running)

    def test_the_peer_is_killed(self):
        running = self.start_copy()
        for pid in remote_agents():
            os.kill(pid, signal.SIGKILL)
        done = running.finish(60)
        self.assertNotEqual(done.status, EXIT_OK, done)
        self.assertNotIn("large", os.listdir(self.target))
        self.assert_nothing_lives(running)


if __name__ == "__main__":
    unittest.main()
