"""What the rows of bench --hosts share: a source, the hosts of a fleet that get it, and timed copies of it to them."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from fleet import Fleet
from trees import MIB, make_file, tree_size

SMALL_FILES = 5000


@dataclass
class Trial:
    """Use as a context manager, at whose end nothing runs that it started. One source, which is as large as this, and the hosts
    that get it; each has nothing when a copy begins."""
    fleet: Fleet
    source: Path
    size: int
    rdcp: list  # the command up to DST
    limit: float | None = None  # seconds, of one copy
    running: list[subprocess.Popen] = field(default_factory=list)

    def __enter__(self) -> "Trial":
        return self

    def __exit__(self, *_):
        self.end_all()

    def to(self, hosts: int) -> str:
        """DST at the first hosts."""
        return f"{'h1' if hosts == 1 else f'h[1-{hosts}]'}:{self.fleet.data}/copy"

    def start(self, command: list, **options) -> subprocess.Popen:
        process = subprocess.Popen([str(word) for word in command], start_new_session=True, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **options)
        self.running.append(process)
        return process

    def end_all(self):
        for process in self.running:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process.stderr.close()
        self.running.clear()

    def finish(self, status: int = 0):
        """Waits for all that was started. Raises RuntimeError if one fails or takes too long; then all are ended."""
        deadline = self.limit and time.monotonic() + self.limit
        try:
            for process in self.running:
                _, said = process.communicate(timeout=deadline and max(deadline - time.monotonic(), 0))
                if process.returncode != status:
                    raise RuntimeError(f"{process.args[0]} ended with {process.returncode}: {said[-500:]}")
        except subprocess.TimeoutExpired as error:
            raise RuntimeError(f"not over after {self.limit:.0f} s") from error
        finally:
            self.end_all()

    def timed(self, command: list, **options) -> float:
        begin = time.monotonic()
        self.start(command, **options)
        self.finish()
        return time.monotonic() - begin

    def copy_to(self, hosts: int) -> float:
        """The seconds that rdcp takes to the first hosts."""
        return self.timed([*self.rdcp, self.to(hosts)])

    def start_all(self) -> float:
        """The seconds that a copy of one byte takes to all hosts, which is little more than to start."""
        tiny = self.source.parent / "tiny"
        tiny.write_text("t")
        return self.timed([*self.rdcp[:-1], tiny, self.to(self.fleet.count)])

    def check(self, hosts: list):
        """That each of these has all bytes."""
        for host in hosts:
            if tree_size(host.own)[1] < self.size:
                raise RuntimeError(f"{host.name} lacks some of it")

    def clear(self):
        for host in self.fleet.hosts:
            for path in host.own.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def make_source(folder: Path, mib: int) -> Path:
    """A file of so many MiB; without any, a tree of small files."""
    source = folder / "source"
    if mib:
        make_file(source, mib * MIB)
        return source
    for number in range(SMALL_FILES):
        path = source / f"d{number % 50}" / f"f{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes([number % 256]) * (number % 8000))
    return source


@contextlib.contextmanager
def fresh_folder(options):
    folder = Path(tempfile.mkdtemp(prefix="rdcp-bench-", dir=options.tmpfs))
    try:
        folder.chmod(0o755)  # munge looks at it
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def fresh_fleet(folder: Path, hosts: int, rate: str = "", sshds: bool = True):
    place = folder / "fleet"
    place.mkdir()
    with Fleet(place, hosts, rate, None if sshds else 0, quick=False) as fleet:
        yield fleet
