"""A chain of three targets over RDMA between two VMs: each link of it goes over the cables, also where a target may lock little
memory, and what becomes of it when the target in the middle is killed."""

import contextlib
import json
import os
import signal
import subprocess
import unittest
from pathlib import Path

from bed import SSH, take_node_away
from copying import VmCopyTest, harness  # puts the harness on the path
from harness import EXIT_FILES, EXIT_OK, KIB, MIB, RDCP, wait_for

TARGETS = ("n1", "n2", "n3")
HERE = "n2"  # the others are the other machine, so that each link joins both
TO = f"{','.join(TARGETS)}:copy"
# Less than is locked without a limit.
LITTLE = f"prlimit --memlock={2 * MIB}:{2 * MIB} setpriv --bounding-set -ipc_lock"
LARGE = 3 * MIB
PACKET = 4 * KIB  # at most, of what a packet carries
CHAIN = ("--fanout", "1")  # an emulated machine takes so long to answer that rdcp would make a tree
SLOWLY = ("--chunk-size", "64K", "--bwlimit", "256K")

# rdcp's -e: each target has a folder of its own, which a relative DST is beneath. Both machines have all of them.
SHELL = """#!/bin/sh
target=$1; shift
printf '%s\\n' "$*" > {folder}/$target.command
run="cd {folder}/$target && exec $(cat {folder}/$target.limit) sh ../$target.command"
[ $target = {here} ] && exec sh -c "$run"
exec {ssh} "$run"
"""
# Says that it is there. Once there is a line to read, it lists all queue pairs of a machine; then of each thread of rdcp its
# number and the name of the folder that it runs in.
LOOK = """echo ready
read go
rdma -j res show qp
for process in $(pgrep -x rdcp); do
  folder=$(readlink /proc/$process/cwd)
  for thread in /proc/$process/task/*; do echo ${thread##*/} ${folder##*/}; done
done"""


def sent_packets() -> int:
    counters = Path("/sys/class/infiniband").glob("*/ports/1/hw_counters/sent_pkts")
    return sum(int(counter.read_text()) for counter in counters)


def connected(shown: str) -> list[dict]:
    """Those of the queue pairs that `rdma` has listed that are joined to another one."""
    return [pair for pair in json.loads(shown) if (pair["type"], pair["state"]) == ("RC", "RTS")]


def pairs_here() -> int:
    return len(connected(subprocess.run(["rdma", "-j", "res", "show", "qp"], capture_output=True, text=True, check=True).stdout))


class Chain(VmCopyTest):
    hosts = 2

    def setUp(self):
        super().setUp()
        for target in TARGETS:
            (self.disk / target).mkdir()
            (self.disk / f"{target}.limit").touch()
        self.shell = self.disk / "shell"
        self.shell.write_text(SHELL.format(folder=self.disk, here=HERE, ssh=" ".join(SSH)))
        self.shell.chmod(0o755)
        self.make_tree()

    def make_tree(self):
        (self.source / "sub" / "empty").mkdir(parents=True)
        self.make_file(self.source / "large", LARGE)
        self.make_file(self.source / "sub" / "odd", MIB + 77, seed=9)
        for i in range(40):
            (self.source / "sub" / f"small-{i}").write_bytes(bytes([i]) * i * 100)
        (self.source / "link").symlink_to("sub/small-7")
        (self.source / "dangling").symlink_to("nothing")

    def command(self, *words) -> list[str]:
        return [str(RDCP), "-e", str(self.shell), "--rdcp-path", str(RDCP), "--transport", "rdma", *map(str, words)]

    def assert_have(self, *targets: str):
        for target in targets:
            self.assert_same_tree(self.source, self.disk / target / "copy")
            self.assert_no_litter(self.disk / target)

    def copy_tree(self, *options) -> tuple[dict, str]:
        """Returns what --json and -v say, once each of the three has a whole copy, and the data has left this machine over RDMA
        twice: for n1 and for n3."""
        before = sent_packets()
        done = self.copy("-v", "--json", *CHAIN, *options, "-r", f"{self.source}/", TO, timeout=240)
        self.assertGreater(sent_packets() - before, 2 * LARGE // PACKET, done)
        self.assert_have(*TARGETS)
        said = json.loads(done.out.splitlines()[-1])
        for way in said["streams"]:
            self.assertRegex(way, "^rdma rxe[01]/1 ")
        self.assertEqual([host["status"] for host in said["hosts"]], [EXIT_OK] * len(TARGETS))
        return said, done.err

    def test_a_tree(self):
        said, _ = self.copy_tree()
        self.assertFalse(said["encrypted"])
        self.copy("--check", f"{self.source}/", TO)

    def test_encrypted(self):
        """Each target also proves what it has got."""
        said, _ = self.copy_tree("--encrypt")
        self.assertTrue(said["encrypted"])

    def test_without_rdma_cm(self):
        """The orders of each link are relayed to the two that it joins."""
        take_node_away(self)
        take_node_away(self, *SSH)
        said, _ = self.copy_tree()
        for way in said["streams"]:
            self.assertIn(", without rdma_cm) ", way)

    def test_targets_that_may_lock_little(self):
        for target in ("n1", HERE):
            (self.disk / f"{target}.limit").write_text(LITTLE)
        _, told = self.copy_tree()
        self.assertIn("the locked-memory limit of n1", told)

    def look_later(self, *shell: str) -> subprocess.Popen:
        """To log in takes an emulated machine seconds, in which it does little else, so that is done before a copy begins."""
        process = subprocess.Popen([*shell, LOOK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def look(self, process: subprocess.Popen) -> dict[tuple, str]:
        """What such a shell has listed: each connected queue pair by its device and its numbers here and at the other end, with
        the folder of its owner. The kernel names the thread that made a pair."""
        shown, *lines = process.communicate(timeout=60)[0].splitlines()
        folders = {int(thread): folder for thread, folder in map(str.split, lines)}
        return {(pair["ifname"], pair["lqpn"], pair["rqpn"]): folders.get(pair["pid"], "nobody") for pair in connected(shown)}

    def agent_here(self) -> int | None:
        """The process that is the target on this machine, once there is one."""
        found = subprocess.run(["pgrep", "-x", "rdcp"], capture_output=True, text=True, check=False).stdout.split()
        for pid in found:
            with contextlib.suppress(OSError):  # it may end meanwhile
                if Path(f"/proc/{pid}/cwd").readlink() == self.disk / HERE:
                    return int(pid)
        return None

    def test_the_middle_one_is_killed(self):
        before, later = sent_packets(), [self.look_later(*shell) for shell in (("sh", "-c"), SSH)]
        running = self.start("-v", *CHAIN, *SLOWLY, "-r", f"{self.source}/", TO)
        agent = wait_for(self.agent_here, 60)
        each = [(self.disk.name, "n1"), (HERE, "n1"), (HERE, "n3")]
        # The source may have filled the slots of n1 before n2 has n3.
        joined = wait_for(lambda: pairs_here() >= 2 * len(each), 60)
        data = wait_for(lambda: sent_packets() - before > MIB // PACKET, 60)
        if not (agent and joined and data):
            self.fail(f"agent {agent}, joined {joined}, data {data}: {running.finish(240)}")
        os.kill(agent, signal.SIGSTOP)  # so that the copy is not over before we have looked
        for process in later:
            print("go", file=process.stdin, flush=True)
        here, there = map(self.look, later)
        os.kill(agent, signal.SIGKILL)
        done = running.finish(240)
        links = sorted((owner, there[device, far, near]) for (device, near, far), owner in here.items()
                       if (device, far, near) in there)
        self.assertEqual(links, sorted(2 * each), f"over both cables: {done}")
        self.assertEqual(done.status, EXIT_FILES, done)
        self.assertIn("goes on with 2 of 3 hosts", done.err)
        self.assertIn("2 of 3 hosts have all", done.err)
        self.assert_have("n1", "n3")
        self.assertTrue(wait_for(lambda: not harness.remote_agents(), 20), "an agent goes on there")


if __name__ == "__main__":
    unittest.main()
