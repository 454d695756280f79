"""Networks as they are: a firewall on one side, on both, one that drops and one that refuses, NAT, a jump host, IPv6 alone.
The other host is a network namespace behind a veth pair with nft rules; the data finds its way by itself."""

import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from harness import EXIT_DATA, EXIT_OK, EXIT_USAGE, MIB, RDCP, CopyTest, Running

from bench_machine import second_network  # in scripts/lib, as harness has it
from sshd import LocalSshd

RDPIPE = Path(RDCP).with_name("rdpipe")
NEAR, FAR = "10.231.77.1", "10.231.77.2"
SSH_PORT = 2222
THROUGH_SSH = "rdcp: the data goes through ssh, which is slower, because neither of "
# What a firewall does to what it does not let in.
DROP, REFUSE = "drop", "reject with tcp reset"


def networks_are_to_be_had() -> str:
    """Why not; empty if they are."""
    if os.geteuid() != 0:
        return "only root makes network namespaces"
    if not shutil.which("nft"):
        return "no nft"
    try:
        with second_network() as (_, inside):
            subprocess.run([*inside, "nft", "add", "table", "inet", "try"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return "no network namespaces, or no nft in this kernel"
    return ""


class Networks(CopyTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if why := networks_are_to_be_had():
            raise unittest.SkipTest(why)
        folder = Path(tempfile.mkdtemp(prefix="rdcp-networks-"))
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        address, cls.inside = cls.enterClassContext(second_network())
        cls.sshd = cls.enterClassContext(LocalSshd(folder, address, port=SSH_PORT, inside=cls.inside))

    def setUp(self):
        super().setUp()
        self.tree = self.source / "tree"
        self.tree.mkdir()
        for i in range(40):
            (self.tree / f"small-{i}").write_bytes(bytes([i]) * (i * 100))
        self.large = self.make_file(self.tree / "large", 5 * MIB)
        (self.tree / "link").symlink_to("large")

    def rules(self, *rules: str):
        """Only for new connections to or from the other host, which ssh's port stays open to."""
        text = "table inet rdcp {\n"
        for hook in ("input", "output"):
            text += f" chain {hook} {{\n  type filter hook {hook} priority 0; policy accept;\n"
            text += f"  ct state established accept\n  tcp dport {SSH_PORT} accept\n  oif lo accept\n  iif lo accept\n"
            text += "".join(f"  {rule}\n" for to, _, rule in (each.partition(": ") for each in rules) if to == hook)
            text += " }\n"
        subprocess.run([*self.inside, "nft", "-f", "-"], input=text + "}\n", text=True, check=True)
        self.addCleanup(self.open_again)

    def open_again(self):
        subprocess.run([*self.inside, "nft", "flush", "ruleset"], check=True)

    def closed_inward(self, how=DROP):
        self.rules(f"input: meta l4proto tcp {how}")

    def closed_both_ways(self, how=DROP):
        self.rules(f"input: meta l4proto tcp {how}", f"output: meta l4proto tcp {how}")

    def there_and_back(self, *options) -> str:
        """Copies, as a tree, to the other host and back again; what was said on stderr."""
        there, back = self.target / "there", self.target / "back"
        for folder in (there, back):
            shutil.rmtree(folder, ignore_errors=True)
        begin = time.monotonic()
        said = self.copy("-r", "-v", *options, f"{self.tree}/", f"dest:{there}").err
        said += self.copy("-r", "-v", *options, f"dest:{there}/", back).err
        self.seconds = time.monotonic() - begin
        self.assert_same_tree(self.tree, there)
        self.assert_same_tree(self.tree, back)
        return said

    def assert_directly(self, said: str, from_here: bool | None = None):
        self.assertNotIn("through ssh", said)
        if from_here is not None:
            connects = f"tcp {NEAR}:" if from_here else f"tcp {FAR}:"
            self.assertEqual(said.count(connects), said.count(" over tcp ") + said.count(", tcp "), said)

    def test_an_open_network(self):
        said = self.there_and_back()
        self.assert_directly(said)
        self.assertEqual(said.count("rdcp: encrypted\n"), 2, said)
        self.assertNotIn("rdcp: encrypted\n", self.there_and_back("--no-encrypt"))

    def test_who_cannot_be_reached_connects(self):
        for how in (DROP, REFUSE):
            with self.subTest(how):
                self.closed_inward(how)
                said = self.there_and_back()
                self.assert_directly(said)
                self.assertEqual(said.count("not reached: dest: "), 2, said)
                self.assertLess(self.seconds, 2 * (3 + 10), said)
                self.open_again()

    def test_through_ssh_where_nothing_else_goes(self):
        for how in (DROP, REFUSE):
            with self.subTest(how):
                self.closed_both_ways(how)
                said = self.there_and_back()
                self.assertEqual(said.count(THROUGH_SSH), 2, said)
                self.assertNotIn("rdcp: encrypted\n", said)  # ssh does it
                self.open_again()

    def test_a_mirror_a_delta_a_resumed_copy_and_a_check_through_ssh(self):
        self.closed_both_ways(REFUSE)
        copy = self.target / "copy"
        self.copy("--sync", f"{self.tree}/", f"dest:{copy}")
        with open(self.large, "r+b") as file:
            file.seek(MIB)
            file.write(b"another")
        done = self.copy("--sync", "--json", f"{self.tree}/", f"dest:{copy}")
        self.assert_same_tree(self.tree, copy)
        self.assertGreater(json.loads(done.out.splitlines()[-1])["kept_bytes"], 4 * MIB)
        self.copy("--check", f"{self.tree}/", f"dest:{copy}/")
        self.copy("--encrypt", self.large, f"dest:{self.target}/one")
        self.assert_same_file(self.large, self.target / "one")

    def test_ssh_may_be_asked_for_or_forbidden(self):
        said = self.there_and_back("--via", "ssh")
        self.assertNotIn("which is slower", said)
        self.assertNotIn(FAR, said)
        self.closed_both_ways(REFUSE)
        begin = time.monotonic()
        done = self.fails(EXIT_DATA, "-r", "--no-ssh-data", f"{self.tree}/", f"dest:{self.target}/no",
                          says=("dest: ", "--data-port", "--no-ssh-data"))
        self.assertLess(time.monotonic() - begin, 10, done)
        self.assertFalse((self.target / "no").exists())
        self.fails(EXIT_USAGE, "--via", "ssh", "--no-ssh-data", self.large, "dest:")

    def test_one_port_that_is_open(self):
        self.rules("input: tcp dport 7000-7003 accept", f"input: meta l4proto tcp {DROP}",
                   f"output: meta l4proto tcp {DROP}")
        said = self.there_and_back("--data-port", "7000-7003")
        self.assert_directly(said)
        self.assertRegex(said, rf"{FAR}:700[0-3]")
        taken = self.there_and_back("--data-port", "7003")
        self.assertIn(f"{FAR}:7003", taken)

    def test_between_two_hosts_that_reach_neither_each_other(self):
        """Both are the same one here, but each agent takes the other for one that it cannot reach."""
        self.rules()
        subprocess.run([*self.inside, "nft", "add rule inet rdcp output oif lo tcp flags syn tcp dport != 2222 drop"],
                       check=False)
        done = self.copy("-r", "-v", "--via", "ssh", f"dest:{self.tree}/", f"other:{self.target}/copy")
        self.assert_same_tree(self.tree, self.target / "copy")
        self.assertNotIn("which is slower", done.err)

    def test_a_pipeline_through_ssh(self):
        self.closed_both_ways(REFUSE)
        out = self.target / "out"
        with open(self.large, "rb") as large:
            piped = Running([RDPIPE, "-F", self.sshd.config, "--rdcp-path", RDCP, "-v", "dest:cat", f":> {out}"], stdin=large)
        self.addCleanup(piped.kill)
        done = piped.finish(60)
        self.assertEqual(done.status, EXIT_OK, done)
        self.assert_same_file(self.large, out)

    def test_ssh_that_lets_nobody_in_twice(self):
        self.closed_both_ways(REFUSE)
        wrapper = self.disk / "ssh"
        wrapper.write_text('#!/bin/sh\ncase "$*" in *BatchMode*) echo no more >&2; exit 255;; esac\nexec ssh "$@"\n')
        wrapper.chmod(0o755)
        begin = time.monotonic()
        done = self.fails(EXIT_DATA, "-e", wrapper, "-r", f"{self.tree}/", f"dest:{self.target}/no",
                          says=("dest: ssh: no more\n", "Such sessions can ask for no password"))
        self.assertLess(time.monotonic() - begin, 15, done)
        self.assertFalse((self.target / "no").exists())


if __name__ == "__main__":
    unittest.main()
