"""The session key goes through ssh's pipes alone: nothing new stands in argv or in the environment of any process."""

import contextlib
import os
import re
import signal
import sys
import unittest
from pathlib import Path

from harness import MIB, RDCP, CopyTest, Running, held_by, is_root, remote_agents, session_of, wait_for

# What a shell, sshd or ssh puts into the environment of a remote command.
USUAL = {"USER", "LOGNAME", "HOME", "PATH", "SHELL", "MAIL", "PWD", "OLDPWD", "SHLVL", "_", "SSH_CLIENT",
         "SSH_CONNECTION", "LANG", "MOTD_SHOWN", "TZ", "XDG_SESSION_ID", "XDG_RUNTIME_DIR", "XDG_SESSION_TYPE",
         "XDG_SESSION_CLASS", "DBUS_SESSION_BUS_ADDRESS", "TERM"}
LONG_TOKEN = re.compile(rb"[0-9a-fA-F]{32,}|[A-Za-z0-9+/]{40,}={1,2}")


def words_of(pid: int, what: str) -> list[bytes]:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/{what}").read_bytes().rstrip(b"\0").split(b"\0")
    return []


class Secrets(CopyTest):
    def test_argv_and_environment(self):
        file = self.make_file(self.source / "file", 20 * MIB)
        running = self.start("--bwlimit", "20MiB", f"dest:{file}", f"other:{self.target}")
        agents = wait_for(lambda: len(remote_agents()) == 2 and remote_agents(), 20)
        self.assertTrue(agents)
        for agent in agents:
            self.assertEqual(words_of(agent, "cmdline"), [os.fsencode(RDCP), b"--agent"])
            names = {word.partition(b"=")[0].decode() for word in words_of(agent, "environ")}
            # The login shell's own configuration may set more, but nothing that only this run knows.
            self.assertFalse({name for name in names - USUAL if "KEY" in name or "RDCP" in name})
        ours = {name.encode() + b"=" + value.encode(errors="surrogateescape") for name, value in os.environ.items()}
        ours.add(Running.mark_of(running.pid))
        processes = session_of(running.pid)
        self.assertGreaterEqual(len(processes), 3, "two ssh and the coordinator")
        for pid in processes:
            self.assertFalse(set(words_of(pid, "environ")) - ours, "something was added to the environment")
            for word in words_of(pid, "cmdline"):
                self.assertIsNone(LONG_TOKEN.search(word), word)
        for pid in self.sshd.descendants():
            for word in words_of(pid, "cmdline"):
                self.assertIsNone(LONG_TOKEN.search(word), word)
        self.assertEqual(running.finish(60).status, 0)

    def ssh_that_another_user_watches(self) -> tuple[Path, Path]:
        """An ssh that does nothing before another user has tried to take the place of the socket that it names. Returns it,
        and the file of which socket that was and what came of it."""
        if not is_root:
            self.skipTest("only root can run a program as another user")
        tries = ("import os, socket, sys\n"
                 "os.umask(0)\n"
                 "for act in ('bind', 'connect'):\n"
                 "    try: getattr(socket.socket(socket.AF_UNIX), act)(sys.argv[1]); print(act, 'succeeds')\n"
                 "    except OSError as error: print(act, error.strerror)\n")
        wrapper, seen = self.disk / "ssh", self.disk / "seen"
        wrapper.write_text('#!/bin/sh\nfor word; do case $word in ControlPath=*) path=${word#*=};; esac; done\n'
                           f'if [ "$path" ]; then (echo "at $path"; setpriv --reuid=65534 --regid=65534 --clear-groups '
                           f'{sys.executable} -c "{tries}" "$path" 2>&1) >> {seen}; fi\nexec ssh "$@"\n')
        wrapper.chmod(0o755)
        return wrapper, seen

    def test_no_other_user_reaches_the_socket_of_a_shared_session(self):
        wrapper, seen = self.ssh_that_another_user_watches()
        file = self.make_file(self.source / "file", 5 * MIB)
        for place in ("", str(self.disk)):  # the second one is this user's, and who has made it lets nobody else in
            with self.subTest(XDG_RUNTIME_DIR=place):
                self.copy("-e", wrapper, "--via", "ssh", "--streams", "2", file, f"dest:{self.target}/copy",
                          env={**os.environ, "XDG_RUNTIME_DIR": place})
                lines = seen.read_text().splitlines()
                sockets = {line for line in lines if line.startswith("at ")}
                self.assertEqual(len(sockets), 1, lines)  # the first session's, which the second one shares
                self.assertEqual({line for line in lines if line not in sockets},
                                 {"bind Permission denied", "connect Permission denied"})
                folder = Path(sockets.pop().removeprefix("at ")).parent
                self.assertEqual(folder.parent, Path(place or "/tmp"))
                self.assertFalse(folder.exists(), "left behind")
                seen.unlink()

    def test_an_interrupted_run_leaves_no_socket(self):
        wrapper, seen = self.ssh_that_another_user_watches()
        file = self.make_file(self.source / "file", 20 * MIB)
        for end in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            running = self.start("-e", wrapper, "--bwlimit", "1MiB", file, f"dest:{self.target}/copy")
            wait_for(remote_agents, 20)
            folder = Path(seen.read_text().splitlines()[0].removeprefix("at ")).parent
            self.assertTrue(folder.is_dir())
            running.process.send_signal(end)
            self.assertEqual(running.finish(20).status, 128 + end)
            self.assertFalse(folder.exists(), "left behind")
            seen.unlink()

    def test_data_ports_listen_only_while_streams_are_missing(self):
        file = self.make_file(self.source / "file", 20 * MIB)
        running = self.start("--bwlimit", "20MiB", file, f"dest:{self.target}")
        wait_for(remote_agents, 20)
        self.assertTrue(wait_for(lambda: not self.listeners(remote_agents()), 10), "still listening during the copy")
        self.assertEqual(running.finish(60).status, 0)

    @staticmethod
    def listeners(pids: list[int]) -> list[str]:
        """Listening sockets of these processes, by inode."""
        inodes = {name for pid in pids for name in held_by(pid).values()}
        rows = []
        for table in ("tcp", "tcp6"):
            with contextlib.suppress(OSError):
                rows += Path(f"/proc/net/{table}").read_text().splitlines()[1:]
        return [row for row in rows if row.split()[3] == "0A" and f"socket:[{row.split()[9]}]" in inodes]


if __name__ == "__main__":
    unittest.main()
