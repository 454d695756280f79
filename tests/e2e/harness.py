"""What every end-to-end test needs: the program, an sshd, folders, and a way to say "the same tree"."""

import atexit
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
REPO = HERE.parent.parent
sys.path[:0] = [str(REPO / "scripts" / "lib"), str(HERE)]

from snapshot import differences, snapshot  # noqa: E402
from sshd import LocalSshd  # noqa: E402
from trees import KIB, MIB, Noise  # noqa: E402

BUILD = Path(os.environ.get("RDCP_BUILD_DIR", REPO / "build" / "release")).resolve()
RDCP = BUILD / "rdcp"
MEMORY = Path("/dev/shm")
# The same tests over another transport, or with a far host that is another machine: the RDMA test VM sets these.
TRANSPORT = os.environ.get("RDCP_TEST_TRANSPORT")
# The same tests with options for what goes over the network, "--encrypt --compress=1" or the like.
OPTIONS = tuple(os.environ.get("RDCP_TEST_OPTIONS", "").split())
FAR_SSH_CONFIG = os.environ.get("RDCP_VM_SSH_CONFIG")  # knows `dest` and `other`; else an sshd of our own is both
SHARED_FOLDER = os.environ.get("RDCP_VM_SHARED")  # which both machines have at the same path
# Over 9p, as that folder is, the kernel cuts times to seconds (v9fs leaves s_time_gran at its default), and there are
# no fifos and devices.
LOST_IN_SHARED = ("mtime_ns",)
DEFAULT_CHUNK = MIB  # of rdcp itself
CHUNK = 64 * KIB  # a chunk size for tests, so that "several chunks" stays small

EXIT_OK, EXIT_FILES, EXIT_USAGE, EXIT_HOST, EXIT_DATA, EXIT_DIGEST = range(6)

LEFT_TO_RESUME = re.compile(r"\.rdcp-[0-9a-f]{32}\.(part|journal|run)")

is_root = os.geteuid() == 0
needs_root = unittest.skipUnless(is_root, "needs root")
has_rdma = os.path.isdir("/sys/class/infiniband") and bool(os.listdir("/sys/class/infiniband"))


def preloaded(library: str, **settings) -> dict[str, str]:
    """What an rdcp has in its environment to have a library of the tests in it, and that library's settings."""
    path = BUILD / f"lib{library}.so"
    assert path.exists(), f"{path} is not built"
    # AddressSanitizer wants to be the first library, unless told otherwise; it may come behind these. It cannot look for
    # leaks at the end, because a thread of theirs (outside.h) is out of the sandbox and so cannot be stopped from within.
    # To ThreadSanitizer that thread makes each fork one of a process with threads, after which it ends by itself.
    return {"LD_PRELOAD": str(path), "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0", "TSAN_OPTIONS": "die_after_fork=0",
            **{name: str(value) for name, value in settings.items()}}


def make_file(path: Path, size: int, seed: int = 7) -> Path:
    Noise(seed, 2 * max(min(size, MIB), 2048)).write(path, size)
    return path


@dataclass
class Finished:
    status: int  # negative: ended by that signal
    out: bytes
    err: str
    seconds: float

    def __str__(self):
        return f"exit {self.status} after {self.seconds:.1f} s; stderr:\n{self.err}"


class Running:
    """A process in a group of its own. What it starts here is known by a word in the environment: the agent on this
    host has a session of its own."""

    MARK = "RDCP_TEST_RUN"
    _marks: dict[int, bytes] = {}  # by process
    _count = 0

    def __init__(self, command, **options):
        self.started = time.monotonic()
        Running._count += 1
        mark = f"{os.getpid()}-{Running._count}"
        options["env"] = {**options.get("env", os.environ), self.MARK: mark}
        self.process = subprocess.Popen([os.fspath(word) for word in command], start_new_session=True,
                                        **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                                           "stderr": subprocess.PIPE, **options})
        self.pid = self.process.pid
        self._marks[self.pid] = f"{self.MARK}={mark}".encode()

    @classmethod
    def mark_of(cls, pid: int) -> bytes | None:
        return cls._marks.get(pid)

    def finish(self, timeout: float, stdin: bytes | None = None) -> Finished:
        try:
            out, err = self.process.communicate(stdin, timeout=timeout)
        except subprocess.TimeoutExpired:
            where = self.where()
            self.kill()
            out, err = self.process.communicate()
            raise AssertionError(f"still running after {timeout} s; stderr so far:\n{err.decode(errors='replace')}\n{where}")
        return Finished(self.process.returncode, out, err.decode(errors="replace"), time.monotonic() - self.started)

    def where(self) -> str:
        return where(session_of(self.pid))

    def kill(self):
        for pid in session_of(self.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def where(pids: list[int]) -> str:
    """What the threads of these processes wait for, as far as the kernel tells."""
    lines = []
    for pid in pids:
        for thread in sorted(Path(f"/proc/{pid}/task").glob("*")):
            with contextlib.suppress(OSError):
                state = (thread / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
                stack = re.findall(r"\] (\w+)", (thread / "stack").read_text())
                lines.append(f"{thread}: {(thread / 'comm').read_text().strip()} {state} {' < '.join(stack)}")
    return "\n".join(lines)


class FarSshd:
    """The sshd of another machine, with that part of LocalSshd which needs no look at its processes."""

    def __init__(self, config: Path):
        self.config = config

    def ssh(self, *options: str) -> list[str]:
        return ["ssh", "-F", str(self.config), *options]

    def descendants(self):
        raise unittest.SkipTest("the far host is another machine: its processes are out of sight")

    def agents(self) -> list[str]:
        """HOST:PID, so that nobody takes them for processes of this machine."""
        words = [*self.ssh("dest"), "pgrep -f '^[^ ]*/rdcp .*--agent' || [ $? -eq 1 ]"]
        found = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout.split()
        return [f"dest:{pid}" for pid in found]


_sshd: LocalSshd | FarSshd | None = None


def shared_sshd() -> LocalSshd | FarSshd:
    """One sshd for all tests of this process."""
    global _sshd
    if _sshd is None and FAR_SSH_CONFIG:
        _sshd = FarSshd(Path(FAR_SSH_CONFIG))
    if _sshd is None:
        folder = Path(tempfile.mkdtemp(prefix="rdcp-sshd-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        daemon = LocalSshd(folder)
        atexit.register(daemon.__exit__)
        _sshd = daemon.__enter__()
    return _sshd


def session_of(leader: int) -> list[int]:
    """Living processes of a session, orphans too, and the agents that were forked in it."""
    found, mark = [], Running.mark_of(leader)
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{entry}/stat").read_text(errors="replace").rpartition(")")[2].split()
            forked = mark is not None and fields[3] == entry and mark in Path(f"/proc/{entry}/environ").read_bytes().split(b"\0")
            if (int(fields[3]) == leader or forked) and fields[0] != "Z":
                found.append(int(entry))
    return found


def what_it_does(pid: int) -> str:
    """A process and where its threads wait, as the kernel says it."""
    def said(path: Path) -> str:
        with contextlib.suppress(OSError):
            return path.read_text(errors="replace").replace("\0", " ").strip()
        return "?"
    process = Path(f"/proc/{pid}")
    waits = [f"{said(task / 'comm')} in {said(task / 'wchan')}" for task in process.glob("task/*")]
    return f"{pid} {said(process / 'cmdline')[:200]}: {', '.join(waits)}"


def local_agent(coordinator: int) -> int:
    """The process that has the data on this host: the agent that rdcp or rdsend has forked, else that process itself."""
    for pid in session_of(coordinator):
        with contextlib.suppress(OSError):
            if pid != coordinator and os.getsid(pid) == pid:
                return pid
    return coordinator


def held_by(pid: int) -> dict[int, str]:
    """What a process has open, by the descriptor's number. It may close or open others meanwhile, or end."""
    held, folder = {}, f"/proc/{pid}/fd"
    with contextlib.suppress(OSError):
        for number in os.listdir(folder):
            with contextlib.suppress(OSError):
                held[int(number)] = os.readlink(f"{folder}/{number}")
    return held


def connections_of(pid: int) -> list[tuple[str, str]]:
    """The process's established TCP connections, each as its own address and the peer's."""
    text = subprocess.run(["ss", "-H", "-t", "-n", "-p", "state", "established"], capture_output=True, text=True,
                          check=True).stdout
    lines = [line.split() for line in text.splitlines() if f"pid={pid}," in line]
    return [(words[2], words[3]) for words in lines]


def agents_of(sshd: LocalSshd | FarSshd) -> list:
    """Living `rdcp --agent` processes beneath an sshd, the oldest first."""
    if isinstance(sshd, FarSshd):
        return sshd.agents()
    found = []
    for pid in sshd.descendants():
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if b"--agent" in words and os.path.basename(words[0]) == b"rdcp":
                found.append(pid)
    return sorted(found)


def remote_agents() -> list:
    return agents_of(shared_sshd())


def wait_for(condition, timeout: float = 10.0, interval: float = 0.005):
    """Polls until condition() is true and returns what it gave; None when the time is over. A condition that takes long, as
    one that starts a program on an emulated machine does, is looked at less often: what it waits for needs the processor too."""
    deadline = time.monotonic() + timeout
    while (begun := time.monotonic()) < deadline:
        if result := condition():
            return result
        time.sleep(max(interval, min(0.5, 4 * (time.monotonic() - begun))))
    return None


class CopyTest(unittest.TestCase):
    """Has a folder on disk (self.disk), one in memory (self.memory), both removed afterwards, and an sshd."""

    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        if not os.access(RDCP, os.X_OK):
            raise RuntimeError(f"no program at {RDCP}: build it, or set RDCP_BUILD_DIR")
        cls.sshd = shared_sshd()

    def setUp(self):
        self.disk = self._folder(SHARED_FOLDER or "/var/tmp")
        self.memory = self._folder(SHARED_FOLDER or (MEMORY if os.access(MEMORY, os.W_OK) else "/var/tmp"))
        self.source, self.target = self.disk / "source", self.memory / "target"
        self.source.mkdir()
        self.target.mkdir()

    def _folder(self, where) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="rdcp-test-", dir=where))
        # By rm, not rmtree: paths beyond PATH_MAX must be walked by descriptor.
        self.addCleanup(subprocess.run, ["rm", "-rf", folder], check=False)
        return folder

    # -- running ---------------------------------------------------------------------------------------------------

    def command(self, *words) -> list[str]:
        words = [os.fspath(word) for word in words]
        between_hosts = any(word.startswith(("dest:", "other:")) for word in words)  # else no transport is needed
        transport = ("--transport", TRANSPORT) if TRANSPORT and between_hosts and "--transport" not in words else ()
        given = OPTIONS if between_hosts else ()
        return [os.fspath(word)
                for word in (RDCP, "-F", self.sshd.config, "--rdcp-path", RDCP, *transport, *given, *words)]

    def start(self, *words, **options) -> Running:
        running = Running(self.command(*words), **{"cwd": self.disk, **options})
        self.addCleanup(_end, running)
        return running

    def rdcp(self, *words, timeout: float = 60, stdin: bytes | None = None, **options) -> Finished:
        if stdin is not None:
            options["stdin"] = subprocess.PIPE
        return self.start(*words, **options).finish(timeout, stdin)

    def copy(self, *words, **options) -> Finished:
        """A copy that must succeed."""
        done = self.rdcp(*words, **options)
        self.assertEqual(done.status, EXIT_OK, f"rdcp {' '.join(map(str, words))}: {done}")
        return done

    def fails(self, status: int, *words, says: tuple = (), **options) -> Finished:
        """A copy that must fail with this exit status, and whose stderr has each of these texts."""
        done = self.rdcp(*words, **options)
        self.assertEqual(done.status, status, f"rdcp {' '.join(map(str, words))}: {done}")
        for text in says:
            self.assertIn(text, done.err)
        return done

    def failing(self, call: str, path: str, error: int, after: int = 0, times: int = -1) -> dict:
        """The environment in which a system call on paths that end in `path` fails (fail_call.c); the log of it."""
        self.failed_calls = self.disk / f"failed-{call}"
        self.failed_calls.unlink(missing_ok=True)
        return {**os.environ, **preloaded("fail_call", RDCP_FAIL_CALL=call, RDCP_FAIL_PATH=path, RDCP_FAIL_ERRNO=error,
                                          RDCP_FAIL_AFTER=after, RDCP_FAIL_TIMES=times, RDCP_FAIL_LOG=self.failed_calls)}

    def far_rdcp(self, name: str, settings: dict) -> Path:
        """An rdcp for the far side that has these in its environment."""
        wrapper = self.disk / name
        words = " ".join(f"{setting}='{value}'" for setting, value in settings.items())
        wrapper.write_text(f"#!/bin/sh\n{words} exec {RDCP} \"$@\"\n")
        wrapper.chmod(0o755)
        return wrapper

    # -- files -----------------------------------------------------------------------------------------------------

    make_file = staticmethod(make_file)

    def key_with_a_passphrase(self, seconds: float = 0.5) -> tuple[dict[str, str], Path]:
        """The only one that this sshd, which must be no other test's, lets in (self.disk / "key"). Returns the environment
        in which ssh can ask for its passphrase, which takes so long, and the file with a line for each time it did: "asked", or "asked while it
        was asked" where another ssh is still waiting for its answer."""
        key, asked, answer = self.disk / "key", self.disk / "asked", self.disk / "answer"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "open sesame", "-f", key], check=True)
        asking = self.disk / "asking"
        answer.write_text(f"#!/bin/sh\nmkdir {asking} && echo asked >> {asked} || echo asked while it was asked >> {asked}\n"
                          f"sleep {seconds}\nrmdir {asking}\necho open sesame\n")
        answer.chmod(0o755)
        keys = self.sshd.folder / "authorized_keys"
        self.addCleanup(keys.write_text, keys.read_text())
        keys.write_text(key.with_suffix(".pub").read_text())
        return {**os.environ, "SSH_ASKPASS": str(answer), "SSH_ASKPASS_REQUIRE": "force"}, asked

    def assert_same_tree(self, wanted, found, ignore: tuple = ()):
        if SHARED_FOLDER:
            ignore = (*ignore, *LOST_IN_SHARED)
        lines = differences(snapshot(wanted), snapshot(found), ignore)
        self.assertFalse(lines, f"{found} differs from {wanted}:\n" + "\n".join(lines[:40]))

    def assert_same_file(self, wanted: Path, found: Path):
        self.assertEqual(found.stat().st_size, wanted.stat().st_size, found)
        self.assertEqual(subprocess.run(["cmp", wanted, found], capture_output=True, check=False).stdout, b"")

    def assert_no_litter(self, folder: Path, cut_short: bool = False):
        """cut_short: what the same command would go on with may be there, and nothing that --clean leaves."""
        litter = [path for path in folder.rglob("*") if ".rdcp-" in path.name]
        if cut_short and litter:
            self.assertTrue(all(LEFT_TO_RESUME.fullmatch(path.name) for path in litter), litter)
            # The kernel gives back the locks of a process a little after /proc has lost its name.
            self.assertTrue(wait_for(lambda: not self.in_use_after_cleaning(folder)), "something is still in use")
            litter = [path for path in folder.rglob("*") if ".rdcp-" in path.name]
        self.assertEqual(litter, [])

    def in_use_after_cleaning(self, folder: Path) -> bool:
        cleaned = subprocess.run([RDCP, "--clean", folder], capture_output=True, text=True, check=True)
        return "in use" in cleaned.stdout

    def assert_nothing_lives(self, running: Running, timeout: float = 3.0):
        """Nothing that this run started lives on, neither here nor beneath the sshd."""
        def left():
            return session_of(running.pid) + remote_agents()
        if not wait_for(lambda: not left(), timeout):
            self.fail("processes left:\n" + "\n".join(map(what_it_does, left())))


def _end(running: Running):
    running.kill()
    running.process.wait()
    for pipe in (running.process.stdout, running.process.stderr, running.process.stdin):
        if pipe:
            pipe.close()
