"""Streams go to the NUMA node of their device. Within a VM that has two nodes with a processor each (scripts/rdma-vm --numa):
its network interface eth0 is on node 1, and so is a Soft-RoCE device that is made on it. Both ends are on this host; no ssh
is needed, which takes long where two processors are emulated."""

import contextlib
import os
import re
import subprocess
import unittest
from pathlib import Path

from bed import InVm
from copying import harness  # noqa: F401: puts the harness on the path
from harness import BUILD, local_agent
from pipes import PipeTest

DEVICE, HOST = "rxe9", "10.79.0.1"
OPTIONS = ("-v", "--transport", "rdma", "--via", DEVICE)
GONE = (FileNotFoundError, ProcessLookupError)
FROM, TO = (f"streams {way} {DEVICE} run on NUMA node 1, processors 1\n" for way in ("from", "to"))


def run(*words):
    subprocess.run(words, check=True, timeout=60)


def processors(pid: int) -> dict[Path, str]:
    """Those that each thread of the process may run on, as a list of the kernel's. io_uring's own workers are left out: the
    kernel has some on each node (io-wq)."""
    found = {}
    for thread in Path(f"/proc/{pid}/task").glob("*"):
        with contextlib.suppress(GONE):
            if (thread / "comm").read_text().startswith("iou-"):
                continue
            found[thread] = re.search(r"^Cpus_allowed_list:\s*(\S+)$", (thread / "status").read_text(), re.MULTILINE)[1]
    return found


def on_first_alone():
    os.sched_setaffinity(0, {0})


@unittest.skipUnless(os.environ.get("RDCP_VM_NUMA"), "not in a VM with two NUMA nodes: use scripts/rdma-vm --numa")
class Placement(PipeTest, InVm):
    @classmethod
    def setUpClass(cls):
        InVm.setUpClass.__func__(cls)
        PipeTest.setUpClass.__func__(cls)
        run("/run/sbin/modprobe", "virtio_net")
        run("ip", "link", "set", "eth0", "mtu", "9000", "up")
        run("ip", "address", "replace", f"{HOST}/24", "dev", "eth0")
        run("rdma", "link", "add", DEVICE, "type", "rxe", "netdev", "eth0")

    @classmethod
    def tearDownClass(cls):
        run("rdma", "link", "delete", DEVICE)

    def pair(self, *options, receive_options: tuple = (), **send):
        """A stream that has begun and waits for more."""
        receiver, port = self.receiver(options=(*OPTIONS, *receive_options))
        sender = self.sender(port, host=HOST, options=(*OPTIONS, *options), stdin=subprocess.PIPE, **send)
        os.write(sender.process.stdin.fileno(), b"first")
        self.assertEqual(os.read(receiver.process.stdout.fileno(), 100), b"first")
        return sender, receiver

    def end_both(self, sender, receiver) -> tuple[str, str]:
        self.close_input(sender)
        return self.end(sender, 0), self.end(receiver, 0)

    def test_the_interface_is_on_the_second_node(self):
        self.assertEqual(Path("/sys/class/net/eth0/device/../numa_node").read_text(), "1\n")
        for node in (0, 1):
            self.assertEqual(Path(f"/sys/devices/system/node/node{node}/cpulist").read_text(), f"{node}\n")

    def test_workers_and_their_memory_are_near_the_device(self):
        sender, receiver = self.pair()
        for pid in (local_agent(sender.pid), receiver.pid):
            found = processors(pid)
            workers = [thread for thread, where in found.items() if where == "1"]
            self.assertTrue(workers, found)
            self.assertEqual(found[Path(f"/proc/{pid}/task/{pid}")], "0-1", "other threads stay")
            # The policy of a thread is shown with each mapping that has none of its own (proc(5)).
            self.assertIn(" prefer:1 ", (workers[0] / "numa_maps").read_text())
            self.assertNotIn(" prefer:1 ", Path(f"/proc/{pid}/numa_maps").read_text())
        sent, received = self.end_both(sender, receiver)
        self.assertIn(FROM, sent)
        self.assertIn(TO, sent)  # a sender tells what its receiver has noted
        self.assertIn(TO, received)

    def test_the_senders_option_is_for_both(self):
        sender, receiver = self.pair("--no-numa")
        for pid in (local_agent(sender.pid), receiver.pid):
            self.assertEqual(set(processors(pid).values()), {"0-1"})
        for said in self.end_both(sender, receiver):
            self.assertNotIn("NUMA", said)

    def test_the_receivers_option_is_for_itself(self):
        sender, receiver = self.pair(receive_options=("--no-numa",))
        self.assertEqual(set(processors(receiver.pid).values()), {"0-1"})
        sent, received = self.end_both(sender, receiver)
        self.assertIn(FROM, sent)
        self.assertNotIn("NUMA", received)

    def test_what_a_process_was_started_with_is_kept_to(self):
        sender, receiver = self.pair(preexec_fn=on_first_alone)
        self.assertEqual(set(processors(local_agent(sender.pid)).values()), {"0"})
        sent, received = self.end_both(sender, receiver)
        self.assertNotIn(FROM, sent)
        self.assertIn(TO, received)

    def test_the_doctor_says_so(self):
        done = subprocess.run([BUILD / "rdcp", "--doctor"], capture_output=True, text=True, timeout=60, check=False)
        self.assertRegex(done.stdout, rf"{DEVICE}.*on NUMA node 1, and so its streams run there, on processors 1")


if __name__ == "__main__":
    unittest.main()
