"""One source, many hosts: a chain of namespaces with a link and an sshd each, and what becomes of it when a host dies, hangs,
fills its disk or loses its network."""

import json
import os
import signal
import subprocess
import unittest
from pathlib import Path

from harness import (BUILD, EXIT_DIGEST, EXIT_FILES, EXIT_HOST, EXIT_OK, EXIT_USAGE, MIB, RDCP, held_by, make_file, preloaded,
                     wait_for)
from fleet_test import FleetTest
from snapshot import differences, snapshot

from network import set_firewall  # in scripts/lib, as harness has it
from fleet import SSH_PORT

HOSTILE_HOP = BUILD / "rdcp_hostile_hop"


class OverSsh(FleetTest):
    def setUp(self):
        super().setUp()
        self.to = f"h[1-{self.HOSTS}]:{self.fleet.data}/copy"

    def command(self, *words) -> list[str]:
        return [str(RDCP), "-e", self.fleet.ssh_text(), "--rdcp-path", str(RDCP), *map(str, words)]


class ManyHosts(OverSsh):
    def test_a_tree_reaches_every_host_and_leaves_the_source_once(self):
        tree = self.tree()
        before = self.fleet.sent_bytes()
        done = self.copy("-r", f"{tree}/", self.to, "--no-encrypt")
        self.assertEqual(done.err, "")
        self.assert_have(tree, 1, 2, 3, 4)
        self.assert_no_agents()
        payload = sum(path.lstat().st_size for path in tree.rglob("*") if path.is_file())
        self.assertLess(self.fleet.sent_bytes() - before, 1.5 * payload + MIB)

    def test_sealed_verified_and_packed(self):
        tree = self.tree()
        self.copy("--encrypt", "--verify", "--compress=1", "-r", f"{tree}/", self.to)
        self.assert_have(tree, 1, 2, 3, 4)

    def test_a_tree_of_hosts_gets_the_same_from_fewer_levels(self):
        tree = self.tree()
        before = self.fleet.sent_bytes()
        done = self.copy("--fanout", "2", "-v", "-r", f"{tree}/", self.to, "--no-encrypt")
        self.assertIn("4 targets are a tree, where each passes on to 2 others at most", done.err)
        self.assert_have(tree, 1, 2, 3, 4)
        self.assert_no_agents()
        payload = sum(path.lstat().st_size for path in tree.rglob("*") if path.is_file())
        self.assertLess(self.fleet.sent_bytes() - before, 1.5 * payload + MIB)
        self.copy("--fanout", "3", "-", f"{self.to}2", stdin=b"from standard input")
        for host in self.fleet.hosts:
            self.assertEqual((host.own / "copy2").read_bytes(), b"from standard input")

    def test_a_file_and_standard_input(self):
        file = make_file(self.disk / "file", 5 * MIB + 3)
        self.copy(file, self.to)
        self.copy("-", f"{self.to}2", stdin=file.read_bytes())
        for host in self.fleet.hosts:
            self.assert_same_file(file, host.own / "copy")
            self.assertEqual(file.read_bytes(), (host.own / "copy2").read_bytes())

    def test_a_mirror_brings_hosts_in_different_states_to_the_same(self):
        tree = self.tree()
        self.copy("-r", f"{tree}/", f"h[1-2]:{self.fleet.data}/copy")
        (self.fleet[2].own / "copy" / "extra").write_text("extra")
        (self.fleet[1].own / "copy" / "sub" / "small-3").write_text("another")
        done = self.copy("--sync", "--delete", "-i", f"{tree}/", self.to)
        self.assert_have(tree, 1, 2, 3, 4)
        lines = done.out.decode()
        self.assertIn("h2: *deleting   extra", lines)
        self.assertRegex(lines, r"h1: <f\S+ sub/small-3")
        self.assertNotRegex(lines, r"h2: \S+ sub/small-3")
        again = self.copy("--sync", "--delete", "-i", f"{tree}/", self.to)
        self.assertEqual(again.out, b"")

    def test_a_check_says_which_host_differs_and_in_what(self):
        tree = self.tree()
        manifest = self.disk / "manifest"
        self.copy("--manifest", manifest, "-r", f"{tree}/", self.to)
        self.copy("--check", f"{tree}/", self.to)
        self.copy("--check", "--manifest", manifest, self.to)
        (self.fleet[3].own / "copy" / "large").write_bytes(b"x")
        done = self.fails(EXIT_FILES, "--check", f"{tree}/", self.to)
        self.assertEqual(done.out.decode().splitlines(), [f"h3: size      large: {3 * MIB + 77}, 1"])
        listed = self.fails(EXIT_FILES, "--check", "--manifest", manifest, self.to)
        self.assertEqual(listed.out, done.out)

    def test_settings_hold_for_each_host_of_a_list(self):
        tree = self.tree()
        (self.disk / "rdcp").mkdir()
        for number in (1, 2):
            (self.fleet[number].own / f"rdcp-{number}").symlink_to(RDCP)
        (self.disk / "rdcp" / "config").write_text(
            "".join(f'[host "h{number}"]\nrdcp-path = {self.fleet.data}/rdcp-{number}\n' for number in (1, 2)))
        env = {**os.environ, "XDG_CONFIG_HOME": str(self.disk), "HOME": "/nonexistent"}
        names = self.disk / "hosts"
        names.write_text("h1\nh2\n")
        for words in ([f"h[1-2]:{self.fleet.data}/listed"], [f":{self.fleet.data}/read", "--hosts", names]):
            with self.subTest(words):
                command = [str(RDCP), "-e", self.fleet.ssh_text(), "--no-deploy", "-r", f"{tree}/", *map(str, words)]
                done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stderr), (EXIT_OK, ""))
        for name in ("listed", "read"):
            self.assert_have(tree, 1, 2, name=name)

    def test_the_doctor_looks_at_each_host_of_a_list(self):
        names = self.disk / "hosts"
        names.write_text("h1\nh2\n")
        for words in (["h[1-2]"], ["--hosts", names]):
            with self.subTest(words):
                report = json.loads(self.copy("--doctor", "--json", *words).out)
                self.assertEqual([host["name"] for host in report["hosts"]],
                                 ["this host", "h1", "from this host to h1", "h2", "from this host to h2"])
                self.assertEqual({path["host"] for path in report["transfers"]}, {"h1", "h2"})
        done = self.fails(EXIT_FILES, "--doctor", "--json", "nowhere.invalid,h1")
        self.assertEqual({path["host"] for path in json.loads(done.out)["transfers"]}, {"h1"})
        self.fails(EXIT_HOST, "--doctor", "nowhere.invalid,neither.invalid")

    def test_hosts_where_dst_is_a_directory_get_theirs_in_a_chain_of_their_own(self):
        tree = self.tree()
        for number in (2, 3):
            (self.fleet[number].own / "copy").mkdir()
        done = self.copy("-r", tree, self.to)
        self.assertIn("goes on with 2 of 4 hosts", done.err)
        self.assertEqual(done.err.count("is a directory on h2 and gets "), 1, done.err)
        self.assertIn("copy/tree there; where it is new, it becomes ", done.err)
        self.assert_have(tree, 1, 4)
        self.assert_have(tree, 2, 3, name="copy/tree")
        (self.fleet[2].own / "copy2").mkdir()
        self.assertEqual(self.copy("-q", "-r", tree, f"{self.to}2").err, "")

    def test_lists_of_hosts(self):
        tree = self.tree()
        failed = self.disk / "failed"
        names = self.disk / "names"
        names.write_text("h[2-3] # two\n\nh9\n")
        done = self.fails(EXIT_FILES, "-r", f"{tree}/", f":{self.fleet.data}/copy", "--hosts", names, "--failed-hosts", failed,
                          says=("h9", "2 of 3 hosts have all"))
        self.assertEqual(failed.read_text(), "h9\n", done)
        self.assert_have(tree, 2, 3)
        self.fails(EXIT_HOST, "-r", f"{tree}/", "h[8-9]:copy")
        for word, why in (("h[3-1]:x", "runs backwards"), ("h[1-3,]:x", "no range"), ("h1,,h2:x", "empty"),
                          ("h[1-99999]:x", "more than")):
            self.fails(EXIT_USAGE, "-r", f"{tree}/", word, says=(why,))
        self.fails(EXIT_USAGE, tree, "here", "--hosts", names, says=(":PATH",))
        self.fails(EXIT_USAGE, tree, "h1:x", "--failed-hosts", failed, says=("several hosts",))
        self.fails(EXIT_USAGE, "--doctor", "h1", "--hosts", names, says=("takes none",))
        self.fails(EXIT_USAGE, "--clean", "h1:x", "--hosts", names, says=(":PATH",))
        self.fails(EXIT_USAGE, "--check", tree, "h[1-2]:x", "--failed-hosts", failed, says=("for copies",))
        self.fails(EXIT_USAGE, "-r", tree, ":x", "--hosts", "slurm", says=("SLURM_JOB_NODELIST",))

    def test_what_runs_have_left_is_listed_and_removed_on_every_host(self):
        left = ".file.rdcp-0123abcd"
        for host in self.fleet.hosts:
            (host.own / "copy").mkdir()
        for host in self.fleet.hosts[:2]:
            (host.own / "copy" / left).write_bytes(b"four")
        listed = self.copy("--clean", "-n", self.to).out.decode().splitlines()
        self.assertRegex("\n".join(sorted(listed)), rf"\Ah1: temporary file, 4[^,]*, .* old: {left}\nh2: temporary file, .*: {left}\Z")
        self.assertTrue((self.fleet[1].own / "copy" / left).exists())
        names = self.disk / "names"
        names.write_text("h[2-3]\nh9\n")
        done = self.fails(EXIT_FILES, "--clean", "--hosts", names, f":{self.fleet.data}/copy", says=("h9",))
        self.assertRegex(done.out.decode(), rf"\Ah2: [^\n]*: {left}\n\Z")
        self.assertFalse((self.fleet[2].own / "copy" / left).exists())
        self.assertTrue((self.fleet[1].own / "copy" / left).exists())
        self.fails(EXIT_HOST, "--clean", "h[8-9]:copy")
        self.assert_no_agents()

    def test_who_is_interrupted_while_it_reads_a_list_says_so(self):
        running = self.start("--json", "-r", self.tree(), ":x", "--hosts", "-", stdin=subprocess.PIPE)
        takes_signals = lambda: "anon_inode:[signalfd]" in held_by(running.pid).values()
        self.assertTrue(wait_for(takes_signals, 20))
        os.kill(running.pid, signal.SIGINT)
        running.process.wait(20)
        done = running.finish(20)
        self.assertEqual(done.status, 128 + signal.SIGINT, done)
        self.assertEqual(json.loads(done.out.splitlines()[-1])["status"], 128 + signal.SIGINT)

    def test_what_the_source_cannot_read_is_missing_at_every_host(self):
        tree = self.tree()
        failed = self.disk / "failed"
        for host in self.fleet.hosts:
            (host.own / "copy").mkdir()
        done = self.fails(EXIT_FILES, "-r", tree, self.disk / "nothing", self.to, "--failed-hosts", failed)
        self.assertIn("nothing", done.err)
        self.assertEqual(failed.read_text(), "h1\nh2\nh3\nh4\n")
        self.assert_have(tree, 1, 2, 3, 4, name="copy/tree")

    def test_a_host_where_src_cannot_land_does_not_stop_the_others(self):
        tree = self.tree()
        (self.fleet[1].own / "copy").write_text("a file")
        done = self.fails(EXIT_FILES, "-r", f"{tree}/", self.to, says=("h1:", "3 of 4 hosts have all"))
        self.assertEqual((self.fleet[1].own / "copy").read_text(), "a file", done)
        self.assert_have(tree, 2, 3, 4)

    def test_a_host_that_its_neighbour_cannot_reach_gets_its_copy_alone(self):
        tree = self.tree()
        inside = self.fleet[3].inside
        # Link-local addresses are nobody's alone in such a rule; h1's and this host's way there is the other address.
        set_firewall(inside, SSH_PORT, (f"ip saddr {self.fleet[2].address} meta l4proto tcp reject with tcp reset",
                                        "ip6 saddr fe80::/10 meta l4proto tcp reject with tcp reset"))
        self.addCleanup(set_firewall, inside, SSH_PORT)
        done = self.copy("-r", f"{tree}/", self.to)
        self.assertIn("h3: gets its copy alone later", done.err)
        self.assertEqual(done.err.count("gets its copy alone later"), 1, done)
        self.assert_have(tree, 1, 2, 3, 4)

    def test_json_names_the_hosts(self):
        tree = self.tree()
        done = self.fails(EXIT_FILES, "--json", "-r", f"{tree}/", f"h1,h9:{self.fleet.data}/copy")
        last = json.loads(done.out.splitlines()[-1])
        self.assertEqual([host["host"] for host in last["hosts"]], ["h1", "h9"])
        self.assertEqual([host["status"] for host in last["hosts"]], [0, EXIT_HOST])
        self.assertEqual(last["status"], EXIT_FILES)

    def test_of_an_old_file_only_what_one_of_them_lacks_is_sent(self):
        tree = self.tree(24 * MIB)
        self.copy("-r", f"{tree}/", self.to)
        for number in (1, 3):  # each lacks another piece, and has a time of its own
            with (self.fleet[number].own / "copy" / "large").open("r+b") as old:
                old.seek(number * 5 * MIB)
                old.write(b"another")
            os.utime(self.fleet[number].own / "copy" / "large", (1, number))
        with (tree / "large").open("r+b") as new:
            new.seek(9 * MIB)
            new.write(b"new")
        for words in ((), ("--inplace",), ("--encrypt", "--verify")):
            with self.subTest(words):
                before = [self.fleet[number].received_bytes() for number in (1, 2, 3, 4)]
                self.copy("--sync", *words, f"{tree}/", self.to)
                self.assert_have(tree, 1, 2, 3, 4)
                for number, bytes_before in zip((1, 2, 3, 4), before):
                    self.assertLess(self.fleet[number].received_bytes() - bytes_before, 2 * MIB, f"h{number}")
                (tree / "large").touch()


class HostsThatLie(OverSsh):
    """One host runs an rdcp that changes what it passes on, or what those behind it answer."""

    def let_lie(self, number: int, how: str):
        for host in self.fleet.hosts:
            lies = host is self.fleet[number]
            script = host.own / "rdcp"
            script.write_text(f'#!/bin/sh\nRDCP_HOP={how} RDCP_HOP_LINK={self.disk}/link exec {HOSTILE_HOP if lies else RDCP} "$@"\n')
            script.chmod(0o755)

    def command(self, *words) -> list[str]:
        return [str(RDCP), "-e", self.fleet.ssh_text(), "--rdcp-path", f"{self.fleet.data}/rdcp", *map(str, words)]

    def test_a_host_that_changes_a_byte_is_found_out(self):
        tree = self.tree()
        failed = self.disk / "failed"
        for kind in ("data", "archive"):
            with self.subTest(kind):
                to = f"{self.to}-{kind}"
                self.let_lie(2, kind)
                done = self.fails(EXIT_FILES, "--fanout", "1", "-r", f"{tree}/", to, "--failed-hosts", failed,
                                  says=("copy to h3: what it has got is not what was sent; it came by way of h2", "--checksum"))
                self.assertEqual(failed.read_text(), "h3\nh4\n")
                self.assertIn("2 of 4 hosts have all", done.err)
                self.assert_have(tree, 1, 2, name=f"copy-{kind}")
                self.assertNotEqual(differences(snapshot(tree), snapshot(self.fleet[3].own / f"copy-{kind}"), ()), [])
                self.let_lie(2, "")
                self.copy("-r", "--checksum", f"{tree}/", to)
                self.assert_have(tree, 1, 2, 3, 4, name=f"copy-{kind}")

    def test_a_host_that_passes_on_a_link_before_its_file_is_found_out(self):
        tree = self.tree()
        file, mtime = tree / "sub" / "small-100", 10**9
        (tree / "linked").unlink()
        os.link(file, tree / "linked")
        os.utime(file, (mtime, mtime))
        command = ("--fanout", "1", "--no-landlock", "-r", f"{tree}/", self.to)
        for how in ("", "order"):  # from the second one it knows the chunk with the link
            self.let_lie(2, how)
            self.copy(*command)
            self.assert_have(tree, 1, 2, 3, 4)
        file.write_bytes(b"d" * 4999 + b"e")
        os.utime(file, (mtime, mtime))
        self.fails(EXIT_FILES, *command, says=("h3", "another name was linked to it before it came", "2 of 4 hosts have all"))
        self.assert_have(tree, 1, 2)
        self.assertNotEqual(differences(snapshot(tree), snapshot(self.fleet[3].own / "copy"), ()), [])
        self.let_lie(2, "")
        self.copy(*command)
        self.assert_have(tree, 1, 2, 3, 4)

    def test_in_a_tree_only_those_behind_it_have_failed(self):
        tree = self.tree()
        self.let_lie(2, "data")  # it passes on to h4
        done = self.fails(EXIT_FILES, "--fanout", "2", "-r", f"{tree}/", self.to,
                          says=("copy to h4: what it has got is not what was sent; it came by way of h2",))
        self.assertIn("3 of 4 hosts have all", done.err)
        self.assert_have(tree, 1, 2, 3)

    def test_a_host_that_answers_for_others_is_found_out(self):
        tree = self.tree()
        self.let_lie(2, "")
        self.copy("--sync", f"{tree}/", self.to)
        (self.fleet[4].own / "copy" / "sub" / "small-5").unlink()
        self.let_lie(2, "withhold")
        self.fails(EXIT_FILES, "--sync", f"{tree}/", self.to, says=("h4", "that it asked for have not come"))
        self.let_lie(2, "")
        self.copy("--sync", f"{tree}/", self.to)
        self.assert_have(tree, 1, 2, 3, 4)

    def test_a_host_that_refuses_for_others_is_found_out(self):
        tree = self.tree()
        self.let_lie(1, "refuse")  # those before it would have the bytes come all the same
        for words in (("-r",), ("--sync",)):
            with self.subTest(words):
                self.fails(EXIT_DIGEST, *words, f"{tree}/", self.to, says=("h4", "that it asked for have not come"))
                self.assertFalse((self.fleet[4].own / "copy" / "large").exists())
        self.let_lie(1, "")
        self.copy("-r", f"{tree}/", self.to)
        self.assert_have(tree, 1, 2, 3, 4)

    def test_a_host_that_has_a_piece_does_not_keep_it_from_others(self):
        tree = self.tree(24 * MIB)
        self.let_lie(2, "")
        self.copy("--sync", f"{tree}/", self.to)
        old = self.fleet[4].own / "copy" / "large"
        with old.open("r+b") as file:
            file.write(b"another")
        lacks = old.read_bytes()
        (tree / "large").touch()
        self.let_lie(2, "withhold")
        self.fails(EXIT_FILES, "--sync", f"{tree}/", self.to,
                   says=("h4", "large: parts of it are missing, and were not sent", "3 of 4 hosts have all"))
        self.assertEqual(old.read_bytes(), lacks)
        self.let_lie(2, "")
        self.copy("--sync", f"{tree}/", self.to)
        self.assert_have(tree, 1, 2, 3, 4)


class HostsThatFail(OverSsh):
    def finish(self, running, status: int, *says: str):
        done = running.finish(120)
        self.assertEqual(done.status, status, done)
        for words in says:
            self.assertIn(words, done.err)
        self.assert_no_agents()
        return done

    def test_one_whose_agent_is_killed(self):
        for number in (1, 2, 4):
            with self.subTest(number):
                self.setUp()
                tree, running = self.slow_copy()
                for pid in self.fleet[number].agents():
                    os.kill(pid, signal.SIGKILL)
                self.finish(running, EXIT_FILES, f"h{number}", "goes on with 3 of 4 hosts", "3 of 4 hosts have all")
                self.assert_have(tree, *({1, 2, 3, 4} - {number}))
                self.copy("-r", f"{tree}/", self.to)
                self.assert_have(tree, 1, 2, 3, 4)

    def test_one_that_is_stopped_is_served_at_the_end(self):
        tree, running = self.slow_copy()
        stopped = self.fleet[2].agents()
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        done = running.finish(120)
        self.assertEqual(done.status, EXIT_OK, done)
        self.assertIn("goes on with 3 of 4 hosts", done.err)
        self.assertIn("h2: gets its copy alone later", done.err)
        self.assert_have(tree, 1, 3, 4)
        lines = differences(snapshot(tree), snapshot(self.fleet[2].own / "copy"), ())
        self.assertEqual([line for line in lines if ".rdcp-" not in line], [])  # the stopped agent holds its part
        for pid in stopped:  # it ends by itself once it can
            os.kill(pid, signal.SIGCONT)
        self.assert_no_agents()

    def test_one_in_a_tree_whose_agent_is_killed(self):
        for number in (1, 2, 3):  # h1 passes on to h2 and h3, h2 to h4
            with self.subTest(number):
                self.setUp()
                tree, running = self.slow_copy(fanout=2)
                for pid in self.fleet[number].agents():
                    os.kill(pid, signal.SIGKILL)
                self.finish(running, EXIT_FILES, f"h{number}", "goes on with 3 of 4 hosts", "3 of 4 hosts have all")
                self.assert_have(tree, *({1, 2, 3, 4} - {number}))

    def test_one_in_a_tree_that_its_parent_cannot_reach(self):
        tree, running = self.slow_copy(fanout=2)
        self.fleet[3].cut()
        self.finish(running, EXIT_FILES, "h3", "3 of 4 hosts have all")
        self.fleet[3].join()
        self.assert_have(tree, 1, 2, 4)

    def test_one_that_comes_back_between_retries(self):
        tree = self.tree()
        self.fleet[2].cut()
        running = self.start("-o", "ConnectTimeout=1", "--retries", "20", "-r", f"{tree}/", self.to, stderr=subprocess.PIPE)
        said = b""
        while b"(try 1 of 20)" not in said:
            piece = os.read(running.process.stderr.fileno(), 4096)
            self.assertTrue(piece, said)  # it has not ended
            said += piece
        self.assert_have(tree, 1, 3, 4)
        self.fleet[2].join()
        self.assertEqual(running.process.wait(60), EXIT_OK)
        self.assert_have(tree, 2)

    def test_one_that_lets_nobody_in_does_not_hold_the_others(self):
        tree = self.tree()
        daemon = next(pid for pid in self.fleet[2].processes() if b"sshd" in Path(f"/proc/{pid}/cmdline").read_bytes())
        os.kill(daemon, signal.SIGSTOP)
        self.addCleanup(os.kill, daemon, signal.SIGCONT)
        running = self.start("-r", f"{tree}/", self.to)
        self.assertTrue(wait_for(lambda: (self.fleet[4].own / "copy" / "linked").exists(), 30))
        os.kill(daemon, signal.SIGCONT)
        done = running.finish(60)
        self.assertEqual(done.status, EXIT_OK, done)
        self.assert_have(tree, 1, 2, 3, 4)

    def test_the_doctor_does_not_wait_for_one_that_lets_nobody_in(self):
        daemon = next(pid for pid in self.fleet[2].processes() if b"sshd" in Path(f"/proc/{pid}/cmdline").read_bytes())
        os.kill(daemon, signal.SIGSTOP)
        self.addCleanup(os.kill, daemon, signal.SIGCONT)
        done = self.fails(EXIT_FILES, "--doctor", "--json", "h[1-3]")
        report = json.loads(done.out)
        self.assertEqual([host["name"] for host in report["hosts"]],
                         ["this host", "h1", "from this host to h1", "h2", "h3", "from this host to h3"])
        self.assertIn("no answer, while other hosts have answered", report["hosts"][3]["findings"][-1]["text"])
        self.assert_no_agents()

    def test_one_that_loses_its_network(self):
        tree, running = self.slow_copy()
        self.fleet[3].cut()
        self.finish(running, EXIT_FILES, "h3", "3 of 4 hosts have all")
        self.fleet[3].join()
        self.assert_have(tree, 1, 2, 4)

    def test_one_whose_disk_is_full(self):
        tree = self.tree(24 * MIB)
        mount = [*self.fleet[2].inside, "mount", "-t", "tmpfs", "-o", "size=8m", "none", str(self.fleet.data)]
        subprocess.run(mount, check=True)
        self.addCleanup(subprocess.run, [*self.fleet[2].inside, "umount", "-l", str(self.fleet.data)], check=True)
        done = self.fails(EXIT_FILES, "-r", f"{tree}/", self.to, says=("h2", "No space left", "3 of 4 hosts have all"))
        self.assertNotIn("goes on", done.err)  # it went on passing on
        self.assert_have(tree, 1, 3, 4)

    def damaging_agent(self, condition: str, times: int) -> Path:
        """An rdcp that damages what it sends on where this holds in the shell."""
        agent, settings = self.disk / "agent", preloaded("corrupt", RDCP_CORRUPT_TIMES=times, RDCP_CORRUPT_LOG=self.disk / "flips")
        words = " ".join(f"{setting}='{value}'" for setting, value in settings.items())
        agent.write_text(f'#!/bin/sh\nif {condition}; then export {words}; fi\nexec {RDCP} "$@"\n')
        agent.chmod(0o755)
        return agent

    def test_one_where_dst_has_no_place_passes_on(self):
        tree, host = self.tree(), self.fleet[2]
        for other in self.fleet.hosts:
            if other is not host:
                (other.own / "there").mkdir()
        before = self.fleet.sent_bytes()
        done = self.fails(EXIT_FILES, "-r", f"{tree}/", f"h[1-4]:{self.fleet.data}/there/copy", says=("h2", "--mkpath"))
        self.assertNotIn("goes on", done.err)
        self.assertNotIn("alone", done.err)
        self.assertLess(self.fleet.sent_bytes() - before, 1.5 * 6 * MIB)
        self.assert_have(tree, 1, 3, 4, name="there/copy")
        self.assertEqual(list(host.own.iterdir()), [])

    def test_one_that_sends_altered_bytes_costs_nobody_the_copy(self):
        """What does not open ends a host's part; it gets its copy alone, and the others go on."""
        tree = self.tree()
        is_second = f'[ "${{SSH_CONNECTION#* {self.fleet[2].address} }}" != "$SSH_CONNECTION" ]'
        for times in (1, -1):
            with self.subTest(times):
                to = f"{self.to}{abs(times + 1)}"
                running = self.start("--rdcp-path", self.damaging_agent(is_second, times), "--fanout", "1", "-r", f"{tree}/", to)
                self.finish(running, EXIT_OK, "h3: gets its copy alone later", "arrived altered", "goes on with 3 of 4")
                self.assert_have(tree, 1, 2, 3, 4, name=Path(to).name)

    def test_one_that_gets_altered_bytes_wherever_they_come_from(self):
        tree = self.tree()
        (self.fleet[1].own / "copy").mkdir()
        old = make_file(self.fleet[1].own / "copy" / "large", 10)
        before, failed = old.read_bytes(), self.disk / "failed"
        settings = preloaded("corrupt", RDCP_CORRUPT_TIMES=-1, RDCP_CORRUPT_LOG=self.disk / "flips")
        running = self.start("-r", f"{tree}/", self.to, "--failed-hosts", failed, env={**os.environ, **settings})
        self.finish(running, EXIT_DIGEST, "arrived altered", "0 of 4 hosts have all")
        self.assertEqual(failed.read_text(), "h1\nh2\nh3\nh4\n")
        self.assertEqual(old.read_bytes(), before)

    def test_standard_input_that_a_chain_has_lost_is_nowhere(self):
        """It cannot be read again, so what is left of it is no copy."""
        file, failed = make_file(self.disk / "file", 24 * MIB), self.disk / "failed"
        for host in self.fleet.hosts[:2]:
            (host.own / "copy").write_text("old")
        before = self.fleet[4].received_bytes()
        feeder = subprocess.Popen(["cat", file], stdout=subprocess.PIPE)
        self.addCleanup(feeder.wait)
        running = self.start("--bwlimit", "8M", "-", self.to, "--failed-hosts", failed, "--retries", "3", stdin=feeder.stdout)
        feeder.stdout.close()
        self.assertTrue(wait_for(lambda: self.fleet[4].received_bytes() - before > 4 * MIB, 30))
        for pid in self.fleet[2].agents():
            os.kill(pid, signal.SIGKILL)
        done = running.finish(60)
        self.assertNotIn(done.status, (EXIT_OK, EXIT_USAGE), done)
        self.assertIn("0 of 4 hosts have all", done.err)
        self.assertIn("cannot be read or written again", done.err)
        self.assertNotIn("goes on", done.err)
        self.assertEqual(failed.read_text(), "h1\nh2\nh3\nh4\n")
        self.assert_no_agents()
        for host in self.fleet.hosts:
            self.assert_no_litter(host.own, cut_short=True)
        self.assertEqual([[path.read_bytes() for path in host.own.iterdir()] for host in self.fleet.hosts],
                         [[b"old"], [b"old"], [], []])

    def test_the_source_is_killed_and_the_same_command_goes_on(self):
        tree, running = self.slow_copy()
        running.kill()
        self.assert_no_agents()
        done = self.copy("-v", "-r", f"{tree}/", self.to)
        self.assertIn("were there already", done.err)
        self.assert_have(tree, 1, 2, 3, 4)


if __name__ == "__main__":
    unittest.main()
