"""Hosts without rdcp, or with another one: ssh is a stand-in that runs the command where this build cannot be seen (a mount
namespace of its own), in a home directory of the test, with the user's shell that the test names."""

import os
import shutil
import subprocess
import unittest
from pathlib import Path

from harness import BUILD, EXIT_HOST, EXIT_OK, RDCP, CopyTest, Running, wait_for

from stage import why_no_mounts  # in scripts/lib, as harness has it

AGENT = BUILD / f"rdcp-agent-{os.uname().machine}"
SHELLS = ("/bin/dash", "/bin/bash", "/usr/bin/fish", "/bin/tcsh", "/bin/bsd-csh", "/bin/zsh", "/bin/ksh")
# $1: the command; the rest from the environment.
SSH = """#!/bin/sh
for last; do :; done
export last
exec unshare -m sh -c '
  mount -t tmpfs -o size=1m none "$DEPLOY_HIDE" && eval "$DEPLOY_PREPARE" &&
  exec env -i HOME="$DEPLOY_HOME" PATH=/usr/bin:/bin:/usr/sbin:/sbin $DEPLOY_SHELL -c "$last"'
"""


class Deploys(CopyTest):
    @classmethod
    def setUpClass(cls):
        if not AGENT.exists():
            raise unittest.SkipTest(f"there is no {AGENT.name} in this build")
        if why := why_no_mounts():
            raise unittest.SkipTest(why)
        super().setUpClass()

    def setUp(self):
        super().setUp()
        self.home = self.disk / "home"
        self.home.mkdir()
        self.ssh = self.disk / "ssh"
        self.ssh.write_text(SSH)
        self.ssh.chmod(0o755)
        self.tree = self.memory / "tree"
        (self.tree / "sub").mkdir(parents=True)
        self.make_file(self.tree / "sub" / "small", 1000)
        self.make_file(self.tree / "large", 3_000_000)
        os.symlink("nowhere", self.tree / "link")

    def start(self, *words, prepare: str = ":", shell: str = "/bin/sh", program: Path = RDCP) -> Running:
        environment = {**os.environ, "DEPLOY_HIDE": str(BUILD), "DEPLOY_HOME": str(self.home), "DEPLOY_SHELL": shell,
                       "DEPLOY_PREPARE": prepare}
        return Running([program, "-e", self.ssh, *words], env=environment)

    def copy_out(self, *words, **settings):
        return self.start(*words, **settings).finish(60)

    @property
    def there(self) -> list[Path]:
        return sorted(path for path in self.home.rglob("*") if path.is_file())

    def assert_nothing_there(self):
        """A far shell that waits for an agent hears only when our end is gone that none comes."""
        self.assertTrue(wait_for(lambda: self.there == [], 20), self.there)

    def assert_put(self, done):
        self.assertEqual(done.status, EXIT_OK, done)
        self.assertEqual(done.err, f"far: no rdcp of this version was found there; putting one into {self.home}/.cache/rdcp "
                                   f"({AGENT.stat().st_size / 1e6:.2f} MB)\n")
        self.assertEqual([path.name for path in self.there], ["rdcp"])
        self.assertEqual(self.there[0].read_bytes(), AGENT.read_bytes())

    def test_there_and_back_and_a_mirror(self):
        self.assert_put(self.copy_out("-r", self.tree, f"far:{self.disk}/out"))
        for words, to in (((f"far:{self.disk}/out/", f"{self.disk}/back"), "back"),
                          (("--sync", "--delete", f"{self.tree}/", f"far:{self.disk}/out"), "out"),
                          ((f"far:{self.disk}/out/", f"other:{self.disk}/third"), "third")):
            done = self.copy_out(*(() if "--sync" in words else ("-r",)), *words)
            self.assertEqual((done.status, done.err), (EXIT_OK, ""), done)
            self.assert_same_tree(self.tree, self.disk / to)

    def test_through_ssh(self):
        """The further sessions find what the first one has put there."""
        for words, to in ((("--via", "ssh", "-r", self.tree, f"far:{self.disk}/out"), "out"),
                          (("--via", "ssh", "-r", f"far:{self.disk}/out/", f"{self.disk}/back"), "back"),
                          (("--via", "ssh", "-r", f"far:{self.disk}/out/", f"other:{self.disk}/third"), "third")):
            done = self.copy_out(*words)
            self.assertEqual(done.status, EXIT_OK, done)
            self.assert_same_tree(self.tree, self.disk / to)

    def test_names_of_owners_that_it_does_not_ask_for(self):
        others = self.disk / "nsswitch.conf"
        others.write_text("passwd: files sss\ngroup: files ldap\n")
        for prepare, said in ((f"mount --bind {others} /etc/nsswitch.conf", True), (":", False)):
            done = self.copy_out("-v", self.tree / "large", f"far:{self.disk}/copy", prepare=prepare)
            self.assertEqual(done.status, EXIT_OK, done)
            self.assertEqual("a static rdcp does not ask sss, ldap\n" in done.err, said, done)

    def test_every_shell(self):
        shells = [shell for shell in SHELLS if os.access(shell, os.X_OK)]
        for shell in shells:
            with self.subTest(shell):
                shutil.rmtree(self.home / ".cache", ignore_errors=True)
                self.assert_put(self.copy_out(self.tree / "large", f"far:{self.disk}/copy", shell=shell))

    def test_two_at_once(self):
        runs = [self.start(self.tree / "large", f"far:{self.disk}/copy-{number}") for number in range(4)]
        for number, run in enumerate(runs):
            self.assertEqual(run.finish(60).status, EXIT_OK)
            self.assert_same_file(self.tree / "large", self.disk / f"copy-{number}")
        self.assertEqual([path.name for path in self.there], ["rdcp"])

    def test_no_deploy(self):
        done = self.copy_out("--no-deploy", self.tree / "large", f"far:{self.disk}/copy")
        self.assertEqual(done.status, EXIT_HOST, done)
        self.assertIn("not found there, and --no-deploy forbids", done.err)
        self.assert_nothing_there()
        self.assert_put(self.copy_out(self.tree / "large", f"far:{self.disk}/copy"))
        done = self.copy_out("--no-deploy", self.tree / "large", f"far:{self.disk}/copy")
        self.assertEqual((done.status, done.err), (EXIT_OK, ""))

    def test_a_path_that_is_named_is_the_one(self):
        done = self.copy_out("--rdcp-path", "/nowhere/rdcp", self.tree / "large", f"far:{self.disk}/copy")
        self.assertEqual(done.status, EXIT_HOST, done)
        self.assertIn("'/nowhere/rdcp' was not found there", done.err)
        self.assert_nothing_there()

    def test_a_home_that_is_of_no_use(self):
        """It goes to another place, or nowhere, with a word that says why."""
        elsewhere = self.disk / "elsewhere"
        elsewhere.mkdir()
        for options in ("noexec", "ro", "size=64k"):
            with self.subTest(options):
                prepare = f"mount -t tmpfs -o {options} none {self.home} && mount --bind {elsewhere} /tmp"
                done = self.copy_out(self.tree / "large", f"far:{self.disk}/copy", prepare=prepare)
                self.assertEqual(done.status, EXIT_OK, done)
                self.assertIn(f"putting one into /tmp/rdcp-{os.getuid()} ", done.err)
                self.assertEqual([path.name for path in elsewhere.rglob("*") if path.is_file()], ["rdcp"])
                shutil.rmtree(elsewhere / f"rdcp-{os.getuid()}")
        nowhere = " && ".join(f"mount -t tmpfs -o {options} none {place}" for options, place in
                              (("size=64k", self.home), ("noexec", "/tmp"), ("ro", "/var/tmp")))
        if str(self.disk).startswith(("/tmp/", "/var/tmp/")):
            nowhere = nowhere.replace(f"none {self.home}", f"none {self.home} && mkdir -p {self.home}")
        done = self.copy_out(self.tree / "large", f"far:{self.memory}/copy", prepare=nowhere)
        self.assertEqual(done.status, EXIT_HOST, done)
        self.assertIn("there is no place to put it", done.err)
        self.assertFalse((self.memory / "copy").exists())

    def test_a_place_that_somebody_else_has_prepared(self):
        """A link in /tmp leads to what is the user's own: nothing is put there, and nothing is removed."""
        elsewhere, precious = self.disk / "elsewhere", self.memory / "precious"
        elsewhere.mkdir()
        for number in range(6):
            (precious / f"0.1.0-p8-{number}" / "within").mkdir(parents=True)
        for kind in ("link", "open"):
            with self.subTest(kind):
                place = elsewhere / f"rdcp-{os.getuid()}"
                if kind == "link":
                    place.symlink_to(precious)
                else:
                    place.unlink()
                    place.mkdir()
                    place.chmod(0o777)
                prepare = (f"mount -t tmpfs -o noexec none {self.home} && mount --bind {elsewhere} /tmp && "
                           "mount -t tmpfs -o ro none /var/tmp")
                done = self.copy_out(self.tree / "large", f"far:{self.memory}/copy", prepare=prepare)
                self.assertEqual(done.status, EXIT_HOST, done)
                self.assertIn("there is no place to put it", done.err)
                self.assertEqual(len(list(precious.glob("*/within"))), 6)
                self.assertEqual(len(list(precious.iterdir())), 6)
                self.assertEqual(list(place.glob("*/rdcp")), [])

    def test_a_shell_that_prints(self):
        done = self.copy_out(self.tree / "large", f"far:{self.disk}/copy", prepare="echo good morning")
        self.assertEqual(done.status, EXIT_HOST, done)
        self.assertIn('"good morning" came from there instead', done.err)
        self.assert_nothing_there()

    def test_an_agent_that_is_not_what_its_sum_says(self):
        own = self.memory / "bin"
        own.mkdir()
        for path in (RDCP, AGENT, AGENT.with_name(AGENT.name + ".sha256")):
            shutil.copy2(path, own)
        with open(own / AGENT.name, "ab") as file:
            file.write(b"more")
        environment_hides = f"mount -t tmpfs none {own}"
        done = self.copy_out(self.tree / "large", f"far:{self.disk}/copy", program=own / "rdcp", prepare=environment_hides)
        self.assertEqual(done.status, EXIT_HOST, done)
        self.assertIn("its content is not what its .sha256 says", done.err)
        (own / AGENT.name).unlink()
        done = self.copy_out(self.tree / "large", f"far:{self.disk}/copy", program=own / "rdcp", prepare=environment_hides)
        self.assertEqual(done.status, EXIT_HOST, done)
        self.assertIn(f"there is no {AGENT.name} here", done.err)
        self.assert_nothing_there()

    def test_a_host_with_another_processor(self):
        """uname -m decides: without an agent for it here nothing is left there; one that lies beside ours is taken."""
        own, uname = self.memory / "bin", self.disk / "uname"
        own.mkdir()
        uname.write_text("#!/bin/sh\necho pdp11\n")
        uname.chmod(0o755)
        for path in (RDCP, AGENT, AGENT.with_name(AGENT.name + ".sha256")):
            shutil.copy2(path, own)
        there = f"mount -t tmpfs none {own} && mount --bind {uname} {Path(shutil.which('uname')).resolve()}"
        words = self.tree / "large", f"far:{self.disk}/copy"
        done = self.copy_out(*words, program=own / "rdcp", prepare=there)
        self.assertEqual(done.status, EXIT_HOST, done)
        self.assertIn("there is no rdcp-agent-pdp11 here", done.err)
        self.assert_nothing_there()
        self.assertFalse((self.disk / "copy").exists())
        agent = own / "rdcp-agent-pdp11"  # what it is does not matter: this host runs it
        shutil.copy2(AGENT, agent)
        with open(agent, "ab") as file:
            file.write(b"another")
        sums = subprocess.run(["sha256sum", agent.name], cwd=own, capture_output=True, text=True, check=True).stdout
        agent.with_name(agent.name + ".sha256").write_text(sums)
        done = self.copy_out(*words, program=own / "rdcp", prepare=there)
        self.assertEqual(done.status, EXIT_OK, done)
        self.assertEqual(self.there[0].read_bytes(), agent.read_bytes())
        self.assert_same_file(self.tree / "large", self.disk / "copy")

    def test_another_version_is_passed_over(self):
        """What is found there says hello with another version, and then ours is put there."""
        old = self.home / ".local" / "bin" / "rdcp"
        old.parent.mkdir(parents=True)
        old.write_text("#!/bin/sh\nprintf '\\0rdcp control\\n\\1\\004\\0\\0\\0\\002\\0\\0\\0'\nexec cat >/dev/null\n")
        old.chmod(0o755)
        done = self.copy_out(self.tree / "large", f"far:{self.disk}/copy")
        self.assertEqual(done.status, EXIT_OK, done)
        self.assertIn("putting one into", done.err)
        self.assert_same_file(self.tree / "large", self.disk / "copy")
        done = self.copy_out(self.tree / "large", f"far:{self.disk}/copy")
        self.assertEqual((done.status, done.err), (EXIT_OK, ""), done)
        done = self.copy_out("--no-deploy", self.tree / "large", f"far:{self.disk}/copy")
        self.assertEqual(done.status, EXIT_HOST, done)
        self.assertIn("speaks protocol 2", done.err)


if __name__ == "__main__":
    unittest.main()
