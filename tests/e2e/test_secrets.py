"""The session key goes through ssh's pipes alone: nothing new stands in argv or in the environment of any process."""

import contextlib
import os
import re
import unittest
from pathlib import Path

from harness import MIB, RDCP, CopyTest, Running, held_by, remote_agents, session_of, wait_for

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
                if not word.startswith(b"ControlPath="):  # its socket lets in this user alone, whoever knows the name
                    self.assertIsNone(LONG_TOKEN.search(word), word)
        for pid in self.sshd.descendants():
            for word in words_of(pid, "cmdline"):
                self.assertIsNone(LONG_TOKEN.search(word), word)
        self.assertEqual(running.finish(60).status, 0)

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
