"""When every guard in rdcp has failed, the kernel still refuses what an agent's job does not need."""

import contextlib
import ctypes
import errno
import os
import re
import signal
import subprocess
import unittest
from pathlib import Path

from harness import BUILD, EXIT_OK, MIB, RDCP, CopyTest, Running, held_by, local_agent, remote_agents, session_of, wait_for
from pipes import PipeTest

HOSTILE = BUILD / "hostile_agent"
OPEN_DOORS = BUILD / "rdcp_open_doors"
CREATE_RULESET, ASK_VERSION = 444, 1


def landlock_abi() -> int:
    return max(0, ctypes.CDLL(None).syscall(CREATE_RULESET, None, 0, ASK_VERSION))


needs_landlock = unittest.skipUnless(landlock_abi() >= 4, f"this kernel has Landlock ABI {landlock_abi()}, and 4 is needed")


def threads_without_new_privileges(pid: int) -> list[bool]:
    """Of each thread, whether it has given up new privileges, as it does when it enters the sandbox."""
    said = [(task / "status").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    return ["NoNewPrivs:\t1" in status for status in said]


@needs_landlock
class OpenDoors(CopyTest):
    """An rdcp whose guards of names have been taken out receives from a source that leads it elsewhere."""

    LEADS_OUT = ("parent", "absolute")
    OUTSIDE = Path("/tmp/rdcp-evil")

    def attacked(self, name: str, *words) -> tuple[Path, int]:
        folder = self.target / f"{name}{len(words)}"
        (folder / "dst").mkdir(parents=True)
        command = [OPEN_DOORS, "-F", self.sshd.config, "--rdcp-path", HOSTILE, *words, "-r", f"dest:/{name}", folder / "dst"]
        running = Running(command, cwd=self.disk)
        self.addCleanup(running.process.wait)
        self.addCleanup(running.kill)
        return folder, running.finish(40).status

    def written(self, folder: Path) -> list:
        return [*sorted(set(os.listdir(folder)) - {"dst"}), *([self.OUTSIDE] if self.OUTSIDE.exists() else [])]

    def test_a_hostile_frame_through_an_open_door_writes_nothing_outside(self):
        for name in self.LEADS_OUT:
            self.addCleanup(self.OUTSIDE.unlink, missing_ok=True)
            with self.subTest(attack=name, sandbox=False):
                folder, _ = self.attacked(name, "--no-landlock")
                self.assertNotEqual(self.written(folder), [], "the door is not open, so this shows nothing")
            self.OUTSIDE.unlink(missing_ok=True)
            with self.subTest(attack=name, sandbox=True):
                folder, status = self.attacked(name)
                self.assertEqual(self.written(folder), [])
                self.assertNotEqual(status, EXIT_OK)


@needs_landlock
class Agents(CopyTest):
    def begun(self, *words) -> Running:
        """A slow copy, of which both agents are there."""
        file = self.make_file(self.source / "file", 20 * MIB)
        running = self.start("--bwlimit", "4MiB", *[word.format(file=file, target=self.target) for word in words])
        both = lambda: remote_agents() and local_agent(running.pid) != running.pid
        self.assertTrue(wait_for(both, 20), "the data is in the coordinator's process")
        return running

    def test_every_thread_of_an_agent_is_within(self):
        for words in (("{file}", "dest:{target}"), ("dest:{file}", "{target}")):
            with self.subTest(words=words):
                running = self.begun(*words)
                # The control thread, the one that copies, and a worker for each stream.
                agents = lambda: [*remote_agents(), local_agent(running.pid)]
                busy = lambda: len(agents()) == 2 and all(len(threads_without_new_privileges(pid)) > 2 for pid in agents())
                self.assertTrue(wait_for(busy, 20), "no agent copies")
                for pid in agents():
                    self.assertTrue(all(threads_without_new_privileges(pid)), pid)
                self.assertEqual(threads_without_new_privileges(running.pid).count(True), 0, "the coordinator starts ssh")
                running.kill()
                running.process.wait()

    # What the coordinator holds, and the process that parses what a peer sends does not.
    def test_an_agent_has_no_terminal_and_nothing_of_ssh(self):
        running = self.begun("{file}", "dest:{target}")
        agent = local_agent(running.pid)
        self.assertEqual(os.getsid(agent), agent, "it could open /dev/tty")
        held = held_by(agent)
        ssh = [pid for pid in session_of(running.pid) if pid not in (agent, running.pid)]
        self.assertTrue(ssh)
        pipes_of_ssh = {name for pid in ssh for number, name in held_by(pid).items() if number <= 2}
        self.assertEqual({name for name in pipes_of_ssh.intersection(held.values()) if name.startswith("pipe:")}, set())
        self.assertEqual(held[0], "/dev/null")
        self.assertEqual(running.finish(60).status, EXIT_OK)

    def test_an_agent_goes_with_its_coordinator(self):
        for number in (signal.SIGKILL, signal.SIGTERM):
            for stopped in (False, True):
                with self.subTest(number=number, stopped=stopped):
                    running = self.begun("{file}", "dest:{target}")
                    if stopped:
                        os.kill(running.pid, signal.SIGTSTP)
                        agent = local_agent(running.pid)
                        self.assertTrue(wait_for(lambda: self.state(running.pid) == self.state(agent) == "T"))
                    os.kill(running.pid, number)
                    os.kill(running.pid, signal.SIGCONT)
                    running.process.wait(20)
                    self.assert_nothing_lives(running, 10)

    @staticmethod
    def state(pid: int) -> str:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]

    def test_a_stopped_copy_goes_on(self):
        running = self.begun("{file}", "dest:{target}")
        agent = local_agent(running.pid)
        os.kill(running.pid, signal.SIGTSTP)
        self.assertTrue(wait_for(lambda: self.state(running.pid) == self.state(agent) == "T"))
        os.kill(running.pid, signal.SIGCONT)
        self.assertEqual(running.finish(60).status, EXIT_OK)
        self.assert_same_file(self.source / "file", self.target / "file")

    # What the coordinator opens first gets the numbers of those that are closed.
    def test_where_standard_descriptors_are_closed(self):
        file = self.make_file(self.source / "file", MIB)
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            for words in ((file, f"dest:{self.target}/there"), (f"dest:{file}", self.target / "here")):
                with self.subTest(closed=closed, words=words):
                    command = ["sh", "-c", f'exec "$@" {closed}', "sh", *self.command(*words)]
                    self.assertEqual(Running(command, cwd=self.disk).finish(40).status, EXIT_OK)
                    for copy in self.target.iterdir():
                        self.assert_same_file(file, copy)
                        copy.unlink()

    def test_an_agent_that_dies_is_named(self):
        running = self.begun("{file}", "dest:{target}")
        os.kill(local_agent(running.pid), signal.SIGKILL)
        done = running.finish(40)
        self.assertEqual(done.status, 4, done)
        self.assertIn("this host", done.err)
        self.assert_nothing_lives(running, 10)


@needs_landlock
class Told(CopyTest):
    """-v says what each agent may do."""

    def told(self, *words) -> str:
        file = self.source / "file"
        file.write_text("content")
        return self.copy("-v", *[str(word).format(file=file, source=self.source, target=self.target) for word in words]).err

    def test_both_sides(self):
        for words in (("{file}", "dest:{target}/copy"), ("dest:{file}", "{target}/copy"), ("{file}", "{target}/copy")):
            with self.subTest(words=words):
                told = self.told(*words)
                self.assertRegex(told, r"the source may write nothing, execute nothing and make .*Landlock ABI \d")
                self.assertIn(f"the target may write only beneath {self.target}, execute nothing", told)

    def test_connections(self):
        told = self.told("{file}", "dest:{target}/copy")
        port = re.search(r"the source may .* TCP connections only to port (\d+)", told)[1]
        self.assertIn(f":{port}", told.partition("stream")[2])
        self.assertRegex(told, r"the target may .* make no TCP connection")

    def test_without(self):
        for words in (("{file}", "dest:{target}/copy"), ("{file}", "{target}/copy")):
            told = self.told("--no-landlock", *words)
            self.assertEqual(told.count("may do what its user may (--no-landlock)"), 2, told)

    # Where the kernel has none, as before Linux 5.13 or in a container that refuses it, copies go on without.
    def test_where_there_is_none(self):
        for error, why in ((errno.ENOSYS, "this kernel has no Landlock"), (errno.EPERM, "Landlock is refused here")):
            environment = self.failing("landlock_create_ruleset", "", error)
            told = self.copy("-v", "-r", f"{self.source}/", self.target / "copy", env=environment).err
            self.assertEqual(told.count(f"may do what its user may: {why}"), 2, told)


@needs_landlock
class Segments(CopyTest):
    def commands_of(self, agent: int) -> list[int]:
        """The shells that it has started."""
        found = []
        for entry in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                parent = int(Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[1])
                if parent == agent and b"-c" in Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0"):
                    found.append(int(entry))
        return found

    def test_a_segment_is_within_and_its_command_is_not(self):
        command = [BUILD / "rdpipe", "-F", self.sshd.config, "--rdcp-path", RDCP, f"dest:cat > {self.disk}/copy; exit"]
        running = Running(command, cwd=self.disk, stdin=subprocess.PIPE)
        self.addCleanup(running.process.wait)
        self.addCleanup(running.kill)
        running.process.stdin.write(b"stream")
        running.process.stdin.flush()
        self.assertTrue(wait_for(lambda: (self.disk / "copy").exists() and (self.disk / "copy").stat().st_size == 6, 20))
        agent, = [pid for pid in remote_agents() if self.commands_of(pid)]  # the other one guards the command
        self.assertTrue(all(threads_without_new_privileges(agent)))
        shell, = self.commands_of(agent)
        self.assertEqual(threads_without_new_privileges(shell), [False])
        running.process.stdin.close()
        running.process.stdin = None
        self.assertEqual(running.finish(20).status, EXIT_OK)


@needs_landlock
class Receiving(PipeTest):
    def test_rdrecv_is_confined_before_it_hears_anybody(self):
        for file, place in (("", None), (self.folder / "copy", self.folder), ("/dev/null", "/dev/null")):
            with self.subTest(file=file):
                receiver, port = self.receiver(*([file] if file else []))
                self.assertTrue(all(threads_without_new_privileges(receiver.pid)))
                receiver.kill()

    def test_what_it_receives_lands(self):
        receiver, port = self.receiver(self.folder / "copy")
        sender = self.sender(port, stdin=subprocess.PIPE)
        sender.process.stdin.write(b"stream")
        self.close_input(sender)
        self.end(sender, EXIT_OK)
        self.end(receiver, EXIT_OK)
        self.assertEqual((self.folder / "copy").read_bytes(), b"stream")


if __name__ == "__main__":
    unittest.main()
