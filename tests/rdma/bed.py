"""What the tests within the VM share: both ends of rdmacm-utils' rping, waiting for one, and a host without librdmacm."""

import contextlib
import os
import re
import subprocess
import time
import unittest
from pathlib import Path

HOSTS = int(os.environ.get("RDCP_VM_HOSTS", "0"))
KIND = os.environ.get("RDCP_VM_DEVICE", "rxe")  # as rdma-link(8) names it: Soft-RoCE, or siw, Soft-iWARP
FIRST, SECOND = f"{KIND}0", f"{KIND}1"  # the devices of each host
SSH = ["ssh", "-F", os.environ.get("RDCP_VM_SSH_CONFIG", "/dev/null"), "dest"]

CM_NODE = "/dev/infiniband/rdma_cm"
CLOSED_TOO_SOON = "rdma_get_cm_event: Bad file descriptor"  # of rping


def sent(device: str) -> int:
    """How many packets a device has sent; of Soft-iWARP, which counts none, so many KiB."""
    if KIND == "rxe":
        return int(Path(f"/sys/class/infiniband/{device}/ports/1/hw_counters/sent_pkts").read_text())
    subnet = f"10.{77 + int(device[-1])}.0.0/24"
    listed = subprocess.run(["ss", "-tinH", "src", subnet], capture_output=True, text=True, check=True)
    return sum(map(int, re.findall(r"bytes_sent:(\d+)", listed.stdout))) >> 10


def take_node_away(test: unittest.TestCase, *where: str):
    """This host, or with SSH the other one, has no librdmacm for a while, as a container that was not given the node."""
    away = f"{CM_NODE}.away"
    subprocess.run([*where, "mv", CM_NODE, away], check=True)
    test.addCleanup(subprocess.run, [*where, "mv", away, CM_NODE], check=True)


class InVm(unittest.TestCase):
    hosts = 1

    @classmethod
    def setUpClass(cls):
        if HOSTS != cls.hosts:
            raise unittest.SkipTest(f"not in a VM with {cls.hosts} host(s): use scripts/rdma-vm")

    def text(self, *words) -> str:
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stderr}")
        return done.stdout

    def start(self, *words) -> subprocess.Popen:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def check_rping(self, address: str, *where_server, loses=False):
        """Sends, receives and reads and writes by RDMA, five times, to an address with a server. loses: packets are lost, so one
        end may have all it needs when the other one gives up; then both try again, twice, because a server serves one client."""
        both = ["-a", address, "-C", "5", "-S", "4000"]
        server = self.start(*where_server, "rping", "-s", *both)
        client = ["rping", "-c", "-v", *both]
        tries = 3 if loses else 1
        deadline = time.monotonic() + 30
        # One who comes while Soft-iWARP's listener is being made may wait for ever (Linux 6.1, siw_create_listen()).
        while KIND == "siw" and not self.text(*where_server, "ss", "-tlnH", "src", f"[{address}]" if ":" in address else address):
            self.assertLess(time.monotonic(), deadline, "rping does not listen")
        while True:  # the server takes a moment, and a refusal is the only sign that it is not there yet
            done = subprocess.run(client, capture_output=True, text=True, timeout=60, check=False)
            # At its end the client may close the channel of events while its other thread waits for one, and calls that an error.
            if "rdma-ping-4" in done.stdout and (done.returncode == 0 or CLOSED_TOO_SOON in done.stderr):
                break
            said = f"{done.stdout[-200:]}{done.stderr}"
            if server.poll() is not None:
                tries -= 1
                self.assertGreater(tries, 0, f"the server has ended with status {server.returncode}; the client: {said}")
                server = self.start(*where_server, "rping", "-s", *both)
                deadline = time.monotonic() + 30
            self.assertLess(time.monotonic(), deadline, f"rping {address}: {said}")
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(10)
