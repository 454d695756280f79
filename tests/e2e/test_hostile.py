"""A far agent that breaks the rules: an error each time, and nothing outside DST."""

import json
import os
import re
import subprocess
import unittest

from harness import BUILD, EXIT_DATA, EXIT_DIGEST, OPTIONS, RDCP, CopyTest, Finished, Running
from snapshot import differences, snapshot

AGENT = BUILD / "hostile_agent"


class Hostile(CopyTest):
    def test_every_attack(self):
        names = subprocess.run([AGENT, "--list"], capture_output=True, text=True, check=True).stdout.split()
        self.assertGreater(len(names), 8)
        for name in names:
            with self.subTest(attack=name):
                folder = self.target / name
                (folder / "dst").mkdir(parents=True)
                done = self.start("-r", "--rdcp-path", AGENT, f"dest:/{name}", folder / "dst").finish(40)
                # Bytes that were not sealed are taken for altered ones.
                altered = "--encrypt" in OPTIONS and name == "garbage"
                self.assertEqual(done.status, EXIT_DIGEST if altered else EXIT_DATA, done)
                self.assertNotIn("does not encrypt", done.err)
                self.assertNotEqual(done.err, "")
                self.assertEqual(os.listdir(folder), ["dst"], "something was written outside DST")
                self.assertFalse(os.path.lexists("/tmp/rdcp-evil"))
                self.assert_no_litter(folder, cut_short=True)

    # What lies beside DST, where DST is missing and its parent is the root; and in DST, beside what lands there.
    def test_nothing_beside_the_landing_is_named(self):
        names = subprocess.run([AGENT, "--list-by-name"], capture_output=True, text=True, check=True).stdout.split()
        self.assertGreater(len(names), 12)
        for name in names:
            mirror = name.startswith("mirror-")
            for present in (False,) if mirror else (False, True):
                with self.subTest(attack=name, present=present):
                    folder = self.target / f"{name}-{present}"
                    (folder / "other").mkdir(parents=True)
                    for file in (folder / "keys", folder / "other" / "keys"):
                        file.write_text("precious")
                    before = snapshot(folder)
                    words = ["--sync", "--delete"] if mirror else ["-r"]
                    where = f"{folder}/" if present else folder / "dst"
                    done = self.start(*words, "--rdcp-path", AGENT, f"dest:/{name}", where).finish(40)
                    self.assertEqual(done.status, EXIT_DATA, done)
                    self.assertRegex(done.err, "outside the destination of the copy|unsafe hard link")
                    for left in folder.glob(".rdcp-*.run"):
                        left.unlink()
                    after = snapshot(folder)
                    after[b""].mtime_ns = before[b""].mtime_ns  # the run's marker was in it
                    self.assertEqual(differences(before, after), [])


UNSAFE = re.compile(rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]|\xd8\x9c")


class Said(CopyTest):
    """An agent whose every word and name would drive the terminal."""

    def setUp(self):
        super().setUp()
        self.agent = self.disk / "raw_agent"
        self.agent.symlink_to(AGENT)

    def said(self, *words, command: tuple = ()) -> Finished:
        command = command or self.command("--rdcp-path", self.agent, *words)
        # TERM: with a progress line, the only text that may move the cursor.
        running = Running(command, cwd=self.disk, env={**os.environ, "TERM": "dumb"})
        done = running.finish(40)
        self.assertGreater(done.status, -1, done)
        self.assertIn("dest: ", done.err + done.out.decode())
        for text in (done.out, done.err.encode()):
            self.assertIsNone(UNSAFE.search(text), text)
            self.assertNotIn("\nrdcp: all is well", "\n" + text.decode())
        self.assertNotIn("\ufffd", done.err)
        return done

    def test_a_source_that_says_it_raw(self):
        done = self.said("-r", "-v", "dest:/said", self.target)
        self.assertRegex(done.err, r"rdcp: dest: \\x1b\[2J.*\\x0d\n")
        self.assertIn("dest: ssh: rdcp: all is well\n", done.err)

    def test_an_answer_to_what_nobody_asked(self):
        done = self.said("-r", "dest:/unasked", self.target)
        self.assertEqual(done.status, EXIT_DATA, done)
        self.assertIn("rdcp: control message from dest: 'listed' was not asked for\n", done.err)

    def test_a_target_that_says_it_raw(self):
        for options in (("-i",), ("-i", "-n"), ("-i", "-n", "--json")):
            with self.subTest(options=options):
                done = self.said("--sync", *options, f"{self.source}/", "dest:/said")
                self.assertRegex(done.err, r"rdcp: dest: \\x1b\[2J")
                self.assertIn(b"x1b" if "--json" not in options else b"u001b", done.out)
                if "--json" in options:
                    change, last = map(json.loads, done.out.splitlines())
                    self.assertEqual(change["path"][:4], "\x1b[2J")
                    self.assertEqual(last["errors"][0]["host"], "dest")

    def test_an_address_that_is_a_command(self):
        """The data goes through ssh, whose further sessions are told the target's address, which --via has it choose."""
        done = self.said("--via", "127.0.0.1", self.make_file(self.source / "file", 1000), "dest:/command")
        self.assertIn("the data goes through ssh", done.err)
        self.assertFalse(os.path.lexists("/tmp/rdcp-evil"))

    def test_a_check_that_says_it_raw(self):
        for options in ((), ("--json",)):
            with self.subTest(options=options):
                done = self.said("--check", *options, "dest:/said", self.target)
                self.assertIn(b"x1b[2J", done.out)
                for line in done.out.splitlines()[:-1] if options else ():
                    self.assertIn("path", json.loads(line))
                if options:
                    self.assertEqual(json.loads(done.out.splitlines()[-1])["status"], done.status)

    def test_leftovers_that_say_it_raw(self):
        self.assertIn(b"x1b[2J", self.said("--clean", "dest:/said").out)

    def test_findings_that_say_it_raw(self):
        for options in ((), ("--json",)):
            with self.subTest(options=options):
                done = self.said("--doctor", "--transport", "tcp", *options, "dest")
                self.assertGreaterEqual(done.out.count(b"x1b[2J"), 4)
                if options:
                    self.assertEqual(len(json.loads(done.out)["hosts"]), 3)

    def test_a_segment_that_says_it_raw(self):
        self.agent.unlink()
        self.agent.symlink_to(AGENT)
        command = (BUILD / "rdpipe", "-F", self.sshd.config, "--rdcp-path", self.agent, "dest:true")
        done = self.said(command=command)
        self.assertRegex(done.err, r"rdpipe: dest: \\x1b\[2J")

    def test_a_command_that_says_it_raw(self):
        script = "printf '\\033[2Jgone\\r\\nrdpipe: fine\\n\\342\\200\\256' >&2"
        command = (BUILD / "rdpipe", "-F", self.sshd.config, "--rdcp-path", RDCP, f"dest:{script}")
        done = self.said(command=command)
        self.assertEqual(done.err, "dest: \\x1b[2Jgone\ndest: rdpipe: fine\ndest: \\xe2\\x80\\xae\n")


if __name__ == "__main__":
    unittest.main()
