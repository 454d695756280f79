"""A cable between two hosts that is cut during a copy over RDMA, and mended again: its streams are made anew."""

import contextlib
import json
import os
import subprocess
import time
import unittest
from pathlib import Path

from bed import KIND, SECOND
from copying import VmCopyTest  # puts the harness on the path
from harness import EXIT_DATA, EXIT_OK, MIB, Running, wait_for

DEVICE, INTERFACE = SECOND, "eth1"  # ssh goes over the other one
ONLY = ("--via", DEVICE, "--streams", "1")
LARGE = 4 * MIB
SLOWLY = ("-r", "-v", "--transport", "rdma", "--chunk-size", "64K", "--bwlimit", "512K")
PATIENTLY = ("--retry-time", "300")  # the cable is cut for as long as another copy takes, emulated
THEN_ANOTHER = "another one took its place"
GIVES_UP = 15 if KIND == "rxe" else 45  # seconds; that of iWARP's own, TCP, takes minutes, so rdcp's silence of 25 s counts
FOR_LONGER = ("--bwlimit", "512K" if KIND == "rxe" else "224K")  # it still copies when one of its streams is given up


def netem(verb: str, *what: str):
    subprocess.run(["tc", "qdisc", verb, "dev", INTERFACE, "root", *what], check=True)


def connections() -> set:
    """The numbers of the connected queue pairs of this host's end of the cable, or Soft-iWARP's TCP connections."""
    if KIND == "siw":
        told = subprocess.run(["ss", "-tnH", "state", "established", "src", "10.78.0.0/24"], capture_output=True, text=True,
                              check=True)
        return {tuple(line.split()[2:4]) for line in told.stdout.splitlines()}
    told = subprocess.run(["rdma", "-j", "res", "show", "qp", "link", f"{DEVICE}/1"], capture_output=True, check=True)
    return {pair["lqpn"] for pair in json.loads(told.stdout) if pair["type"] == "RC" and pair["state"] == "RTS"}


class ComeBack(VmCopyTest):
    hosts = 2

    def setUp(self):
        super().setUp()
        for i in range(3):  # several, so that each stream has one
            self.make_file(self.source / f"large-{i}", LARGE, seed=i)
        for i in range(20):
            (self.source / f"small-{i}").write_bytes(bytes([i]) * i * 100)

    def begin(self, *copies: tuple, here: tuple = ()) -> list[tuple[Running, Path]]:
        """Copies with these options that have only begun; one with the options `here` comes from the other host. They
        begin at the same time, so that none is over when the last one has begun. One has begun when a file is there
        under its own name: the streams are complete then, as they are not while the target's file system is tried."""
        begun = []
        for options in (*copies, *([here] if here else [])):
            target = self.target / f"copy-{len(begun)}"
            target.mkdir()
            ends = [f"dest:{self.source}/", target] if options is here else [f"{self.source}/", f"dest:{target}"]
            begun.append((self.start(*SLOWLY, *options, *ends), target))
        self.assertTrue(wait_for(lambda: len(connections()) >= len(begun) and
                                 all(any(target.glob("small-*")) for _, target in begun), 60), "they do not begin")
        return begun

    def cut(self):
        self.addCleanup(self.mend)
        netem("add", "netem", "loss", "100%")
        self.cut_at = time.monotonic()

    def mend(self):
        with contextlib.suppress(subprocess.CalledProcessError):
            netem("del")

    def assert_came_back(self, running: Running, target: Path):
        done = running.finish(120)
        self.assertEqual(done.status, EXIT_OK, done)
        self.assertRegex(done.err, rf"warning: stream \d+ \(rdma {DEVICE}/1 .*\) was lost: .*; {THEN_ANOTHER}\n")
        self.assert_same_tree(self.source, target)
        self.assert_no_litter(target)

    def test_a_cable_that_is_mended(self):
        over_both, *over_one = self.begin(("--streams", "2", *FOR_LONGER), (*ONLY, *PATIENTLY),
                                          here=("--encrypt", *ONLY, *PATIENTLY))
        before = connections()
        self.cut()
        self.assertTrue(wait_for(lambda: not before & connections(), GIVES_UP), "it is not given up")
        for running, _ in over_one:
            self.assertIsNone(running.process.poll())
        self.assert_came_back(*over_both)  # by the other cable, perhaps before the last of the others gave up
        self.mend()
        for running, target in over_one:
            self.assert_came_back(running, target)

    def test_one_that_is_not(self):
        [(running, target)] = self.begin((*ONLY, "--retry-time", "5"))
        self.cut()
        done = running.finish(90)
        self.assertEqual(done.status, EXIT_DATA, done)
        # What leaves the other host still arrives, so it may be the first one to give up, and tell.
        self.assertRegex(done.err, "does not answer any more|closed the connection before the end|it lost the connection")
        self.assertGreater(time.monotonic() - self.cut_at, 5)
        self.assertLess(time.monotonic() - self.cut_at, 5 + 40)
        self.assertNotIn("large-2", os.listdir(target))
        self.assert_no_litter(target, cut_short=True)


if __name__ == "__main__":
    unittest.main()
