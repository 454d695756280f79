"""rdcp --doctor: what it says of this host and of another one, and its exit status."""

import contextlib
import json
import os
import signal
import subprocess
import unittest
from pathlib import Path

from harness import BUILD, EXIT_FILES, EXIT_HOST, EXIT_OK, EXIT_USAGE, RDCP, CopyTest, has_rdma, remote_agents, wait_for

SUBJECTS = {"RDMA", "locked memory", "huge pages", "io_uring", "disk", "sandbox"}


def name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:  # it has ended meanwhile
        return ""


class Doctor(CopyTest):
    def report(self, *words, status=None, **options) -> dict:
        done = self.rdcp("--doctor", "--json", *words, **options)
        report = json.loads(done.out.decode("utf-8"))
        wanted = status if status is not None else (EXIT_FILES if report["problems"] else EXIT_OK)
        self.assertEqual(done.status, wanted, done)
        levels = [finding["level"] for host in report["hosts"] for finding in host["findings"]]
        self.assertEqual(report["problems"], levels.count("problem"))
        self.assertEqual(report["warnings"], levels.count("warning"))
        self.assertEqual(set(levels) - {"ok", "warning", "problem"}, set())
        return report

    def subjects(self, host: dict) -> set:
        return {finding["subject"] for finding in host["findings"]}

    def finding(self, host: dict, subject: str) -> dict:
        return next(finding for finding in host["findings"] if finding["subject"] == subject)

    @staticmethod
    def end(pid: int):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def test_this_host(self):
        report = self.report()
        self.assertEqual([host["name"] for host in report["hosts"]], ["this host"])
        self.assertLessEqual(SUBJECTS, self.subjects(report["hosts"][0]))

    def test_another_host(self):
        report = self.report("dest")
        self.assertEqual([host["name"] for host in report["hosts"]],
                         ["this host", "dest", "from this host to dest"])
        here, there, between = report["hosts"]
        self.assertEqual(self.finding(between, "TCP")["level"], "ok")
        transfers = {transfer["transport"]: transfer for transfer in report["transfers"]}
        self.assertGreater(transfers["tcp"]["bytes"], 0)
        self.assertGreaterEqual(transfers["tcp"]["seconds"], 1)
        self.assertIn("bytes" if has_rdma else "failure", transfers["rdma"])
        if not has_rdma:
            self.assertRegex(self.finding(between, "RDMA")["text"], r"\Anot possible: .*no RDMA device")
        self.assertLessEqual(SUBJECTS | {"ssh", "rdcp there"}, self.subjects(there))
        self.assertEqual(self.finding(there, "ssh")["level"], "ok")
        self.assertEqual(self.finding(there, "rdcp there")["text"], f"version {report['version']}")
        # It is the same machine.
        self.assertEqual(self.finding(here, "RDMA"), self.finding(there, "RDMA"))

    def test_for_people(self):
        done = self.rdcp("--doctor", "dest:")
        lines = done.out.decode().splitlines()
        self.assertRegex(lines[-2], r"^\d+ problems?, \d+ warnings?$")
        over = "RDMA" if has_rdma else "TCP"
        self.assertRegex(lines[-1], rf"^a copy to dest would go over {over}, which gives \S+ [kMGT]?B/s from memory to memory: ")
        titles = [line for line in lines[:-2] if not line.startswith("  ")]
        self.assertEqual(titles, ["this host", "dest", "from this host to dest"])
        self.assertEqual(done.err, "")

    def test_the_last_line_without_another_host(self):
        last = self.rdcp("--doctor").out.decode().splitlines()[-1]
        self.assertRegex(last, r"^copies from this host (can go over RDMA by \S+|go over TCP: )")

    @unittest.skipIf(has_rdma, "this machine has RDMA devices")
    def test_no_rdma_is_no_problem(self):
        finding = self.finding(self.report()["hosts"][0], "RDMA")
        self.assertEqual(finding["level"], "ok")
        self.assertIn("TCP will be used", finding["text"])

    @unittest.skipUnless(has_rdma, "needs an RDMA device")
    def test_every_device_and_port_is_told(self):
        subjects = self.subjects(self.report("dest")["hosts"][1])
        for device in Path("/sys/class/infiniband").iterdir():
            self.assertIn(device.name, subjects)
            for port in (device / "ports").iterdir():
                self.assertIn(f"{device.name} port {port.name}", subjects)

    def test_io_uring_that_is_forbidden_over_there(self):
        agent = self.disk / "rdcp-there"
        agent.write_text(f"#!/bin/sh\nexec {BUILD}/no_uring {RDCP} \"$@\"\n")
        agent.chmod(0o755)
        report = self.report("--rdcp-path", agent, "dest")
        here, there = (self.finding(host, "io_uring") for host in report["hosts"][:2])
        self.assertEqual(there["level"], "warning")
        self.assertIn("thread pool", there["text"])
        self.assertNotEqual(there["advice"], "")
        self.assertNotIn("thread pool", here["text"])

    def test_a_host_without_rdcp(self):
        report = self.report("--rdcp-path", "/nonexistent/rdcp", "dest", status=EXIT_HOST)
        finding = self.finding(report["hosts"][1], "rdcp there")
        self.assertEqual(finding["level"], "problem")
        self.assertIn("was not found there", finding["text"])

    def test_a_host_that_does_not_exist(self):
        done = self.rdcp("--doctor", "nowhere.invalid")
        self.assertEqual(done.status, EXIT_HOST, done)
        self.assertIn("ssh could not connect", done.out.decode())

    def test_a_shell_that_talks(self):
        talker = self.disk / "talker"
        talker.write_text(f"#!/bin/sh\necho Welcome\nexec {RDCP} \"$@\"\n")
        talker.chmod(0o755)
        report = self.report("--rdcp-path", talker, "dest", status=EXIT_HOST)
        self.assertIn("Welcome", self.finding(report["hosts"][1], "rdcp there")["text"])

    def test_usage(self):
        for words in (["--doctor", "a", "b"], ["--doctor", "./here"]):
            done = self.rdcp(*words)
            self.assertEqual(done.status, EXIT_USAGE, done)
            self.assertEqual(done.out, b"")

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([RDCP, "--doctor"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60,
                                  check=False)
        self.assertEqual(done.returncode, EXIT_FILES)
        self.assertIn("No space left on device", done.stderr)

    def test_a_signal_ends_it(self):
        waiting = self.disk / "waiting"
        waiting.write_text("#!/bin/sh\nexec sleep 60\n")
        waiting.chmod(0o755)
        running = self.start("--doctor", "--rdcp-path", waiting, "dest")

        def sleepers():
            return [pid for pid in self.sshd.descendants() if name_of(pid) == "sleep"]
        left_alone = wait_for(sleepers)  # no rdcp, so nothing tells it to end
        self.assertTrue(left_alone)
        for pid in left_alone:
            self.addCleanup(self.end, pid)
        os.kill(running.pid, signal.SIGINT)
        done = running.finish(10)
        self.assertEqual(done.status, 128 + signal.SIGINT, done)
        self.assertEqual(done.out, b"")

    def test_the_agent_ends(self):
        self.report("dest")
        self.assertTrue(wait_for(lambda: not remote_agents()))


if __name__ == "__main__":
    unittest.main()
