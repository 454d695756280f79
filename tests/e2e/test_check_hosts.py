"""--check of several hosts: all at the same time, and one that fails does not stop the others."""

import json
import os
import signal
import subprocess
from pathlib import Path

from harness import EXIT_FILES, EXIT_HOST, EXIT_OK, MIB, wait_for
from test_many_hosts import OverSsh

SECONDS_OF_READING = 3 << 30  # bytes of a file without content


class HostsOfACheck(OverSsh):
    def setUp(self):
        super().setUp()
        self.tree_here = self.tree()
        for host in self.fleet.hosts:
            subprocess.run(["cp", "-a", self.tree_here, host.own / "copy"], check=True)

    def check(self, status: int, *words, says: tuple = ()):
        """The lines of a check, sorted."""
        done = self.rdcp("--check", *words)
        self.assertEqual(done.status, status, done)
        for text in says:
            self.assertIn(text, done.err)
        if not says:
            self.assertEqual(done.err, "")
        return sorted(done.out.decode().splitlines())

    def differ(self):
        """Hosts differ in what their number says."""
        (self.fleet[1].own / "copy" / "sub" / "small-3").unlink()
        (self.fleet[2].own / "copy" / "sub" / "more").write_text("more")
        with open(self.fleet[3].own / "copy" / "large", "r+b") as file:
            file.seek(MIB + 5)
            byte = file.read(1)
            file.seek(MIB + 5)
            file.write(bytes([byte[0] ^ 1]))
        return ["h1: missing   sub/small-3", "h2: extra     sub/more", f"h3: content   large: first at offset {MIB + 5}"]

    def make_large(self):
        """All sides have a file that takes time to read."""
        for folder in (self.tree_here, *(host.own / "copy" for host in self.fleet.hosts)):
            with open(folder / "zeros", "wb") as file:
                file.truncate(SECONDS_OF_READING)

    def wait_for_reading(self, number: int) -> list[int]:
        """Until the agent has begun with what takes time. Returns its process."""
        def reads():
            for pid in self.fleet[number].agents():
                facts = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
                if int(facts["rchar"]) > 32 * MIB:
                    return True
            return False

        self.assertTrue(wait_for(reads, 30), "the agent reads nothing")
        return self.fleet[number].agents()

    def test_each_host_has_its_own_lines(self):
        wanted = self.differ()
        self.assertEqual(self.check(EXIT_FILES, f"{self.tree_here}/", self.to), wanted)
        done = self.rdcp("--check", "--json", f"{self.tree_here}/", self.to)
        *lines, last = [json.loads(line) for line in done.out.splitlines()]
        self.assertEqual({line["host"] for line in lines}, {"h1", "h2", "h3"})
        self.assertEqual((last["status"], last["differences"], len(lines)), (EXIT_FILES, 3, 3))
        self.assertEqual([(host["host"], host["status"]) for host in last["hosts"]],
                         [("h1", EXIT_FILES), ("h2", EXIT_FILES), ("h3", EXIT_FILES), ("h4", EXIT_OK)])
        self.assertEqual(last["entries"], 4 * sum(1 for _ in self.tree_here.rglob("*")) + 4 + 1)

    def test_lists_of_digests(self):
        manifest, sums = self.disk / "manifest", self.disk / "sums"
        self.copy("-r", "--manifest", manifest, "--sums", sums, f"{self.tree_here}/", self.disk / "another")
        self.assertEqual(self.check(EXIT_OK, "--manifest", manifest, self.to), [])
        wanted = [line.split(": first")[0] for line in self.differ()]
        self.assertEqual(self.check(EXIT_FILES, "--manifest", manifest, self.to), wanted)
        self.assertEqual(self.check(EXIT_FILES, "--sums", sums, self.to), [wanted[0], wanted[2]])
        lines = self.check(EXIT_FILES, "--manifest", manifest, f"h[2,9]:{self.fleet.data}/copy",
                           says=("h9", "1 of 2 hosts were compared; not to the end: h9"))
        self.assertEqual(lines, [wanted[1]])

    def test_hosts_that_are_not_there(self):
        wanted = self.differ()
        there_and_not = f"h[1-3,8-9]:{self.fleet.data}/copy"
        lines = self.check(EXIT_FILES, f"{self.tree_here}/", there_and_not,
                           says=("start rdcp on h8", "3 of 5 hosts were compared; not to the end: h8, h9"))
        self.assertEqual(lines, wanted)
        self.check(EXIT_HOST, f"{self.tree_here}/", "h[8-9]:copy", says=("0 of 2 hosts were compared",))
        done = self.rdcp("--check", "--json", f"{self.tree_here}/", f"h4,h9:{self.fleet.data}/copy")
        last = json.loads(done.out.splitlines()[-1])
        self.assertEqual((done.status, last["status"]), (EXIT_FILES, EXIT_FILES))
        self.assertEqual([(host["host"], host["status"]) for host in last["hosts"]], [("h4", 0), ("h9", EXIT_HOST)])
        self.assertIn("h9", last["hosts"][1]["message"])
        self.assertEqual([error["host"] for error in last["errors"]], ["h9"])

    def test_what_lies_elsewhere_at_some(self):
        """DST is a file at one, a directory that it would lie in at another, and nothing at a third."""
        (self.fleet[2].own / "large").write_bytes((self.tree_here / "large").read_bytes())
        (self.fleet[3].own / "large" / "large").mkdir(parents=True)
        lines = self.check(EXIT_FILES, self.tree_here / "large", f"h[2-4]:{self.fleet.data}/large", says=("No such file",))
        self.assertEqual(lines, ["h3: type      .: file, directory", "h4: missing   ."])
        self.assertEqual(self.check(EXIT_OK, self.tree_here / "large", self.to), [])

    def test_one_whose_agent_is_killed(self):
        wanted = self.differ()
        self.make_large()
        running = self.start("--check", f"{self.tree_here}/", self.to)
        for pid in self.wait_for_reading(2):
            os.kill(pid, signal.SIGKILL)
        done = running.finish(100)
        self.assertEqual(done.status, EXIT_FILES, done)
        self.assertIn("h2", done.err)
        self.assertIn("3 of 4 hosts were compared; not to the end: h2", done.err)
        self.assertEqual(sorted(line for line in done.out.decode().splitlines() if not line.startswith("h2")),
                         [wanted[0], wanted[2]])
        self.assert_no_agents()

    def test_one_that_falls_silent(self):
        self.make_large()
        running = self.start("--check", f"{self.tree_here}/", self.to)
        silent = self.wait_for_reading(3)
        for pid in silent:
            os.kill(pid, signal.SIGSTOP)
        done = running.finish(100)
        for pid in silent:
            os.kill(pid, signal.SIGCONT)
        self.assertEqual(done.status, EXIT_FILES, done)
        self.assertIn("no answer for 25 s", done.err)
        self.assertIn("3 of 4 hosts were compared; not to the end: h3", done.err)
        self.assert_no_agents()

    def test_a_signal_ends_all(self):
        self.make_large()
        running = self.start("--check", f"{self.tree_here}/", self.to)
        self.wait_for_reading(4)
        os.kill(running.pid, signal.SIGTERM)
        done = running.finish(30)
        self.assertEqual(done.status, 128 + signal.SIGTERM, done)
        self.assert_no_agents()

    def test_one_that_lets_nobody_in_is_compared_after_the_others(self):
        wanted = self.differ()
        daemon = next(pid for pid in self.fleet[2].processes() if b"sshd" in Path(f"/proc/{pid}/cmdline").read_bytes())
        os.kill(daemon, signal.SIGSTOP)
        self.addCleanup(os.kill, daemon, signal.SIGCONT)
        running = self.start("--check", f"{self.tree_here}/", self.to)
        said = b""
        while said.count(b"\n") < 2:  # the others'
            piece = os.read(running.process.stdout.fileno(), 4096)
            self.assertTrue(piece, said)
            said += piece
        self.assertEqual(sorted(said.decode().splitlines()), [wanted[0], wanted[2]])
        os.kill(daemon, signal.SIGCONT)
        done = running.finish(60)
        self.assertEqual((done.status, done.err, done.out.decode()), (EXIT_FILES, "", wanted[1] + "\n"))
        self.assert_no_agents()
