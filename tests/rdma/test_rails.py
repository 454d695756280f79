"""What becomes of a copy over two RDMA ports when one of them, both, or the peer goes away. Within the VM, both agents on
one host."""

import os
import signal
import subprocess
import time
import unittest
from pathlib import Path

from bed import FIRST, KIND, SECOND, sent
from copying import VmCopyTest  # puts the harness on the path
from harness import EXIT_DATA, EXIT_OK, MIB, Running, remote_agents, session_of, wait_for, where

SIZE = 24 * MIB
SLOWLY = ["-v", "--transport", "rdma", "--chunk-size", "64K", "--bwlimit", "4M"]
THEN_ANOTHER = "another one took its place"
MANY_PACKETS = 200  # more than connecting takes


def run(*words):
    subprocess.run(words, check=True, timeout=60)


class Rails(VmCopyTest):
    def setUp(self):
        super().setUp()
        self.make_file(self.source / "large", SIZE)
        for i in range(20):
            (self.source / f"small-{i}").write_bytes(bytes([i]) * i * 100)

    def start_copy(self, *options, devices=(FIRST, SECOND)) -> Running:
        """A copy that is under way over these ports."""
        before = {device: sent(device) for device in devices}
        running = self.start("-r", *SLOWLY, *options, f"{self.source}/", f"dest:{self.target}")

        def all_carry():
            grown = [sent(device) - count for device, count in before.items()]
            # Where one processor does it all, the first stream over Soft-iWARP may be free for each next chunk.
            return min(grown) > (MANY_PACKETS if KIND == "rxe" else 0) and max(grown) > MANY_PACKETS
        if not wait_for(lambda: all_carry() or running.process.poll() is not None, 40):
            counts = {device: sent(device) - count for device, count in before.items()}
            threads = where(session_of(running.pid) + remote_agents())
            running.process.send_signal(signal.SIGINT)
            self.fail(f"packets within 40 s: {counts}\n{threads}\n{running.finish(30)}")
        if running.process.poll() is not None:
            self.fail(f"no data over all ports: {running.finish(10)}")
        return running

    def delete(self, device: str, interface: str) -> subprocess.Popen:
        """Deleting waits for the processes that have the device open, so it is not waited for here. While another device is
        going rdma(8) may not find this one, and has to look again."""
        try_again = f"until rdma link delete {device} || [ ! -e /sys/class/infiniband/{device} ]; do sleep 0.1; done"
        deleting = subprocess.Popen(["sh", "-c", try_again])
        self.addCleanup(self.make_again, deleting, device, interface)
        return deleting

    def make_again(self, deleting: subprocess.Popen, device: str, interface: str):
        deleting.wait(60)
        if not Path("/sys/class/infiniband", device).exists():
            run("rdma", "link", "add", device, "type", KIND, "netdev", interface)

    def assert_went_on(self, running: Running, device: str, then: str):
        done = running.finish(150)
        self.assertEqual(done.status, EXIT_OK, done)
        self.assert_same_tree(self.source, self.target)
        self.assertRegex(done.err, rf"warning: stream \d+ \(rdma {device}/1 .*\) was lost: .*; {then}\n")
        self.assert_no_litter(self.target)

    def test_a_device_is_deleted(self):
        running = self.start_copy()
        self.delete(SECOND, "rail1")
        self.assert_went_on(running, SECOND, THEN_ANOTHER)

    def test_a_device_is_deleted_and_no_other_is_wanted(self):
        running = self.start_copy("--retry-time", "0")
        self.delete(SECOND, "rail1")
        self.assert_went_on(running, SECOND, "its chunks went over the others")

    def test_the_only_device_is_deleted(self):
        words = ("--via", SECOND, "--streams", "1", "--retry-time", "3")
        running = self.start_copy(*words, devices=[SECOND])
        # So that there is something to go on with.
        if not wait_for(lambda: any(path.stat().st_size > MIB for path in self.target.glob(".rdcp-*.part")), 20):
            listed = {path.name: path.stat().st_size for path in self.target.iterdir()}
            running.kill()
            self.fail(f"nothing to go on with: {listed}; {running.finish(10)}")
        deleting = self.delete(SECOND, "rail1")
        before = time.monotonic()
        done = running.finish(60)
        self.assertEqual(done.status, EXIT_DATA, done)
        self.assertLess(time.monotonic() - before, 3 + 15)
        self.assertNotIn("large", os.listdir(self.target))
        self.assert_nothing_lives(running)
        self.make_again(deleting, SECOND, "rail1")
        again = self.copy("-r", *SLOWLY, *words, "--bwlimit", "0", f"{self.source}/", f"dest:{self.target}")
        self.assertIn("were there already", again.err)
        self.assert_same_tree(self.source, self.target)
        self.assert_no_litter(self.target)

    def test_an_interface_goes_down(self):
        running = self.start_copy("--retry-time", "0")
        # Linux 6.1: the management queue pair of a Soft-RoCE device that met this is stuck until it is made anew. (rping
        # does not connect, either.) IPv6 addresses do not come back by themselves.
        self.addCleanup(run, "rdma", "link", "add", SECOND, "type", KIND, "netdev", "rail1")
        self.addCleanup(run, "rdma", "link", "delete", SECOND)
        self.addCleanup(run, "ip", "addr", "replace", "fd78::1/64", "dev", "rail1", "nodad")
        self.addCleanup(run, "ip", "link", "set", "rail1", "up")
        run("ip", "link", "set", "rail1", "down")
        self.assert_went_on(running, SECOND, "its chunks went over the others")

    def test_all_devices_are_deleted(self):
        running = self.start_copy("--retry-time", "0")
        self.delete(FIRST, "rail0")
        self.delete(SECOND, "rail1")
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

    def test_two_copies_share_a_range_of_ports(self):
        first = self.start_copy("--data-port", "7400-7401")
        second = self.copy("-v", "--transport", "rdma", "--data-port", "7400-7401", self.source / "small-19",
                           f"dest:{self.target}/other").err
        self.assertRegex(second, rf" over rdma {KIND}\d/1 ")
        done = first.finish(60)
        self.assertEqual(done.status, EXIT_OK, done)
        self.assert_same_file(self.source / "small-19", self.target / "other")


if __name__ == "__main__":
    unittest.main()
