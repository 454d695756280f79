"""--launcher: hosts that srun starts rdcp on, in a job of a real Slurm whose nodes are namespaces of this machine, and pods
that a stand-in for kubectl does or, where it is installed, the real one with a stand-in for its cluster."""

import json
import os
import signal
import subprocess
import unittest
from pathlib import Path

from harness import (BUILD, EXIT_FILES, EXIT_HOST, EXIT_OK, EXIT_USAGE, MIB, RDCP, CopyTest, Running, make_file, session_of,
                     wait_for)
from api_server import ApiServer, why_no_kubectl
from fleet_test import FleetTest
from kubectl import Kubectl
from slurm import Slurm, why_no_slurm

from network import set_firewall  # in scripts/lib, as harness has it
from fleet import NEAR, SSH_PORT


class LauncherTest(FleetTest):
    """Hosts without an sshd. `self.env` is what rdcp has in its environment."""

    HOSTS = 3
    SSHDS = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.place / "launcher").mkdir()

    def command(self, *words) -> list[str]:
        return [str(RDCP), "--launcher", self.launcher, *map(str, words)]

    def start(self, *words, **options) -> Running:
        return super().start(*words, **{"env": self.env, **options})

    def close_network(self):
        """Neither reaches a host this one at port 7000 nor the other way round; the hosts reach each other."""
        for host in self.fleet.hosts:
            refused = "tcp dport 7000 reject with tcp reset"
            set_firewall(host.inside, SSH_PORT, (f"ip saddr {NEAR} {refused}",), (f"ip daddr {NEAR} {refused}",))
            self.addCleanup(set_firewall, host.inside, SSH_PORT)


class InAJobOfSlurm(LauncherTest):
    launcher = "srun"

    @classmethod
    def setUpClass(cls):
        if why := why_no_slurm():
            raise unittest.SkipTest(why)
        super().setUpClass()
        cls.slurm = cls.enterClassContext(Slurm(cls.place / "launcher", cls.fleet))
        cls.env = cls.enterClassContext(cls.slurm.job())

    def setUp(self):
        super().setUp()
        self.to = f":{self.fleet.data}/copy"

    def steps(self) -> list[str]:
        """What srun has started for rdcp: the job's first step is its program, others are Slurm's own."""
        words = ("squeue", "--steps", "--noheader", f"--jobs={self.env['SLURM_JOB_ID']}", "--format=%i")
        numbers = [step.rpartition(".")[2] for step in self.slurm.run(*words).split()]
        return [number for number in numbers if number.isdigit() and number != "0"]

    def test_a_tree_reaches_all_nodes_of_the_job(self):
        tree = self.tree()
        before = self.fleet.sent_bytes()
        done = self.copy("--hosts", "slurm", "--no-encrypt", "-r", f"{tree}/", self.to)
        self.assertEqual(done.err, "")
        self.assert_have(tree, 1, 2, 3)
        payload = sum(path.lstat().st_size for path in tree.rglob("*") if path.is_file())
        self.assertLess(self.fleet.sent_bytes() - before, 1.5 * payload + MIB)
        again = self.copy("--hosts", "slurm", "--sync", "-i", f"{tree}/", self.to)
        self.assertEqual(again.out, b"")
        self.assertTrue(wait_for(lambda: not self.steps(), 20), self.steps())

    def test_from_within_a_step(self):
        tree = self.tree()
        step = ("srun", "--overlap", "--nodes=1", "--ntasks=1", "--ntasks-per-node=1", "--nodelist=h2")
        done = subprocess.run([*step, *self.command("--hosts", "slurm", "-r", f"{tree}/", self.to)], env=self.env, timeout=60,
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        self.assertEqual((done.returncode, done.stderr), (EXIT_OK, ""))
        self.assert_have(tree, 1, 2, 3)

    def test_one_node_both_ways_check_and_doctor(self):
        tree = self.tree()
        there = f"h2:{self.fleet.data}/copy"
        self.copy("--verify", "-r", f"{tree}/", there)
        self.copy("-r", f"{there}/", self.target / "back")
        self.assert_same_tree(tree, self.target / "back")
        self.copy("--check", f"{tree}/", there)
        (self.fleet[2].own / "copy" / "large").write_bytes(b"x")
        self.fails(EXIT_FILES, "--check", f"{tree}/", there)
        looked = self.rdcp("--doctor", "h2")
        self.assertIn("srun", looked.out.decode())
        self.copy("-r", f"h2:{self.fleet.data}/copy/", f"h3:{self.fleet.data}/copy")
        self.assert_same_tree(self.fleet[2].own / "copy", self.fleet[3].own / "copy")

    def test_every_byte_goes_through_srun_as_it_is(self):
        """Control messages and, with --via ssh, the data, of which no newline ends any piece."""
        file = make_file(self.disk / "file", 3 * MIB + 5)
        every = self.disk / "every"
        every.write_bytes(bytes(range(256)) * 4096)
        self.copy("--via", "ssh", "--streams", "2", file, every, f"h1:{self.fleet.data}/")
        self.assert_same_file(file, self.fleet[1].own / "file")
        self.assert_same_file(every, self.fleet[1].own / "every")

    def test_a_relative_path_begins_at_home_and_no_shell_splits_it(self):
        home = self.disk / "home"
        home.mkdir()
        file = make_file(self.disk / "it's $HOME; a name", 100)
        self.copy(file, "h1:", env={**self.env, "HOME": str(home)})
        self.assert_same_file(file, home / file.name)

    def test_the_address_of_an_ssh_login_here_is_no_address_there(self):
        """srun hands on SSH_CONNECTION, of which an agent would take the address of the login node for its own. Here no
        address can be reached, and -v names those that were tried."""
        tree = self.tree()
        self.close_network()
        env = {**self.env, "SSH_CONNECTION": "192.0.2.1 1000 192.0.2.2 22"}
        done = self.copy("-v", "--data-port", "7000", "-r", f"h1:{tree}/", self.target / "copy", env=env)
        self.assertIn("the data goes through srun, which is slower", done.err)
        self.assertIn(f"not reached: h1: {self.fleet[1].address}:7000", done.err)
        self.assertIn("not reached: this host: 192.0.2.2:7000", done.err)  # here it is one
        self.assertEqual(done.err.count("192.0.2.2"), 1)
        self.assert_same_tree(tree, self.target / "copy")

    def test_options_behind_the_name_are_sruns(self):
        tree = self.tree()
        number = self.env["SLURM_JOB_ID"]
        self.launcher = f"srun --jobid={number}"
        self.addCleanup(delattr, self, "launcher")
        self.copy("-r", f"{tree}/", f"h1:{self.fleet.data}/copy", env=self.slurm.env)
        self.assert_have(tree, 1)

    def test_a_node_that_is_not_of_the_job_is_named(self):
        tree = self.tree()
        done = self.fails(EXIT_HOST, "-r", f"{tree}/", f"h9:{self.fleet.data}/copy",
                          says=("h9: srun: error", "srun could not start a step there"))
        self.assertNotIn("ssh", done.err)
        self.fails(EXIT_FILES, "-r", f"{tree}/", f"h1,h9:{self.fleet.data}/copy", says=("h9", "1 of 2 hosts have all"))
        self.assert_have(tree, 1)

    def test_agents_end_with_their_coordinator(self):
        tree, running = self.slow_copy(to=f"h[1-3]:{self.fleet.data}/copy")
        os.kill(running.pid, signal.SIGKILL)
        running.process.wait()
        self.assert_no_agents()
        self.assertTrue(wait_for(lambda: not session_of(running.pid), 20), "an srun lives on")
        self.assertTrue(wait_for(lambda: not self.steps(), 20), self.steps())
        self.copy("-r", f"{tree}/", f"h[1-3]:{self.fleet.data}/copy")
        self.assert_have(tree, 1, 2, 3)

    def test_ctrl_c_ends_in_order(self):
        tree, running = self.slow_copy(to=f"h[1-3]:{self.fleet.data}/copy")
        os.killpg(running.pid, signal.SIGINT)  # as the terminal does: to all of the foreground group
        done = running.finish(30)
        self.assertEqual(done.status, 130, done)
        self.assertNotIn("srun:", done.err)  # which would have told of the signal, had it got it
        self.assert_no_agents()
        for host in self.fleet.hosts:
            self.assertEqual([path for path in (host.own / "copy").rglob(".*.rdcp-*")], [])
        self.copy("-r", f"{tree}/", f"h[1-3]:{self.fleet.data}/copy")
        self.assert_have(tree, 1, 2, 3)

    def test_a_node_whose_agent_is_killed_is_left_out(self):
        self.assert_one_that_dies_is_left_out(f"h[1-3]:{self.fleet.data}/copy")

    def test_a_node_that_gives_no_sign_of_life_gets_another_step_and_slurm_ends_the_first(self):
        tree, running = self.slow_copy(to=f"h[1-3]:{self.fleet.data}/copy")
        stopped = self.fleet[2].agents()
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        done = running.finish(120)
        self.assertEqual(done.status, EXIT_OK, done)
        self.assertIn("h2: gets its copy alone later", done.err)
        self.assert_have(tree, 1, 2, 3)
        self.assert_no_agents()
        self.assertTrue(wait_for(lambda: not self.steps(), 20), self.steps())

    def test_where_srun_cannot_be_used(self):
        tree = self.tree()
        outside = {name: value for name, value in self.env.items() if not name.startswith("SLURM_JOB")}
        self.fails(EXIT_USAGE, tree, "h1:x", env=outside, says=("SLURM_JOB_ID is not set", "salloc or sbatch"))
        self.fails(EXIT_USAGE, "--doctor", "h1", env=outside, says=("SLURM_JOB_ID is not set",))
        self.fails(EXIT_USAGE, tree, "h1:x", env={**self.env, "PATH": "/nowhere"}, says=("no srun in PATH", "write its path"))


class Pods(LauncherTest):
    launcher = "kubectl"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster = cls.make_cluster(cls.place / "launcher", [f"trainer-{i}" for i in range(cls.HOSTS)])
        cls.env = cls.cluster.env

    @classmethod
    def make_cluster(cls, folder: Path, pods: list[str]):
        return Kubectl(folder, cls.fleet, pods)

    def setUp(self):
        super().setUp()
        self.to = f"trainer-[0-2]:{self.fleet.data}/copy"

    def test_a_tree_reaches_all_pods_though_nobody_knows_their_names(self):
        tree = self.tree()
        before = self.fleet.sent_bytes()
        done = self.copy("--no-encrypt", "-r", f"{tree}/", self.to)
        self.assertEqual(done.err, "")
        self.assert_have(tree, 1, 2, 3)
        payload = sum(path.lstat().st_size for path in tree.rglob("*") if path.is_file())
        self.assertLess(self.fleet.sent_bytes() - before, 1.5 * payload + MIB)
        self.assert_no_agents()

    def test_namespace_and_container_are_options_of_kubectl(self):
        tree = self.tree()
        self.launcher = "kubectl -n train --container main"
        self.addCleanup(delattr, self, "launcher")
        self.copy("-r", f"{tree}/", self.to)
        self.copy("-r", f"trainer-1:{self.fleet.data}/copy/", self.target / "back")
        self.assert_same_tree(tree, self.target / "back")
        self.assertEqual(sorted(set(self.cluster.calls()[-4:])), [f"train/trainer-{i}/main" for i in range(3)])

    def test_a_pod_that_has_no_rdcp_gets_one(self):
        tree = self.tree()
        if not list(BUILD.glob("rdcp-agent-*.sha256")):
            self.skipTest("no agents are built here")
        hidden = [*self.fleet[1].inside, "mount", "-t", "tmpfs", "none", str(BUILD)]
        subprocess.run(hidden, check=True)
        self.addCleanup(subprocess.run, [*self.fleet[1].inside, "umount", str(BUILD)], check=True)
        done = self.copy("-r", f"{tree}/", "trainer-0:copy")
        self.assertIn("trainer-0: no rdcp of this version was found there; putting one into", done.err)
        home = self.cluster.homes / "trainer-0"
        self.assert_same_tree(tree, home / "copy")  # a relative path begins in the pod's HOME
        self.assertEqual(len(list((home / ".cache" / "rdcp").glob("*/rdcp"))), 1)

    def test_from_outside_of_the_cluster_the_data_goes_through_kubectl(self):
        tree = self.tree()
        self.close_network()
        done = self.copy("--data-port", "7000", "-r", f"{tree}/", self.to)
        self.assertIn("the data goes through kubectl, which is slower", done.err)
        self.assert_have(tree, 1, 2, 3)

    def test_a_pod_that_is_not_there_is_named(self):
        tree = self.tree()
        done = self.fails(EXIT_HOST, "-r", f"{tree}/", f"nobody:{self.fleet.data}/copy",
                          says=("nobody: kubectl: Error from server (NotFound)", "kubectl could not start a command there"))
        self.assertNotIn("ssh", done.err)

    def test_agents_end_with_their_coordinator(self):
        tree, running = self.slow_copy()
        os.kill(running.pid, signal.SIGKILL)
        running.process.wait()
        self.assert_no_agents()
        self.copy("-r", f"{tree}/", self.to)
        self.assert_have(tree, 1, 2, 3)

    def test_ctrl_c_ends_in_order(self):
        tree, running = self.slow_copy()
        os.killpg(running.pid, signal.SIGINT)  # as the terminal does: kubectl is in the foreground group, too
        done = running.finish(30)
        self.assertEqual(done.status, 130, done)
        self.assert_no_agents()
        self.assertFalse(session_of(running.pid))
        self.copy("-r", f"{tree}/", self.to)
        self.assert_have(tree, 1, 2, 3)

    def test_a_pod_that_dies_is_left_out(self):
        self.assert_one_that_dies_is_left_out(self.to)

    def test_a_setting_for_hosts(self):
        tree = self.tree()
        settings = self.disk / "rdcp" / "config"
        settings.parent.mkdir()
        settings.write_text('[host "trainer-*"]\nlauncher = kubectl -n set\n')
        settings.chmod(0o644)
        env = {**self.env, "XDG_CONFIG_HOME": str(self.disk)}

        def run(*words):
            return subprocess.run([str(RDCP), *map(str, words)], env=env, capture_output=True, text=True, timeout=60, check=False,
                                  stdin=subprocess.DEVNULL)
        done = run("-r", f"{tree}/", f"trainer-1:{self.fleet.data}/copy")
        self.assertEqual((done.returncode, done.stderr), (EXIT_OK, ""))
        self.assert_have(tree, 2)
        self.assertEqual(self.cluster.calls()[-1], "set/trainer-1/")
        shown = run("--print-config", "trainer-1")
        self.assertIn(f"launcher kubectl -n set ({settings}:2)", shown.stdout)
        self.assertIn("launcher ssh (default)", run("--print-config", "gpu1").stdout)
        other = run("-e", "false", tree, "trainer-1:x")  # the command line counts more
        self.assertEqual(other.returncode, EXIT_HOST, other)
        self.assertIn("it ended with status 1", other.stderr)

    def test_json_says_what_is_wrong(self):
        tree = self.tree()
        done = self.fails(EXIT_USAGE, "--json", tree, "trainer-0:x", env={**self.env, "PATH": "/nowhere"},
                          says=("no kubectl in PATH",))
        self.assertEqual(json.loads(done.out.splitlines()[-1])["status"], EXIT_USAGE)


class PodsOfARealKubectl(Pods):
    """The same with the real program, which talks to a server that stands in for a cluster's."""

    @classmethod
    def setUpClass(cls):
        if why := why_no_kubectl():
            raise unittest.SkipTest(why)
        super().setUpClass()

    @classmethod
    def make_cluster(cls, folder: Path, pods: list[str]):
        return cls.enterClassContext(ApiServer(folder, cls.fleet, pods))


class Words(CopyTest):
    """What is refused before anything is started."""

    def command(self, *words) -> list[str]:
        return [str(RDCP), *map(str, words)]

    def test_what_does_not_go_together(self):
        names = self.disk / "names"
        names.write_text("me@pod\n")
        for words, why in (
                (("--launcher", "srun", "-e", "ssh", "a", "h:b"), "cannot be used with --rsh"),
                (("--launcher", "docker", "a", "h:b"), "must be one of ssh, srun, kubectl"),
                (("--launcher", " ", "a", "h:b"), "--launcher"),
                (("--launcher", "kubectl", "-o", "Port=1", "a", "h:b"), "these are options of ssh"),
                (("--launcher", "srun", "-i", "key", "a", "h:b"), "these are options of ssh"),
                (("--launcher", "srun", "a", "me@h:b"), "leave out USER@"),
                (("--launcher", "srun", "a", "h1,me@h2:b"), "leave out USER@"),
                (("--launcher", "kubectl", "a", "scp://h:22/b"), "is a port of ssh"),
                (("--launcher", "/nowhere/kubectl", "a", "h:b"), "/nowhere/kubectl is not a program")):
            with self.subTest(words):
                self.fails(EXIT_USAGE, *words, says=(why,))
        program = self.disk / "kubectl"
        program.write_text("#!/bin/sh\nexit 1\n")
        program.chmod(0o755)
        self.fails(EXIT_USAGE, "--launcher", program, "--hosts", names, "a", ":b", says=("leave out USER@",))

    def test_ssh_may_be_named(self):
        file = make_file(self.disk / "file", 10)
        self.copy("--launcher", f"ssh -F {self.sshd.config}", "--rdcp-path", RDCP, file, f"dest:{self.target}/file")
        self.assert_same_file(file, self.target / "file")


if __name__ == "__main__":
    unittest.main()
