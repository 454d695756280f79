"""Mounts the file system that lies (lying_fs.cpp) for a test, where only the test and what it starts can see it."""

import contextlib
import ctypes
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

import every_kind  # noqa: E402
from harness import BUILD, RDCP, CopyTest, Running, wait_for  # noqa: E402
from snapshot import differences, snapshot  # noqa: E402

SERVER = BUILD / "lying_fs"
CLONE_NEWNS, CLONE_NEWUSER, MS_REC, MS_PRIVATE = 0x20000, 0x10000000, 0x4000, 1 << 18
BOUND = 60.0  # seconds in which every run must have ended, whatever the file system does

# A remote shell that stays on this host, so that data goes over TCP and deltas are taken.
SHELL = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
shift
exec sh -c "$*"
"""


def enter_namespace() -> str | None:
    """Mounts of this process are its own from now on: they go with the last process that it started, however that ends.
    Returns why that is not possible."""
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.geteuid(), os.getegid()
    if libc.unshare(CLONE_NEWNS if uid == 0 else CLONE_NEWNS | CLONE_NEWUSER) != 0:
        return f"no mount namespace: {os.strerror(ctypes.get_errno())}"
    if uid != 0:  # root within it alone, by which it may mount
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
        Path("/proc/self/gid_map").write_text(f"0 {gid} 1")
    if libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) != 0:
        return f"mounts cannot be made private: {os.strerror(ctypes.get_errno())}"
    return None


def why_not() -> str | None:
    """Why there is no such file system here, tried once for all tests of the process."""
    if not SERVER.exists():
        return "lying_fs is not built: there is no libfuse3-dev (run scripts/setup)"
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "no /dev/fuse that this user may open"
    return enter_namespace()


_reason: list = []


def unavailable() -> str | None:
    if not _reason:
        _reason.append(why_not())
    return _reason[0]


class LyingFs:
    """The server, and where it is mounted. It ends with its standard input, so with this process."""

    def __init__(self, point: Path, *lies: str):
        point.mkdir(exist_ok=True)
        self.point = point
        self.process = subprocess.Popen([SERVER, point, *lies], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise unittest.SkipTest("the kernel refuses to mount FUSE here")

    def ask(self, *words) -> str:
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().rstrip("\n")
        assert answer and answer != "error", f"{words}: {answer}"
        return answer

    def describe(self, *moment_and_seed: int) -> dict:
        """The tree as it is, or what is left if power is lost after so many operations, as a seed has it."""
        return json.loads(self.ask("describe", *moment_and_seed))

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        if self.process.poll() is None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        subprocess.run(["umount", "-l", self.point], check=False, capture_output=True)


class LyingTest(CopyTest):
    """A copy to a file system that lies. self.target lies in it, beside what no copy may touch."""

    @classmethod
    def setUpClass(cls):
        if reason := unavailable():
            raise unittest.SkipTest(reason)

    def setUp(self):
        super().setUp()
        self.shell = self.disk / "shell"
        self.shell.write_text(SHELL)
        self.shell.chmod(0o755)

    def command(self, *words) -> list[str]:
        # The loopback is no other test's: an address of a bed that comes and goes would be lost with it.
        via = () if "--clean" in words else ("--via", "127.0.0.1")
        return [os.fspath(word) for word in (RDCP, "-e", self.shell, "--rdcp-path", RDCP, *via, *words)]

    def mount(self, *lies: str) -> LyingFs:
        """What is there at the beginning is made without lies, but for those that a mount begins with."""
        fs = LyingFs(self.disk / "lying", *[lie for lie in lies if lie.startswith("flock=")])
        self.addCleanup(fs.end)
        self.fs = fs
        self.target = fs.point / "target"
        self.target.mkdir()
        self.outside = fs.point / "outside"
        self.outside.mkdir()
        (self.outside / "precious").write_bytes(b"precious")
        for lie in lies:
            fs.ask("lie", lie)
        return fs

    def unmount(self):
        self.fs.end()

    def living(self) -> list[int]:
        """What this test has started, agents too: nobody else sees these mounts."""
        mine, found = os.readlink("/proc/self/ns/mnt"), []
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            with contextlib.suppress(OSError):
                is_zombie = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] == "Z"
                if os.readlink(f"/proc/{pid}/ns/mnt") == mine and not is_zombie:
                    found.append(pid)
        return [pid for pid in found if pid not in (os.getpid(), self.fs.process.pid)]

    def assert_nothing_lives(self, running: Running | None = None, timeout: float = 20.0):
        self.assertTrue(wait_for(lambda: not self.living(), timeout), f"processes left: {self.living()}")
