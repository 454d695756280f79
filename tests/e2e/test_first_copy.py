"""The first copy of a new user, to fresh Debians that have nothing but an sshd, through firewalls that let only ssh in."""

import os
import subprocess
import unittest

from debians import RELEASES, USER, hosts, why_not
from harness import MIB, make_file
from snapshot import differences, snapshot

PUT = "no rdcp of this version was found there; putting one into"


class FirstCopy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if why := why_not():
            raise unittest.SkipTest(why)
        cls.hosts = cls.enterClassContext(hosts())
        cls.near = cls.hosts["near"]
        cls.tree = cls.near.home / "tree"
        (cls.tree / "sub" / "empty").mkdir(parents=True)
        for i in range(200):
            (cls.tree / "sub" / f"small-{i}").write_bytes(bytes([i]) * (i * 50))
        make_file(cls.tree / "large", 20 * MIB + 77)
        (cls.tree / "link").symlink_to("sub/small-7")
        (cls.tree / "of ann's").write_text("a name with a quote")
        for path in (cls.tree, *cls.tree.rglob("*")):
            os.chown(path, 1000, 1000, follow_symlinks=False)

    def setUp(self):
        """Nothing of the test before is left."""
        for host in self.hosts.values():
            for name in (".cache", "copy", "back", "stream"):
                host.run(f"rm -rf {name}")
            host.open_again()

    def rdcp(self, command: str) -> str:
        """What a command that succeeds says on stderr."""
        done = self.near.run(command)
        self.assertEqual(done.returncode, 0, f"{command}: {done}")
        return done.stderr

    def assert_same(self, host: str, name: str):
        lines = differences(snapshot(self.tree), snapshot(self.hosts[host].home / name), ())
        self.assertEqual(lines, [], f"{host}:{name}")

    def there_back_and_a_mirror(self, far: str) -> str:
        said = self.rdcp(f"rdcp -r tree/ {far}:copy")
        self.assertIn(f"{far}: {PUT} /home/{USER}/.cache/rdcp", said)
        self.assert_same(far, "copy")
        again = self.rdcp(f"rdcp -r {far}:copy/ back") + self.rdcp(f"rdcp --sync --delete tree/ {far}:copy")
        self.assertNotIn(PUT, again)
        self.assert_same("near", "back")
        self.hosts[far].run("echo more >> copy/large; touch copy/further; rm -r copy/sub")
        again += self.rdcp(f"rdcp --sync --delete tree/ {far}:copy") + self.rdcp(f"rdcp --check tree/ {far}:copy")
        self.assert_same(far, "copy")
        self.near.run("rm -rf back")
        return said + again

    def test_the_package_is_whole(self):
        said = self.near.run("rdcp --version && rdpipe --version && command -v rdsend rdrecv")
        self.assertTrue(said.stdout.startswith("rdcp 0."), said)
        self.assertIn("/usr/bin/rdrecv", said.stdout)
        for name in ("usr/share/man/man1/rdcp.1.gz", "usr/share/bash-completion/completions/rdcp",
                     "usr/share/doc/rdcp/copyright", "usr/share/doc/rdcp/NEWS.gz"):
            self.assertTrue((self.near.root / name).is_file(), name)
        listed = self.near.run("dpkg -L rdcp").stdout.split("\n")
        copy = f"{self.near.root}-without"
        self.addCleanup(subprocess.run, ["rm", "-rf", copy], check=False)
        subprocess.run(["cp", "-a", self.near.root, copy], check=True)
        removed = subprocess.run(["chroot", copy, "dpkg", "--purge", "rdcp"], capture_output=True, text=True, check=False)
        self.assertEqual(removed.returncode, 0, removed)
        left = [name for name in listed if "rdcp" in name and os.path.lexists(copy + name)]
        self.assertEqual(left, [])

    def test_there_back_and_a_mirror_on_an_open_network(self):
        for far in RELEASES:
            with self.subTest(far):
                said = self.there_back_and_a_mirror(far)
                said = [line for line in said.splitlines() if "to the list of known hosts" not in line]  # ssh's own
                self.assertEqual(len(said), 1, said)

    def test_there_back_and_a_mirror_where_only_ssh_is_let_in(self):
        for host in self.hosts.values():
            host.only_ssh()
        for far in RELEASES:
            with self.subTest(far):
                self.assertIn("the data goes through ssh", self.there_back_and_a_mirror(far))

    def test_between_hosts_that_have_nothing(self):
        for closed in (False, True):
            with self.subTest(closed=closed):
                self.setUp()
                self.rdcp("rdcp -r tree/ far11:copy")
                if closed:
                    for host in self.hosts.values():
                        host.only_ssh()
                said = self.rdcp("rdcp -r far11:copy/ far13:copy")
                self.assertIn(f"far13: {PUT}", said)
                self.assert_same("far13", "copy")
                self.assertEqual("through ssh" in said, closed, said)

    def test_a_pipeline(self):
        for closed in (False, True):
            with self.subTest(closed=closed):
                self.setUp()
                if closed:
                    for host in self.hosts.values():
                        host.only_ssh()
                said = self.rdcp("rdpipe 'cat tree/large' 'far11:cat' 'far13:cat > stream'")
                for far in ("far11", "far13"):
                    self.assertIn(f"{far}: {PUT}", said)
                self.assertEqual((self.hosts["far13"].home / "stream").read_bytes(), (self.tree / "large").read_bytes())


if __name__ == "__main__":
    unittest.main()
