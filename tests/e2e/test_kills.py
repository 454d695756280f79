"""Whatever dies, and whenever: what has its final name is whole, the exit status says it, and nothing lives on."""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

from harness import (CHUNK, EXIT_DATA, EXIT_OK, CopyTest, Running, connections_of, local_agent, needs_root, remote_agents,
                     session_of, wait_for)

ROUNDS = int(os.environ.get("RDCP_KILL_ROUNDS", "4"))
SEED = int(os.environ.get("RDCP_KILL_SEED", str(time.time_ns() % 10**6)))
SOON = 2.5  # "within a second or two", and a little for a busy machine


def catches(pid: int, number: int) -> bool:
    """True once the process, which has to start first, has a handler for the signal, or waits for it blocked."""
    masks = 0
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(("SigCgt:", "SigBlk:")):
                masks |= int(line.split()[1], 16)
    return bool(masks >> (number - 1) & 1)


def has_written(pid: int) -> bool:
    """True for a process that has ended, too."""
    with contextlib.suppress(OSError):
        return "wchar: 0\n" not in Path(f"/proc/{pid}/io").read_text()
    return True


class KillTest(CopyTest):
    """A tree of small and large files over an older copy of some of them; slowed down to take a second or two."""

    def setUp(self):
        super().setUp()
        self.chance = random.Random(SEED)
        print(f"(RDCP_KILL_SEED={SEED}) ", end="", flush=True)
        self.contents = {}
        self.tree, self.older = self.source / "tree", self.disk / "older"
        for folder in (self.tree / "sub", self.older / "sub"):
            folder.mkdir(parents=True)
        for i in range(160):
            name = f"sub/file-{i}" if i % 2 else f"file-{i}"
            size = self.chance.choice((0, 100, 5_000, 40_000)) if i % 8 else 25 * CHUNK + i
            self.make_file(self.tree / name, size, seed=i)
            self.contents[name] = {(self.tree / name).read_bytes()}
            if i % 3 == 0:
                self.make_file(self.older / name, size // 2 + 1, seed=1000 + i)
                self.contents[name].add((self.older / name).read_bytes())

    def begin(self, round_number: int, source: str, target: str) -> Running:
        self.landing = self.memory / f"round-{round_number}"
        shutil.copytree(self.older, self.landing)
        return self.start("-r", "--chunk-size", "64K", "--bwlimit", "8MiB", f"{source}{self.tree}/",
                          f"{target}{self.landing}")

    def await_agents(self, running: Running, count: int) -> list[int]:
        agents = wait_for(lambda: len(remote_agents()) >= count and remote_agents(), 20)
        self.assertTrue(agents, "the agents do not come up")
        # One that is killed before its hello has never been reached (exit 3).
        self.assertTrue(wait_for(lambda: all(map(has_written, agents)), 20), "the agents do not say hello")
        return agents

    def pause(self, most: float = 1.0):
        time.sleep(self.chance.random() * most)  # the moment is what the test varies

    def check_target(self):
        self.assert_no_litter(self.landing, cut_short=True)
        for folder, _, names in os.walk(self.landing):
            for name in names:
                path = os.path.join(folder, name)
                content = self.contents.get(os.path.relpath(path, self.landing))
                self.assertIsNotNone(content, f"litter: {path}")
                with open(path, "rb") as file:
                    self.assertTrue(file.read() in content, f"{path} is neither the old nor the new file")
        for path in self.older.rglob("file-*"):
            self.assertTrue((self.landing / path.relative_to(self.older)).exists(), f"{path} was lost")

    def check(self, running: Running, statuses: tuple, within: float):
        killed_at = time.monotonic()
        done = running.finish(60)
        took = time.monotonic() - killed_at
        if done.status == EXIT_OK:  # it was quicker than the blow
            self.assert_same_tree(self.tree, self.landing)
        else:
            self.assertIn(done.status, statuses, done)
            self.assertLess(took, within, done)
            self.assertNotEqual(done.err, "")
        self.assert_nothing_lives(running)
        self.check_target()


class KilledAgents(KillTest):
    def kill_one(self, source: str, target: str, agents: int, which: int):
        for round_number in range(ROUNDS):
            running = self.begin(round_number, source, target)
            victims = self.await_agents(running, agents)
            self.pause()
            with contextlib.suppress(ProcessLookupError):
                os.kill(victims[which], signal.SIGKILL)
            self.check(running, (EXIT_DATA,), 30)

    def test_the_target_agent(self):
        self.kill_one("", "dest:", 1, 0)

    def test_the_source_agent(self):
        self.kill_one("dest:", "", 1, 0)

    def test_either_of_two(self):
        self.kill_one("dest:", "other:", 2, 0)
        shutil.rmtree(self.memory)
        self.memory.mkdir()
        self.kill_one("dest:", "other:", 2, 1)


class CutConnections(KillTest):
    def test_ssh_is_killed(self):
        """What cannot be rejoined, because no data moves yet, has failed; else the copy goes on."""
        ways = [("", "dest:"), ("dest:", ""), ("dest:", "other:")]
        for round_number in range(ROUNDS):
            source, target = ways[round_number % len(ways)]
            running = self.begin(round_number, source, target)
            self.await_agents(running, bool(source) + bool(target))
            self.pause()
            for pid in session_of(running.pid):
                if pid not in (running.pid, local_agent(running.pid)):
                    with contextlib.suppress(ProcessLookupError):  # it has ended
                        os.kill(pid, signal.SIGKILL)
            self.check(running, (EXIT_DATA, 3), 30)

    @needs_root
    def test_the_data_sockets_are_cut(self):
        cut = 0
        for round_number in range(ROUNDS):
            running = self.begin(round_number, "", "dest:")
            self.await_agents(running, 1)
            self.assertTrue(wait_for(lambda: connections_of(local_agent(running.pid)), 20), "no data connections")
            self.pause()
            for local, peer in connections_of(local_agent(running.pid)):
                done = subprocess.run(["ss", "-H", "-K", "-t", "-n", "src", local, "dst", peer], capture_output=True,
                                      check=False)
                cut += bool(done.stdout)
            if not cut:
                self.skipTest("this kernel cannot cut sockets (CONFIG_INET_DIAG_DESTROY)")
            self.check(running, (EXIT_DATA,), 30)


class KilledCoordinator(KillTest):
    def test_by_sigkill(self):
        for round_number in range(ROUNDS):
            running = self.begin(round_number, "", "dest:")
            self.await_agents(running, 1)
            self.pause()
            running.process.kill()
            running.process.wait()
            self.assert_nothing_lives(running, 30)
            self.check_target()


class Signals(KillTest):
    def interrupt(self, number: int, status: int):
        for round_number, (source, target) in enumerate([("", "dest:"), ("dest:", ""), ("dest:", "other:"), ("", "")]):
            with self.subTest(source=source, target=target):
                running = self.begin(round_number, source, target)
                if source or target:
                    self.await_agents(running, bool(source) + bool(target))
                self.assertTrue(wait_for(lambda: catches(running.pid, number)), "it does not catch the signal")
                self.pause(0.6)
                if running.process.poll() is None:
                    os.kill(running.pid, number)
                self.check(running, (status,), SOON)

    def test_sigint(self):
        self.interrupt(signal.SIGINT, 130)

    def test_sigterm(self):
        self.interrupt(signal.SIGTERM, 143)

    def test_ctrl_c_reaches_the_whole_group(self):
        running = self.begin(0, "", "dest:")
        self.await_agents(running, 1)
        self.pause(0.6)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGINT)
        self.check(running, (130,), SOON)

    def test_before_the_agent_answers(self):
        silent = self.disk / "silent"
        silent.write_text("#!/bin/sh\nexec sleep 60\n")
        silent.chmod(0o755)
        running = self.start("--rdcp-path", silent, self.tree / "file-0", f"dest:{self.memory}")
        self.assertTrue(wait_for(lambda: len(session_of(running.pid)) > 1, 10))
        os.kill(running.pid, signal.SIGINT)
        done = running.finish(10)
        self.assertEqual(done.status, 130, done)


if __name__ == "__main__":
    unittest.main()
