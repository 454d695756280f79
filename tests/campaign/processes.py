"""Runs the processes of a point, and knows when all of them are gone, orphans too."""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    """What loses its parent becomes a child of this process, so that waiting for children waits for all."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def start(command: list, environment: dict, folder: Path, name: str, stdin=subprocess.DEVNULL) -> subprocess.Popen:
    """Its output goes to NAME.out and NAME.err in this folder, since a pipe would stay open in what lives on."""
    with open(folder / f"{name}.out", "wb") as out, open(folder / f"{name}.err", "wb") as err:
        return subprocess.Popen(command, env=environment, cwd=folder, stdin=stdin, stdout=out, stderr=err,
                                start_new_session=True)


def wait_for_end(process: subprocess.Popen, seconds: float, now_and_then=None) -> bool:
    """False: it still runs. now_and_then is called every few milliseconds."""
    if process.poll() is not None:
        return True
    end = time.monotonic() + seconds
    fd = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        while (left := end - time.monotonic()) > 0:
            if poll.poll(1000 * left if now_and_then is None else 10):
                process.wait()
                return True
            if now_and_then is not None:
                now_and_then()
        return False
    finally:
        os.close(fd)


def await_all(seconds: float, now_and_then=None) -> list[str]:
    """Reaps all children of this process. What is left after this time is ended, and named. now_and_then is called
    every few milliseconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not reap():
            return []
        if now_and_then is not None:
            now_and_then()
        time.sleep(0.002)
    left = [f"process {pid} ({words}) lives on" for pid, words in children()]
    while reap():
        for pid, _ in children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)  # a child of ours, so its number is not another's
        time.sleep(0.002)
    return left


def reap() -> bool:
    """True while there are children."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        return False
    return True


def children() -> list[tuple[int, str]]:
    """Of this process; their own become ours when they end."""
    return children_of(os.getpid())


def children_of(parent: int) -> list[tuple[int, str]]:
    """Those that live, with their command lines."""
    found = []
    with contextlib.suppress(OSError):  # the parent has ended meanwhile
        for task in os.listdir(f"/proc/{parent}/task"):
            with contextlib.suppress(OSError):
                for pid in Path(f"/proc/{parent}/task/{task}/children").read_text().split():
                    words = command_line(int(pid))
                    found += [(int(pid), words)] if words else []
    return found


def command_line(pid: int) -> str:
    """Empty: it has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return ""
