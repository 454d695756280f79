"""What --json tells programs: a last line with the exit status, whatever happens, and events."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import unittest

from harness import CHUNK, EXIT_FILES, EXIT_HOST, EXIT_OK, EXIT_USAGE, CopyTest, agents_of, wait_for

NEVER_ENDS = ["--bwlimit", "1M"]


class LastLine(CopyTest):
    def last(self, status: int, *words, **options) -> dict:
        done = self.rdcp("--json", *words, **options)
        self.assertEqual(done.status, status, str(done))
        last = json.loads(done.out.splitlines()[-1])
        self.assertEqual((last["version"], last["status"]), (1, status))
        return last

    def test_a_copy(self):
        file = self.make_file(self.source / "file", 3 * CHUNK + 1)
        last = self.last(EXIT_OK, file, f"dest:{self.target}")
        self.assertEqual((last["files"], last["bytes"], last["error_count"], last["errors"]), (1, 3 * CHUNK + 1, 0, []))

    def test_sources_on_two_hosts_are_summed_up(self):
        files = [self.make_file(self.source / name, 1000) for name in ("one", "two", "three")]
        last = self.last(EXIT_OK, files[0], f"dest:{files[1]}", f"dest:{files[2]}", self.target)
        self.assertEqual((last["files"], last["bytes"]), (3, 3000))

    def test_a_file_that_is_not_there(self):
        last = self.last(EXIT_FILES, f"dest:{self.source}/none", self.target)
        self.assertEqual(last["error_count"], 1)
        self.assertEqual((last["errors"][0]["kind"], last["errors"][0]["host"]), ("file", "dest"))
        self.assertIn("No such file", last["errors"][0]["message"])

    def test_a_host_that_cannot_be_reached(self):
        last = self.last(EXIT_HOST, "nowhere.invalid:a", self.target)
        self.assertEqual(last["errors"][0]["kind"], "unreachable")
        self.assertEqual(last["errors"][0]["host"], "nowhere.invalid")

    def test_a_command_line_that_is_refused(self):
        last = self.last(EXIT_USAGE, "--no-such-option", "a", "b")
        self.assertIn("--no-such-option", last["errors"][0]["message"])
        none = self.source / "none"
        last = self.last(EXIT_USAGE, "--exclude-from", none, "-r", self.source, self.target)
        self.assertIn(str(none), last["errors"][0]["message"])

    def test_a_signal(self):
        file = self.make_file(self.source / "file", 16 * CHUNK)
        running = self.start("--json", *NEVER_ENDS, file, f"dest:{self.target}")
        self.assertTrue(wait_for(lambda: agents_of(self.sshd)))
        running.process.send_signal(signal.SIGINT)
        done = running.finish(30)
        self.assertEqual(json.loads(done.out.splitlines()[-1])["status"], 128 + signal.SIGINT)

    def test_a_reader_that_is_gone(self):
        file = self.make_file(self.source / "file", CHUNK)
        read, write = os.pipe()
        os.close(read)
        done = self.rdcp("--json=events", file, f"dest:{self.target}", stdout=write)
        os.close(write)
        self.assertEqual(done.status, EXIT_FILES, str(done))
        self.assertEqual(done.err.count("standard output"), 2, done.err)  # at the first event and at the last line


class Events(CopyTest):
    def events(self, *words) -> list[dict]:
        done = self.copy("--json=events", *words)
        return [json.loads(line) for line in done.out.splitlines()]

    def test_a_copy_tells_its_course(self):
        file = self.make_file(self.source / "file", 5 << 20)
        start, *between, end = self.events("--bwlimit", "4M", file, f"dest:{self.target}")
        self.assertEqual((start["event"], start["version"], start["sources"]), ("start", 1, [str(file)]))
        self.assertEqual(start["destination"], f"dest:{self.target}")
        progress = [event for event in between if event["event"] == "progress"]
        self.assertGreaterEqual(len(progress), 2)
        done = [event["bytes_done"] for event in progress]
        self.assertEqual(done, sorted(done))
        self.assertLessEqual(done[-1], 5 << 20)
        self.assertEqual((end["event"], end["status"], end["bytes"]), ("end", 0, 5 << 20))
        self.assertIn("--bwlimit", end["limited_by"])

    def test_changes_of_a_mirror(self):
        self.make_file(self.source / "file", 10)
        events = self.events("--sync", "-i", f"{self.source}/", f"dest:{self.target}")
        changes = {event["path"]: event["change"] for event in events if event["event"] == "change"}
        self.assertEqual(changes["file"], "<f+++++++++")


class Terminal(CopyTest):
    def test_one_line_is_left_where_the_progress_was(self):
        file = self.make_file(self.source / "file", 3 << 20)
        leader, follower = pty.openpty()
        running = subprocess.Popen(self.command("--progress", "--bwlimit", "2M", file, f"dest:{self.target}"),
                                   stderr=follower, env={**os.environ, "TERM": "xterm"}, start_new_session=True)
        os.close(follower)
        drawn = b""
        try:
            while select.select([leader], [], [], 30)[0] and (some := os.read(leader, 4096)):
                drawn += some
        except OSError:  # the other end is closed
            pass
        os.close(leader)
        self.assertEqual(running.wait(30), EXIT_OK)
        self.assertIn(b"%  ", drawn)
        self.assertRegex(drawn.decode(), re.compile(r"\x1b\[Krdcp: 1 file, 3\.15 MB in 0:0\d, \S+ MB/s\r\n$"))


if __name__ == "__main__":
    unittest.main()
