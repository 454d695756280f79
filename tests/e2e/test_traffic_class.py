"""--tos: what goes over TCP carries the class, both ways and at each hop of a chain. The hosts are namespaces whose nft counts."""

import json
import os
import re
import shutil
import subprocess
import unittest

from harness import BUILD, EXIT_OK, EXIT_USAGE, MIB, RDCP, Running, make_file, wait_for
from fleet_test import FleetTest

from fleet import BRIDGE, SSH_PORT  # in scripts/lib, as harness has it
from network import FAR_DEVICE

AF31 = 26
SIZE = 3 * MIB + 5
# What is left without the class: knocks (net/tcp/knock), and an answer to whoever connects before its listener is told.
UNMARKED_MAX = 16 << 10
NEAR6, FAR6 = "fd79::254", "fd79::1"


@unittest.skipUnless(shutil.which("nft"), "no nft")
class TrafficClass(FleetTest):
    HOSTS = 2

    def setUp(self):
        super().setUp()
        self.file = make_file(self.disk / "file", SIZE)
        self.there = self.fleet.data / "copy"

    def command(self, *words) -> list[str]:
        return [str(RDCP), "-e", self.fleet.ssh_text(), "--rdcp-path", str(RDCP), *map(str, words)]

    def count(self, dscp: int = AF31):
        """From now on each host counts the bytes of TCP that come and go, but ssh's, with this class and without."""
        for host in self.fleet.hosts:
            chains = ""
            for hook, way in (("input", "in"), ("output", "out")):
                chains += (f"counter {way}_marked {{}}\n counter {way}_other {{}}\n"
                           f"chain {hook} {{ type filter hook {hook} priority 0;\n tcp sport {SSH_PORT} accept\n"
                           f" tcp dport {SSH_PORT} accept\n meta l4proto tcp ip dscp {dscp} counter name {way}_marked accept\n"
                           f" meta l4proto tcp ip6 dscp {dscp} counter name {way}_marked accept\n"
                           f" meta l4proto tcp counter name {way}_other\n }}\n")
            subprocess.run([*host.inside, "nft", "-f", "-"], input=f"table inet marks {{\n{chains}}}\n", text=True, check=True)
            self.addCleanup(subprocess.run, [*host.inside, "nft", "flush", "ruleset"], check=True)

    def counted(self, number: int) -> dict[str, int]:
        """The bytes that a host has counted, by counter."""
        listed = subprocess.run([*self.fleet[number].inside, "nft", "-j", "list", "counters"], capture_output=True, check=True)
        return {each["counter"]["name"]: each["counter"]["bytes"] for each in json.loads(listed.stdout)["nftables"]
                if "counter" in each}

    def assert_marked(self, number: int, **at_least: int):
        """Each counter that is named has so many bytes, and almost nothing has another class."""
        counted = self.counted(number)
        for name, size in at_least.items():
            self.assertGreaterEqual(counted[name], size, counted)
        for name in ("in_marked", "out_marked"):
            self.assertGreater(counted[name], 0, counted)
        for name in ("in_other", "out_other"):
            self.assertLess(counted[name], UNMARKED_MAX, counted)

    def test_packets_carry_it_both_ways(self):
        self.count()
        done = self.copy("-v", "--tos", "af31", self.file, f"h1:{self.there}")
        self.assertIn("packets carry traffic class 104 (DSCP 26, af31)", done.err)
        self.assert_marked(1, in_marked=SIZE)
        self.assert_same_file(self.file, self.fleet[1].own / "copy")
        self.copy("--tos", "0x68", f"h1:{self.there}", self.disk / "back")
        self.assert_marked(1, in_marked=SIZE, out_marked=SIZE)

    def test_without_it_they_carry_the_systems(self):
        self.count()
        for words in ((), ("--tos", "none")):
            self.assertNotIn("traffic class", self.copy("-v", *words, self.file, f"h1:{self.there}").err)
        counted = self.counted(1)
        self.assertEqual((counted["in_marked"], counted["out_marked"]), (0, 0))
        self.assertGreater(counted["in_other"], 2 * SIZE)

    def test_over_ipv6(self):
        host = self.fleet[1]
        subprocess.run(["ip", "address", "add", f"{NEAR6}/64", "dev", BRIDGE, "nodad"], check=True)
        self.addCleanup(subprocess.run, ["ip", "address", "delete", f"{NEAR6}/64", "dev", BRIDGE], check=True)
        there = [*host.inside, "ip", "address"]
        subprocess.run([*there, "add", f"{FAR6}/64", "dev", FAR_DEVICE, "nodad"], check=True)
        self.addCleanup(subprocess.run, [*there, "delete", f"{FAR6}/64", "dev", FAR_DEVICE], check=True)
        self.count()
        done = self.copy("-v", "--via", FAR6, "--tos", "AF31", self.file, f"h1:{self.there}")
        self.assertIn(f"[{FAR6}]:", done.err)
        self.assert_marked(1, in_marked=SIZE)

    def test_each_hop_of_a_chain_marks(self):
        self.count()
        self.copy("--tos", "af31", "--no-encrypt", "--fanout", "1", self.file, f"h[1-2]:{self.there}")
        self.assert_marked(1, in_marked=SIZE, out_marked=SIZE)
        self.assert_marked(2, in_marked=SIZE)

    def test_a_setting_for_the_host(self):
        (self.disk / "rdcp").mkdir()
        config = self.disk / "rdcp" / "config"
        config.write_text("[host h1]\ntos = cs1\n")
        config.chmod(0o644)
        env = {**os.environ, "XDG_CONFIG_HOME": str(self.disk)}
        self.count(dscp=8)
        self.copy(self.file, f"h1:{self.there}", env=env)
        self.assert_marked(1, in_marked=SIZE)
        shown = self.copy("--print-config", "h1", env=env).out.decode()
        self.assertIn(f"tos cs1 ({config}:2)\n", shown)
        self.assertIn("tos none (default)\n", self.copy("--print-config", "h2", env=env).out.decode())

    def test_what_ssh_carries_is_not_marked(self):
        done = self.copy("--via", "ssh", "--tos", "af31", self.file, f"h1:{self.there}")
        self.assertIn("warning: --tos is not heeded, because the data goes through ssh, which marks its packets itself", done.err)

    def test_the_doctor_tells_it(self):
        self.count()
        report = self.rdcp("--doctor", "--transport", "tcp", "--tos", "af31", "h1").out.decode()
        self.assertRegex(report, r"ok +--tos +packets of copies carry traffic class 104 \(DSCP 26, af31\)")
        self.assertRegex(report, r"ok +TCP .*, traffic class 104 \(DSCP 26, af31\)")
        self.assert_marked(1, in_marked=SIZE)
        told = json.loads(self.rdcp("--doctor", "--json", "--transport", "tcp", "--tos", "104", "h1").out)
        self.assertEqual(told["transfers"][0]["tos"], 104)

    def stream(self, receives: tuple, sends: tuple):
        """Sends the file from this host to rdrecv on the first one."""
        errors = self.disk / "errors"
        with open(errors, "wb") as said:
            receiver = Running([*self.fleet[1].inside, BUILD / "rdrecv", *receives, "0", "a_key", self.there],
                               stdout=subprocess.DEVNULL, stderr=said)
        self.addCleanup(receiver.kill)
        found = wait_for(lambda: re.search(r"^port (\d+)$", errors.read_text(), re.M), 20)
        self.assertTrue(found, errors.read_text())
        done = Running([BUILD / "rdsend", *sends, self.fleet[1].address, found[1], "a_key", self.file]).finish(60)
        self.assertEqual(done.status, EXIT_OK, done)
        self.assertEqual(receiver.process.wait(60), EXIT_OK, errors.read_text())
        self.assert_same_file(self.file, self.fleet[1].own / "copy")

    def test_a_stream_of_rdsend(self):
        self.count()
        self.stream((), ("--tos", "af31"))
        self.assert_marked(1, in_marked=SIZE)

    def test_each_end_of_a_stream_may_have_its_own(self):
        self.count()
        self.stream(("--tos", "af31"), ("--tos", "cs1"))
        counted = self.counted(1)
        self.assertGreater(counted["out_marked"], 0, counted)
        self.assertEqual(counted["in_marked"], 0, counted)

    def test_a_pipeline(self):
        self.count()
        out = self.disk / "out"
        piped = Running([BUILD / "rdpipe", "-e", self.fleet.ssh_text(), "--rdcp-path", RDCP, "--tos", "af31",
                         f"head -c {SIZE} /dev/zero", "h1:cat", f":> {out}"])
        self.addCleanup(piped.kill)
        done = piped.finish(60)
        self.assertEqual(done.status, EXIT_OK, done)
        self.assertEqual(out.stat().st_size, SIZE)
        self.assert_marked(1, in_marked=SIZE, out_marked=SIZE)

    def test_what_is_no_class_is_refused(self):
        for word in ("256", "-1", "0x100", "af44", "104 "):
            done = self.rdcp(f"--tos={word}", self.file, f"h1:{self.there}")
            self.assertEqual(done.status, EXIT_USAGE, done)
            self.assertIn("must be a number from 0 to 255 (0x00 to 0xff), none, or one of cs0, ", done.err)


if __name__ == "__main__":
    unittest.main()
