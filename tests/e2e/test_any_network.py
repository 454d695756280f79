"""Networks as they are: a firewall on one side, on both, one that drops and one that refuses, NAT, a jump host, IPv6 alone.
The other host is a network namespace behind a veth pair with nft rules; the data finds its way by itself."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from harness import BUILD, EXIT_DATA, EXIT_OK, EXIT_USAGE, MIB, RDCP, CopyTest, Running, wait_for

import network  # in scripts/lib, as harness has it
from network import (FAR, FAR_DEVICE, NEAR, NEAR_DEVICE, entering, held_namespaces, second_network, set_firewall,
                     why_no_network)
from sshd import LocalSshd
from stage import why_no_mounts
from test_control_lost import BACK, ssh_of
from test_deploy import AGENT
from test_sandbox import landlock_abi

RDPIPE = Path(RDCP).with_name("rdpipe")
THIRD_ROUTER, THIRD = "10.231.78.1", "10.231.78.2"
THIRD_DEVICE = "third"  # the router's, to that network
SSH_PORT = 2222
THROUGH_SSH = "rdcp: the data goes through ssh, which is slower, because neither of "
# What a firewall does to what it does not let in.
DROP, REFUSE = "drop", "reject with tcp reset"


def do(*words: str):
    subprocess.run(words, check=True)


@contextlib.contextmanager
def network_behind(router: list[str], mtu: int = 1500):
    """A third network, which only the router's (second_network) reaches. Yields the command prefix that enters it."""
    with held_namespaces() as holder:
        inside = entering(holder)
        do(*router, "ip", "link", "add", THIRD_DEVICE, "type", "veth", "peer", "name", FAR_DEVICE, "netns", str(holder.pid))
        for prefix, link, address, address6 in ((router, THIRD_DEVICE, THIRD_ROUTER, "fd78::1/64"),
                                                (inside, FAR_DEVICE, THIRD, "fd78::2/64")):
            do(*prefix, "ip", "address", "add", f"{address}/24", "dev", link)
            do(*prefix, "ip", "address", "add", address6, "dev", link, "nodad")
            do(*prefix, "ip", "link", "set", link, "mtu", str(mtu), "up")
        do(*inside, "ip", "route", "add", "default", "via", THIRD_ROUTER)
        do(*router, "sysctl", "-q", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
        yield inside


class Beds(unittest.TestCase):
    """What these tests run in."""

    def test_nothing_is_left_of_one_that_is_killed(self):
        if why := why_no_network("true"):
            self.skipTest(why)
        program = ("import signal, network\nwith network.second_network() as (_, inside):\n"
                   "  print(*inside, flush=True)\n  signal.pause()\n")
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "PYTHONPATH": os.path.dirname(network.__file__)}) as maker:
            inside = maker.stdout.readline().split()
            self.addCleanup(maker.kill)
            there = subprocess.run([*inside, "ip", "address"], capture_output=True, text=True, check=True).stdout
            self.assertIn(FAR, there)
            maker.kill()
        self.assertTrue(wait_for(lambda: subprocess.run([*inside, "true"], stderr=subprocess.DEVNULL, check=False).returncode, 20))
        here = subprocess.run(["ip", "address"], capture_output=True, text=True, check=True).stdout
        self.assertNotIn(NEAR, here)


class NetworkTest(CopyTest):
    """Copies a small tree to `dest` and back."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if why := why_no_network("nft", "add", "table", "inet", "try"):
            raise unittest.SkipTest(why)

    @classmethod
    def sshd_in(cls, address: str, inside: list[str]) -> LocalSshd:
        folder = Path(tempfile.mkdtemp(prefix="rdcp-networks-"))
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        return cls.enterClassContext(LocalSshd(folder, address, port=SSH_PORT, inside=inside))

    def setUp(self):
        super().setUp()
        self.installed = True
        self.tree = self.source / "tree"
        self.tree.mkdir()
        for i in range(40):
            (self.tree / f"small-{i}").write_bytes(bytes([i]) * (i * 100))
        self.large = self.make_file(self.tree / "large", 5 * MIB)
        (self.tree / "link").symlink_to("large")

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

    def command(self, *words) -> list[str]:
        found = super().command(*words)
        if not self.installed:
            at = found.index("--rdcp-path")
            del found[at:at + 2]
        return found

    def uninstall(self):
        """From now on the other host has no rdcp, and an empty home."""
        if not AGENT.exists():
            self.skipTest(f"no {AGENT.name} in this build")
        if why := why_no_mounts():
            self.skipTest(why)
        home, run = self.disk / "home", self.disk / "run"
        home.mkdir()
        run.write_text(f"""#!/bin/sh
export SSH_ORIGINAL_COMMAND
exec unshare -m sh -c 'mount -t tmpfs none {BUILD} && exec env -i HOME={home} PATH=/usr/bin:/bin sh -c "$SSH_ORIGINAL_COMMAND"'
""")
        run.chmod(0o755)
        keys = self.sshd.folder / "authorized_keys"
        key = keys.read_text()
        self.addCleanup(keys.write_text, key)
        keys.write_text(f'command="{run}" {key}')
        self.installed = False

    def assert_directly(self, said: str):
        self.assertNotIn("through ssh", said)
        # Two streams each, and more where a busy machine takes long to answer.
        self.assertGreaterEqual(said.count(" over tcp "), 4, said)


class Networks(NetworkTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        address, cls.inside = cls.enterClassContext(second_network())
        cls.sshd = cls.sshd_in(address, cls.inside)

    def rules(self, *rules: str):
        """Only for new connections to or from the other host, which ssh's port stays open to."""
        of = {hook: [rule for to, _, rule in (each.partition(": ") for each in rules) if to == hook] for hook in ("input", "output")}
        set_firewall(self.inside, SSH_PORT, of["input"], of["output"])
        self.addCleanup(self.open_again)

    def open_again(self):
        subprocess.run([*self.inside, "nft", "flush", "ruleset"], check=True)

    def closed_inward(self, how=DROP):
        self.rules(f"input: meta l4proto tcp {how}")

    def closed_both_ways(self, how=DROP):
        self.rules(f"input: meta l4proto tcp {how}", f"output: meta l4proto tcp {how}")

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

    def test_a_stranger_here_has_the_port_that_is_used_there(self):
        """The other host's list of addresses ends with those of loopback, which are this host's, too."""
        self.closed_both_ways(REFUSE)
        with socket.create_server(("", 7200), family=socket.AF_INET6, dualstack_ipv6=True) as stranger:
            said = self.there_and_back("--data-port", "7200-7203")
            self.assertEqual(said.count(THROUGH_SSH), 2, said)
            self.assertIn("127.0.0.1:7200: is this host's own address", said)
            stranger.setblocking(False)
            self.assertRaises(BlockingIOError, stranger.accept)

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

    def test_settings_hold_for_every_run(self):
        home = self.disk / "home"
        (home / "rdcp").mkdir(parents=True)
        options = home / "rdcp" / "options"
        environment = {**os.environ, "XDG_CONFIG_HOME": str(home)}
        options.write_text("# ours\n--data-port 7100-7104\n--no-encrypt\n")
        done = self.copy("-v", self.large, f"dest:{self.target}/one", env=environment)
        self.assertRegex(done.err, rf"{FAR}:710[0-4]\n")
        self.assertNotIn("rdcp: encrypted\n", done.err)
        done = self.copy("-v", "--data-port", "7105", "--encrypt", self.large, f"dest:{self.target}/one", env=environment)
        self.assertIn(f"{FAR}:7105\n", done.err)
        self.assertIn("rdcp: encrypted\n", done.err)
        options.write_text("--data-port 7000\n--delete\n")
        self.fails(EXIT_USAGE, self.large, f"dest:{self.target}/two", env=environment, says=(f"{options} line 2:", "--delete"))
        self.assertFalse((self.target / "two").exists())

    def test_a_firewall_that_cuts_ssh(self):
        """The data has a port of its own, and goes on."""
        table = "table inet cut"
        self.make_file(self.tree / "large", 16 * MIB)  # sixteen seconds, so that a busy machine cuts what is still under way
        running = self.start("-r", "--bwlimit", "1MiB", f"{self.tree}/", f"dest:{self.target}/copy")
        self.assertTrue(wait_for(lambda: (self.target / "copy" / "small-39").exists(), 20), running.where())
        cut = ssh_of(running)
        rules = f"{table} {{ chain input {{ type filter hook input priority -10; tcp dport {SSH_PORT} reject with tcp reset; }}; }}"
        subprocess.run([*self.inside, "nft", rules], check=True)
        self.addCleanup(self.open_again)
        self.assertTrue(wait_for(lambda: not set(cut) & set(ssh_of(running)), 20), running.where())
        subprocess.run([*self.inside, "nft", "delete", *table.split()], check=True)
        done = running.finish(60)
        self.assertEqual(done.status, EXIT_OK, done)
        self.assertRegex(done.err, BACK.format("dest"))
        self.assert_same_tree(self.tree, self.target / "copy")
        self.assertTrue(wait_for(lambda: not self.words_of_sessions(), 30), self.words_of_sessions())

    def test_between_two_hosts_through_ssh(self):
        for words in (("--via", "ssh"), ("-3",)):
            done = self.copy("-r", "-v", *words, f"dest:{self.tree}/", f"other:{self.target}/copy")
            self.assert_same_tree(self.tree, self.target / "copy")
            self.assertNotIn("which is slower", done.err)
            self.assertNotIn(FAR, done.err)
            shutil.rmtree(self.target / "copy")
        direct = self.copy("-r", "-v", f"dest:{self.tree}/", f"other:{self.target}/copy")
        self.assertIn(FAR, direct.err)

    def test_a_pipeline_through_ssh(self):
        self.closed_both_ways(REFUSE)
        out = self.target / "out"
        with open(self.large, "rb") as large:
            piped = Running([RDPIPE, "-F", self.sshd.config, "--rdcp-path", RDCP, "-v", "dest:cat", f":> {out}"], stdin=large)
        self.addCleanup(piped.kill)
        done = piped.finish(60)
        self.assertEqual(done.status, EXIT_OK, done)
        self.assert_same_file(self.large, out)
        self.assertIn("rdpipe: standard input -> dest: the data goes through ssh", done.err)

    def test_through_ssh_where_rdcp_is_looked_for(self):
        """The way in (cli/launch/way_in) starts both the agent and the far ends of its bridges."""
        self.closed_both_ways(REFUSE)
        for options in ((), ("--no-landlock",)):
            with self.subTest(options):
                copy = self.target / str(len(options))
                running = Running([RDCP, "-F", self.sshd.config, *options, self.large, f"dest:{copy}"], cwd=self.disk)
                self.addCleanup(running.kill)
                done = running.finish(60)
                self.assertEqual(done.status, EXIT_OK, done)
                self.assertIn(THROUGH_SSH, done.err)
                self.assert_same_file(self.large, copy)

    def test_an_interrupted_copy_through_ssh_leaves_no_process(self):
        self.closed_both_ways(REFUSE)
        running = self.start("-r", "--bwlimit", "100K", f"{self.tree}/", f"dest:{self.target}/copy")
        self.assertTrue(wait_for(lambda: any(b"--bridge" in words for words in self.words_of_sessions()), 30))
        running.process.send_signal(signal.SIGINT)
        self.assertEqual(running.finish(20).status, 130)
        self.assertTrue(wait_for(lambda: not self.words_of_sessions(), 20), self.words_of_sessions())

    def words_of_sessions(self) -> list[bytes]:
        """The command lines of what runs beneath the other host's sshd."""
        found = []
        for pid in self.sshd.descendants():
            with contextlib.suppress(OSError):
                found.append(Path(f"/proc/{pid}/cmdline").read_bytes())
        return found

    def test_the_far_end_of_a_bridge_makes_no_other_use_of_ssh(self):
        bridge = [RDCP, "--agent"]
        for at in ("", "7000", "host,1", "127.0.0.1,0", "127.0.0.1,70000", "127.0.0.1,1x", "127.0.0.1,22;id"):
            done = subprocess.run([*bridge, f"--bridge={at}"], input=b"x", capture_output=True, timeout=20, check=False)
            self.assertEqual(done.returncode, EXIT_USAGE, (at, done))
            self.assertEqual(done.stdout, b"")
        nobody = subprocess.run([*bridge, "--bridge=127.0.0.1,1"], input=b"x", capture_output=True, timeout=20, check=False)
        self.assertEqual(nobody.returncode, EXIT_DATA, nobody)
        elsewhere = subprocess.run([*bridge, "--bridge=192.0.2.1,80"], input=b"x", capture_output=True, timeout=20, check=False)
        self.assertEqual(elsewhere.returncode, EXIT_DATA, elsewhere)
        self.assertIn(b"192.0.2.1:80: is no address of this host", elsewhere.stderr)
        with socket.create_server(("127.0.0.1", 0)) as agent:
            port = agent.getsockname()[1]
            joined = subprocess.Popen([*bridge, f"--bridge=127.0.0.1,{port}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.addCleanup(joined.wait)
            self.addCleanup(joined.kill)
            there, _ = agent.accept()
            with there:
                if landlock_abi() > 0:
                    self.assertIn("NoNewPrivs:\t1\n", Path(f"/proc/{joined.pid}/status").read_text())
                joined.stdin.write(b"there")
                joined.stdin.flush()
                self.assertEqual(there.recv(5, socket.MSG_WAITALL), b"there")
                joined.stdin.close()
                self.assertEqual(there.recv(1), b"")  # its end gets there, and what is still to come back does so
                there.sendall(b"back")
            self.assertEqual(joined.stdout.read(), b"back")
            joined.stdout.close()
            self.assertEqual(joined.wait(20), EXIT_OK)

    def test_an_agent_that_says_nothing_hears_that_nobody_listens(self):
        for kind in ("pipes", "sockets"):
            with self.subTest(kind), socket.create_server(("127.0.0.1", 0)) as agent:
                to_bridge, from_bridge = (os.pipe(), os.pipe()) if kind == "pipes" else (
                    [end.detach() for end in reversed(socket.socketpair())] for _ in range(2))
                if kind == "sockets":
                    from_bridge = from_bridge[::-1]
                joined = subprocess.Popen([RDCP, "--agent", f"--bridge=127.0.0.1,{agent.getsockname()[1]}"],
                                          stdin=to_bridge[0], stdout=from_bridge[1])
                self.addCleanup(joined.wait)
                self.addCleanup(joined.kill)
                os.close(to_bridge[0])
                os.close(from_bridge[1])
                there, _ = agent.accept()
                with there:
                    os.write(to_bridge[1], b"x")
                    self.assertEqual(there.recv(1), b"x")
                    os.close(to_bridge[1])
                    os.close(from_bridge[0])
                    self.assertEqual(joined.wait(10), EXIT_OK)
                    self.assertEqual(there.recv(1), b"")

    def test_ssh_that_lets_nobody_in_twice(self):
        self.closed_both_ways(REFUSE)
        wrapper = self.disk / "ssh"
        wrapper.write_text('#!/bin/sh\ncase "$*" in *BatchMode*) echo no more >&2; exit 255;; esac\nexec ssh "$@"\n')
        wrapper.chmod(0o755)
        begin = time.monotonic()
        done = self.fails(EXIT_DATA, "-e", wrapper, "-r", f"{self.tree}/", f"dest:{self.target}/no",
                          says=("dest: ssh: no more\n", "such sessions can ask for no password"))
        self.assertLess(time.monotonic() - begin, 15, done)
        self.assertFalse((self.target / "no").exists())

    def test_a_password_is_asked_for_once(self):
        self.closed_both_ways(REFUSE)
        environment, asked = self.key_with_a_passphrase()
        copy = self.target / "copy"
        for streams in ("1", "3"):
            for source, destination in ((f"{self.tree}/", f"dest:{copy}"), (f"dest:{self.tree}/", copy)):
                with self.subTest(streams=streams, source=source):
                    done = self.copy("-i", self.disk / "key", "-r", "-v", "--streams", streams, source, destination,
                                     env=environment)
                    self.assertEqual(done.err.count(THROUGH_SSH), 1, done)
                    self.assertNotIn("Permission denied", done.err)
                    self.assertEqual(asked.read_text(), "asked\n")
                    self.assert_same_tree(self.tree, copy)
                    shutil.rmtree(copy)
                    asked.unlink()

    def test_a_host_that_allows_one_session_for_each_connection(self):
        config = self.sshd.folder / "sshd_config"
        text = config.read_text()
        self.addCleanup(self.sshd.restart)
        self.addCleanup(config.write_text, text)
        config.write_text(text.replace("MaxSessions 100", "MaxSessions 1"))
        self.sshd.restart()
        self.closed_both_ways(REFUSE)
        said = self.there_and_back("--streams", "2")
        self.assertEqual(said.count(THROUGH_SSH), 2, said)

    def test_the_data_shares_the_first_session(self):
        for streams, logins in (("1", 1), ("3", 3)):
            before = self.logins()
            done = self.copy("--via", "ssh", "--streams", streams, self.large, f"dest:{self.target}/one")
            self.assertEqual(self.logins() - before, logins, done)

    def logins(self) -> int:
        return self.sshd.log.read_text(errors="replace").count("Accepted publickey")


class Routed(NetworkTest):
    """Between this host and the other one there is a third, which forwards."""

    MTU = 1500

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.router_address, cls.router = cls.enterClassContext(second_network())
        cls.inside = cls.enterClassContext(network_behind(cls.router, cls.MTU))
        cls.lead_there()
        cls.sshd = cls.sshd_in(cls.ADDRESS, cls.inside)
        cls.once_it_listens(cls.sshd.config)

    ADDRESS = THIRD

    @classmethod
    def lead_there(cls):
        do("ip", "route", "add", "10.231.78.0/24", "via", cls.router_address)

    @classmethod
    def nobody_leads_there_now(cls):
        do("ip", "route", "add", "unreachable", f"{THIRD}/32")

    @classmethod
    def once_it_listens(cls, config: Path):
        """What else makes this network what it is. config: ssh's."""


class SmallerPackets(Routed):
    """The way is narrower than the devices at its ends say."""

    MTU = 1300

    def test_they_get_through(self):
        self.assert_directly(self.there_and_back())


class Nat(Routed):
    """The other host has a private address; ssh's port is forwarded to it."""

    @classmethod
    def once_it_listens(cls, config: Path):
        cls.nobody_leads_there_now()
        rules = f"""table ip rdcp {{
 chain pre {{
  type nat hook prerouting priority -100
  ip daddr {FAR} tcp dport {SSH_PORT} dnat to {THIRD}:{SSH_PORT}
 }}
 chain post {{
  type nat hook postrouting priority 100
  masquerade
 }}
}}
"""
        subprocess.run([*cls.router, "nft", "-f", "-"], input=rules, text=True, check=True)
        config.write_text(config.read_text().replace(f"HostName {THIRD}", f"HostName {FAR}"))

    def test_the_host_within_connects(self):
        said = self.there_and_back()
        self.assert_directly(said)
        self.assertEqual(said.count(f"not reached: dest: {THIRD}:"), 2, said)

    def test_nothing_is_installed_there(self):
        self.uninstall()
        said = self.there_and_back()
        self.assert_directly(said)
        self.assertEqual(said.count("no rdcp of this version was found there"), 1, said)


class JumpHost(Routed):
    """Only an sshd between them reaches both."""

    @classmethod
    def once_it_listens(cls, config: Path):
        cls.nobody_leads_there_now()
        do(*cls.router, "sysctl", "-q", "net.ipv4.ip_forward=0")
        cls.jump = cls.sshd_in(cls.router_address, cls.router)
        jump = cls.jump.config.read_text().replace("Host dest other", "Host jump")
        config.write_text(f"{config.read_text()}  ProxyCommand ssh -F {cls.jump.config} -W %h:%p dest\n{jump}")

    def test_the_data_goes_through_ssh(self):
        self.assertEqual(self.there_and_back().count(THROUGH_SSH), 2)

    def test_nothing_is_installed_there(self):
        self.uninstall()
        said = self.there_and_back()
        self.assertEqual(said.count(THROUGH_SSH), 2, said)
        self.assertEqual(said.count("no rdcp of this version was found there"), 1, said)


class Ipv6Alone(Routed):
    ADDRESS = "fd78::2"

    @classmethod
    def lead_there(cls):
        do("ip", "address", "add", "fd77::1/64", "dev", NEAR_DEVICE, "nodad")
        do(*cls.router, "ip", "address", "add", "fd77::2/64", "dev", FAR_DEVICE, "nodad")
        do("ip", "route", "add", "fd78::/64", "via", "fd77::2")
        do(*cls.inside, "ip", "route", "add", "default", "via", "fd78::1")
        do(*cls.inside, "ip", "address", "delete", f"{THIRD}/24", "dev", FAR_DEVICE)

    def test_it_is_enough(self):
        said = self.there_and_back()
        self.assert_directly(said)
        self.assertIn("[fd78::2]:", said)


del Routed  # has no tests of its own


if __name__ == "__main__":
    unittest.main()
