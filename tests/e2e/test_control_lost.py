"""The end of ssh is not the end of a copy: its agents go on, and the coordinator rejoins them."""

import contextlib
import os
import re
import signal
import socket
import time
import unittest
from pathlib import Path

from harness import EXIT_DATA, EXIT_OK, MIB, CopyTest, Finished, Running, remote_agents, session_of, wait_for

SIZE = 24 * MIB  # so large that what has arrived of it has a name
SLOWLY = ["--chunk-size", "64K", "--bwlimit", "4MiB", "--streams", "2"]  # six seconds, so that a busy machine finds it under way
BACK = r"warning: the connection to the agent on {} was lost: .*; another one took its place\n"
AGAIN = "run the same command again to go on"


def is_called(pid: int, name: str) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip() == name
    return False


def ssh_of(running: Running) -> list[int]:
    """The processes that carry the control connections of a run, the oldest first."""
    return sorted(pid for pid in session_of(running.pid) if is_called(pid, "ssh"))


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


class LostControl(CopyTest):
    def setUp(self):
        super().setUp()
        self.make_file(self.source / "large", SIZE)
        for i in range(100):
            (self.source / f"small-{i}").write_bytes(bytes([i]) * i * 100)

    def start_copy(self, *options, source: str = "", target: str = "dest:") -> Running:
        """A copy whose data moves."""
        running = self.start("-r", *SLOWLY, *options, f"{source}{self.source}/", f"{target}{self.target}")
        if not wait_for(lambda: self.moves() or running.process.poll() is not None, 20) or running.process.poll() is not None:
            self.fail(f"no data moves: {running.where()}\n{running.finish(1)}")
        return running

    def moves(self) -> bool:
        return any(path.stat().st_blocks * 512 > MIB for path in self.target.glob(".rdcp-*.part"))

    def kill(self, pids: list[int]):
        self.assertTrue(pids)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

    def await_new_ssh(self, running: Running, killed: list[int]) -> list[int]:
        """Returns what has taken the place of these, once agents are said to be back."""
        def new():
            found = ssh_of(running)
            return len(found) == len(killed) and not set(found) & set(killed) and found
        found = wait_for(new, 20)
        self.assertTrue(found, running.where())
        return found

    def assert_went_on(self, running: Running, *hosts: str) -> Finished:
        done = running.finish(60)
        self.assertEqual(done.status, EXIT_OK, done)
        for host in hosts:
            self.assertRegex(done.err, BACK.format(host))
        self.assert_same_tree(self.source, self.target)
        self.assert_no_litter(self.target)
        self.assert_nothing_lives(running)
        return done


class Returns(LostControl):
    def test_to_a_host(self):
        running = self.start_copy()
        self.kill(ssh_of(running))
        self.assert_went_on(running, "dest")

    def test_from_a_host(self):
        running = self.start_copy(source="dest:", target="")
        self.kill(ssh_of(running))
        self.assert_went_on(running, "dest")

    def test_between_two(self):
        running = self.start_copy(source="dest:", target="other:")
        self.kill(ssh_of(running))
        self.assert_went_on(running, "dest", "other")

    def test_the_far_end_of_ssh_is_killed(self):
        running = self.start_copy()
        self.kill([parent_of(pid) for pid in remote_agents()])
        self.assert_went_on(running, "dest")

    def test_again_and_again(self):
        running = self.start_copy("--bwlimit", "2MiB")
        for _ in range(4):
            killed = ssh_of(running)
            self.kill(killed)
            self.await_new_ssh(running, killed)
        done = self.assert_went_on(running, "dest")
        self.assertGreaterEqual(len(re.findall(BACK.format("dest"), done.err)), 1)

    # Each line that the agents say comes once, whether it was said before, during or after the loss.
    def test_a_mirror_says_everything_once(self):
        wanted = sorted(path.name for path in self.source.iterdir())
        running = self.start_copy("--sync", "--itemize-changes")
        self.kill(ssh_of(running))
        done = self.assert_went_on(running, "dest")
        told = [line.split()[-1] for line in done.out.decode().splitlines() if line.startswith("<f")]
        self.assertEqual(sorted(told), wanted)

    def test_sums_are_whole(self):
        sums = self.disk / "sums"
        running = self.start_copy("--sums", sums, source="dest:", target="")
        self.kill(ssh_of(running))
        self.assert_went_on(running, "dest")
        lines = sums.read_text().splitlines()
        self.assertEqual(len(lines), len(list(self.source.iterdir())))
        self.assertEqual(len(set(lines)), len(lines))


class Ends(LostControl):
    """What cannot be mended ends in bounded time, on every host."""

    def start_through(self, config: Path, *options, **sides) -> Running:
        config.write_text(self.sshd.config.read_text())
        return self.start_copy("-F", config, *options, **sides)

    def test_ssh_connects_no_more(self):
        config = self.disk / "ssh_config"
        running = self.start_through(config, "--bwlimit", "2MiB", "--retry-time", "2")
        config.write_text("Host *\n  ProxyCommand /bin/false\n")
        self.kill(ssh_of(running))
        before = time.monotonic()
        done = running.finish(60)
        self.assertLess(time.monotonic() - before, 2 + 8)
        self.assertEqual(done.status, EXIT_DATA, done)
        self.assertIn(AGAIN, done.err)
        self.assert_nothing_lives(running, 2 + 8)
        self.assertNotIn("large", os.listdir(self.target))
        self.copy("-r", f"{self.source}/", f"dest:{self.target}")
        self.assert_same_tree(self.source, self.target)
        self.assert_no_litter(self.target)

    def test_nobody_waits_where_nobody_is_to(self):
        running = self.start_copy("--bwlimit", "2MiB", "--retry-time", "0")
        self.kill(ssh_of(running))
        done = running.finish(10)
        self.assertEqual(done.status, EXIT_DATA, done)
        self.assertNotIn("took its place", done.err)
        self.assert_nothing_lives(running)

    # Nobody is left who could come back, and no signal tells the agents so.
    def test_everything_here_is_killed(self):
        for source, target in (("", "dest:"), ("dest:", ""), ("dest:", "other:")):
            with self.subTest(source=source, target=target):
                running = self.start_copy("--bwlimit", "2MiB", "--retry-time", "6", source=source, target=target)
                running.kill()
                self.assert_nothing_lives(running, 6 + 8)
                self.assertNotIn("large", os.listdir(self.target))
                self.assert_no_litter(self.target, cut_short=True)

    def test_a_signal_while_it_is_away(self):
        config = self.disk / "ssh_config"
        running = self.start_through(config, "--bwlimit", "2MiB", "--retry-time", "12")
        config.write_text("Host *\n  ProxyCommand /bin/false\n")
        killed = ssh_of(running)
        self.kill(killed)
        self.assertTrue(wait_for(lambda: not set(ssh_of(running)) & set(killed)))
        running.process.send_signal(signal.SIGINT)
        before = time.monotonic()
        done = running.finish(20)
        self.assertLess(time.monotonic() - before, 8)  # and not the time for which it would try
        self.assertEqual(done.status, 128 + signal.SIGINT, done)
        self.assert_nothing_lives(running, 12 + 8)

    # Who connects to the agent and is no coordinator changes nothing.
    def test_a_stranger_connects(self):
        running = self.start_copy()
        agent, = remote_agents()
        names = {line.split()[-1] for line in Path(f"/proc/{agent}/net/unix").read_text().splitlines() if "@rdcp-" in line}
        self.assertTrue(names)
        for name in names:
            for words in (b"", b"\0rdcp control\n\x0c\0\0\0\0", b"x" * 100_000):
                with socket.socket(socket.AF_UNIX) as stranger, contextlib.suppress(OSError):
                    stranger.connect("\0" + name[1:])
                    stranger.sendall(words)
        done = running.finish(60)
        self.assertEqual(done.status, EXIT_OK, done)
        self.assert_same_tree(self.source, self.target)


if __name__ == "__main__":
    unittest.main()
