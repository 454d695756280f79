"""A host much slower than the others of its chain: they go on without it, and it gets its copy in the end."""

import json
import unittest

from harness import EXIT_OK, EXIT_USAGE, MIB, RDCP, make_file, preloaded
from fleet_test import FleetTest

FAST = "400mbit"
SLOW = "28mbit"
# A starved machine makes a path look long, which gives a host slots for up to 64 MiB (choose_data_path()). There is more to
# send than these hold.
SIZE = 100 * MIB
DELAY_MS = 200  # of each write of a slow disk, of which there are several at a time
GRACE = 1.5  # other things are sent, too: headers, and again what was under way when the chain ended


class SlowHosts(FleetTest):
    def setUp(self):
        super().setUp()
        self.to = f"h[1-{self.HOSTS}]:{self.fleet.data}/copy"
        for host in self.fleet.hosts:
            host.limit(FAST)

    def command(self, *words) -> list[str]:
        return [str(RDCP), "-e", self.fleet.ssh_text(), "--rdcp-path", str(RDCP), *map(str, words)]

    def big_tree(self):
        tree = self.disk / "tree"
        tree.mkdir()
        make_file(tree / "large", SIZE)
        for i in range(20):
            (tree / f"small-{i}").write_bytes(bytes([i]) * (i * 500))
        return tree

    def copied(self, *words, timeout: int = 200):
        """The events of a copy of such a tree to all hosts, which all have it then, and what it said."""
        tree = self.big_tree()
        done = self.start("--json=events", "--fanout", "1", "-r", f"{tree}/", self.to, "--no-encrypt", *words).finish(timeout)
        self.assertEqual(done.status, EXIT_OK, done)
        self.assert_have(tree, *range(1, self.HOSTS + 1))
        self.assert_no_agents()
        return [json.loads(line) for line in done.out.splitlines()], done

    def assert_left(self, number: int, what: str, *words):
        """This host leaves, once, and is served when all others have all. Returns the bytes that it was sent."""
        name = f"h{number}"
        before = self.fleet[number].received_bytes()
        events, done = self.copied(*words)
        slow = [event for event in events if event["event"] == "slow"]
        self.assertEqual([event["host"] for event in slow], [name], done)
        self.assertRegex(slow[0]["message"], f"slower than the others: its {what} takes .*/s where they could do .*/s")
        self.assertIn(f"{name}: gets its copy alone later: slower than the others", done.err)
        self.assertIn(f"goes on with {self.HOSTS - 1} of {self.HOSTS} hosts", done.err)
        self.assertEqual(done.err.count("gets its copy alone later"), 1)
        left_at = events.index(slow[0])
        counts = [event["hosts"] for event in events[left_at:] if event["event"] == "progress"]
        self.assertIn({"all": self.HOSTS, "done": self.HOSTS - 1, "failed": 0}, counts, "the others were not done before it")
        self.assertEqual([host["status"] for host in events[-1]["hosts"]], [0] * self.HOSTS)
        return self.fleet[number].received_bytes() - before

    def test_a_host_with_a_slow_link_leaves_and_is_served_at_the_end(self):
        self.fleet[3].limit(SLOW)
        sent = self.assert_left(3, "link")
        self.assertLess(sent, GRACE * SIZE)  # what it had is not sent again

    def test_the_last_host_of_the_chain(self):
        self.fleet[self.HOSTS].limit(SLOW)
        self.assert_left(self.HOSTS, "link")

    def test_the_first_host_of_the_chain(self):
        """Its link to the next one is slow, too, so it is not the source."""
        self.fleet[1].limit(SLOW)
        self.assert_left(1, "link")

    def test_a_host_with_a_slow_disk(self):
        """Its slots are to be full of chunks that wait for the disk. Each stream writes by itself, so there are two."""
        agent, settings = self.fleet.data / "agent", preloaded("fail_call", RDCP_FAIL_CALL="pwrite", RDCP_FAIL_PATH=".part",
                                                               RDCP_FAIL_TIMES=-1, RDCP_FAIL_DELAY_MS=DELAY_MS)
        words = " ".join(f"{setting}='{value}'" for setting, value in settings.items())
        for host in self.fleet.hosts:
            script = host.own / agent.name
            slow = f"export {words}\n" if host is self.fleet[2] else ""
            script.write_text(f'#!/bin/sh\n{slow}exec {RDCP} "$@"\n')
            script.chmod(0o755)
        self.assert_left(2, "disk", "--ring=threads", "--chunk-size=64K", "--streams=2", "--rdcp-path", agent)

    def test_hosts_that_are_all_as_slow_stay(self):
        for host in self.fleet.hosts:
            host.limit("80mbit")
        events, done = self.copied()
        self.assertEqual([event for event in events if event["event"] in ("slow", "warning")], [], done)

    def test_the_user_may_keep_it(self):
        self.fleet[3].limit(SLOW)
        events, done = self.copied("--keep-slow-hosts")
        self.assertEqual([event for event in events if event["event"] in ("slow", "warning")], [], done)
        self.assertEqual(done.err, "")
        self.fails(EXIT_USAGE, "--keep-slow-hosts", self.disk / "tree", "h1:x", says=("several hosts",))

    def test_standard_input_cannot_be_read_again(self):
        self.fleet[3].limit(SLOW)
        file = make_file(self.disk / "file", 30 * MIB)
        done = self.copy("--no-encrypt", "-", self.to, stdin=file.read_bytes())
        self.assertEqual(done.err, "")


if __name__ == "__main__":
    unittest.main()
