"""Over what the data goes, between two hosts: the ports that were asked for, and TCP where RDMA turns out not to work."""

import os
import re
import subprocess
import unittest
from pathlib import Path

from bed import SSH
from copying import OneFile  # puts the harness on the path
from harness import EXIT_DATA, EXIT_OK, EXIT_USAGE, wait_for

NOBODYS_MAC = "02:00:00:00:00:99"
CABLES = {"eth0": "10.77.0.2", "eth1": "10.78.0.2"}  # of the far host
OVER_IPV6 = ["-o", "HostName=fd77::2"]


class Ways(OneFile):
    def mislead(self):
        """IPv4 packets for the far host go to nobody; ssh and TCP have IPv6."""
        for interface, address in CABLES.items():
            subprocess.run(["ip", "neigh", "replace", address, "lladdr", NOBODYS_MAC, "nud", "permanent", "dev",
                            interface], check=True)
            self.addCleanup(subprocess.run, ["ip", "neigh", "del", address, "dev", interface], check=True)

    def test_both_cables_are_used(self):
        told = self.told("--transport", "auto")
        self.assertIn("rdma rxe0/1", told)
        self.assertIn("rdma rxe1/1", told)

    def test_via_picks(self):
        for via in ("rxe1", "eth1", "10.78.0.1", "10.78.0.2"):
            with self.subTest(via):
                told = self.told("--transport", "rdma", "--via", via)
                self.assertIn("10.78.0.1 -> 10.78.0.2", told)
                self.assertNotIn("rxe0", told)

    def test_via_what_neither_has_names_what_there_is(self):
        done = self.rdcp("--transport", "rdma", "--via", "mlx5_9", self.file, f"dest:{self.target}/copy")
        self.assertEqual(done.status, EXIT_USAGE, done)
        self.assertIn("neither host has a usable RDMA device, interface or address mlx5_9; ", done.err)
        for port in ("rxe0/1 10.77.0.1 (RoCE)", "rxe1/1 10.78.0.2 (RoCE)"):
            self.assertIn(port, done.err)

    def test_tcp_where_it_is_asked_for(self):
        self.assertIn(" over tcp ", self.told("--transport", "tcp"))

    def test_an_ipv6_address_of_a_port_where_the_ipv4_one_does_not_answer(self):
        self.mislead()
        told = self.told("--transport", "rdma", *OVER_IPV6)
        self.assertIn("fd77::1 -> fd77::2", told)
        self.assertRegex(told, "left out: rail rxe0/1 -> 10.77.0.2: ")

    def nft(self, hook: str, rule: str, *where):
        """Packets meet the rule, which may count into "seen". Those that this host drops itself Soft-RoCE sends for ever."""
        commands = ["add table inet roce", "add counter inet roce seen",
                    f"add chain inet roce there {{ type filter hook {hook} priority 0; }}", f"add rule inet roce there {rule}"]
        subprocess.run([*where, "nft", "-f", "-"], input="\n".join(commands) + "\n", text=True, check=True)
        self.addCleanup(subprocess.run, [*where, "nft", "delete", "table", "inet", "roce"], check=True)

    def lose_roce(self):
        """Nothing comes to the port of RoCE v2, as where a switch does not let it through; ssh and TCP have their way."""
        self.nft("input", "udp dport 4791 drop", *SSH)

    def test_tcp_where_nobody_answers_over_rdma(self):
        self.lose_roce()
        told = self.told("--transport", "auto")
        self.assertIn("RDMA was given up for TCP: ", told)
        self.assertIn("over tcp ", told)

    def drop_full_packets(self, *where: str):
        """What RDMA sends to this host, or with SSH to the other one, arrives only in small packets, as behind a switch whose
        MTU is smaller than that of the hosts. TCP's packets all arrive."""
        table = "table inet full { chain in { type filter hook input priority 0; udp dport 4791 meta length > 1500 drop; }; }"
        subprocess.run([*where, "nft", "-f", "-"], input=table, text=True, check=True)
        self.addCleanup(subprocess.run, [*where, "nft", "delete", "table", "inet", "full"], check=True)

    def assert_given_up(self, way: str):
        told = self.told("--transport", "auto")
        self.assertIn(f"RDMA was given up for TCP: connect to peer: rxe0/1 -> 10.77.0.2: small packets arrive {way}, full ones "
                      "(of 4096 bytes", told)
        self.assertIn(" over tcp ", told)

    def test_tcp_where_full_packets_do_not_arrive_there(self):
        self.drop_full_packets(*SSH)
        self.assert_given_up("there")

    def test_tcp_where_full_packets_do_not_arrive_from_there(self):
        self.drop_full_packets()
        self.assert_given_up("from there")

    def test_no_tcp_where_full_packets_do_not_arrive_and_rdma_is_asked_for(self):
        self.drop_full_packets(*SSH)
        done = self.rdcp("--transport", "rdma", self.file, f"dest:{self.target}/copy")
        self.assertEqual(done.status, EXIT_DATA, done)
        self.assertIn("small packets arrive there, full ones (of 4096 bytes", done.err)
        self.assertFalse((self.target / "copy").exists())

    def test_tcp_from_when_full_packets_do_not_arrive_any_more(self):
        # With a fixed number none is added: one that had carried nothing yet would be another reason to try TCP.
        running = self.start("-v", "--transport", "auto", "--streams", "2", "--chunk-size", "64K", "--bwlimit", "256K", self.file,
                             f"dest:{self.target}/copy")
        self.assertTrue(wait_for(lambda: any(path.stat().st_size for path in self.target.iterdir()), 40), "it does not begin")
        self.drop_full_packets(*SSH)
        done = running.finish(120)
        self.assertEqual(done.status, EXIT_OK, done)
        self.assert_same_file(self.file, self.target / "copy")
        self.assertRegex(done.err, r"warning: stream \d+ \(rdma .*\) was lost: .* does not answer any more .*; another one took")
        self.assertIn("RDMA was given up for TCP: no further stream could be made over it", done.err)
        self.assertIn(" over tcp ", done.err)

    def test_no_tcp_where_rdma_is_asked_for(self):
        self.lose_roce()
        done = self.rdcp("--transport", "rdma", self.file, f"dest:{self.target}/copy")
        self.assertEqual(done.status, EXIT_DATA, done)
        self.assertIn("rxe0/1 -> 10.77.0.2: ", done.err)
        self.assertFalse((self.target / "copy").exists())

    def on_both(self, here: str, there: str):
        subprocess.run(["sh", "-c", here], check=True)
        subprocess.run([*SSH[:-1], *OVER_IPV6, SSH[-1], there], check=True)

    def test_addresses_of_their_own_with_routes_on_the_link(self):
        """As on a fabric that is routed to the host: no two ports have a subnet in common."""
        address = "ip addr {} {}/32 dev eth0"
        self.on_both(address.format("add", "10.99.1.1"), address.format("add", "10.99.2.1"))
        self.addCleanup(self.on_both, address.format("del", "10.99.1.1"), address.format("del", "10.99.2.1"))
        self.mislead()  # so that no other address of the far port answers
        over = ["--transport", "rdma", "--via", "10.99.1.1", *OVER_IPV6]
        without = self.rdcp("-v", *over, self.file, f"dest:{self.target}/copy")
        self.assertEqual(without.status, EXIT_DATA, without)
        self.assertIn("rxe0/1 -> 10.99.2.1: no route from 10.99.1.1 (eth0) to 10.99.2.1", without.err)
        route = "ip route {0} {1}/32 dev eth0 src {2}"
        self.on_both(route.format("add", "10.99.2.1", "10.99.1.1"), route.format("add", "10.99.1.1", "10.99.2.1"))
        self.assertIn("10.99.1.1 -> 10.99.2.1", self.told(*over))

    def test_cables_that_lose_packets(self):
        for interface in CABLES:
            subprocess.run(["tc", "qdisc", "add", "dev", interface, "root", "netem", "delay", "1ms", "loss", "0.1%"],
                           check=True)
            self.addCleanup(subprocess.run, ["tc", "qdisc", "del", "dev", interface, "root"], check=True)
        self.assertIn("rdma rxe1/1", self.told("--transport", "rdma"))

    def test_the_doctor_shows_the_traffic_class_of_the_host(self):
        """And connections have it, which is what the connection manager does."""
        class_of = Path("/sys/kernel/config/rdma_cm/rxe0/ports/1/default_roce_tos")
        if not class_of.parents[3].exists():
            subprocess.run(["mount", "-t", "configfs", "none", class_of.parents[4]], check=True)
        os.mkdir(class_of.parents[2])
        self.addCleanup(os.rmdir, class_of.parents[2])
        class_of.write_text("104")
        self.assertRegex(self.rdcp("--doctor").out.decode(), r"rxe0/1 .*, default_roce_tos 104 \(DSCP 26\)")
        self.nft("output", "udp dport 4791 ip dscp 26 counter name seen")
        self.assertIn("rdma rxe0/1", self.told("--transport", "rdma", "--via", "rxe0"))
        self.assertGreater(self.seen(), 100)

    def seen(self, *where) -> int:
        """How many packets that host has counted."""
        listed = subprocess.run([*where, "nft", "list", "counter", "inet", "roce", "seen"], capture_output=True, text=True,
                                check=True).stdout
        return int(re.search(r"packets (\d+)", listed)[1])

    def test_packets_carry_the_class_that_is_asked_for(self):
        """Those of both sides, since the one that listens sends with what it was connected with; the doctor's, too."""
        for where in ((), SSH):
            self.nft("output", "udp dport 4791 ip dscp af31 counter name seen", *where)
        for source, target in ((self.file, f"dest:{self.target}/copy"), (f"dest:{self.target}/copy", self.source / "back")):
            before = self.seen(), self.seen(*SSH)
            done = self.copy("-v", "--transport", "rdma", "--via", "rxe0", "--tos", "106", source, target)
            self.assertIn("packets carry traffic class 106 (DSCP 26, af31)", done.err)
            grown = self.seen() - before[0], self.seen(*SSH) - before[1]
            self.assertGreater(max(grown), 500)  # the payload, in packets of 4096 bytes
            self.assertGreater(min(grown), 5)    # acknowledgements and credits
        before = self.seen()
        self.told("--transport", "rdma", "--via", "rxe0")
        self.assertEqual(self.seen(), before)
        report = self.rdcp("--doctor", "--transport", "rdma", "--tos", "af31", "dest").out.decode()
        self.assertRegex(report, r"ok +RDMA .*, traffic class 104 \(DSCP 26, af31\)")
        self.assertGreater(self.seen(), before + 100)

    def test_the_doctor_measures_both(self):
        done = self.rdcp("--doctor", "dest")
        self.assertEqual(done.status, EXIT_OK, done)
        for transport in ("RDMA", "TCP"):
            self.assertRegex(done.out.decode(), rf"ok +{transport} +[\d.]+ .B/s from memory to memory")


if __name__ == "__main__":
    unittest.main()
