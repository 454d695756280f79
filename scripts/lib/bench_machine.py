"""The machine under a benchmark: warm memory, one congestion control for all, clocks and CPU."""

import contextlib
import os
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
CONGESTION = "net.ipv4.tcp_congestion_control"
_TICKS = os.sysconf("SC_CLK_TCK")


def available_gib() -> float:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) / (1 << 20)
    return 0.0


@contextlib.contextmanager
def warm_memory(sources: list[Path], room_gib: float):
    """Locks the sources into the page cache and warms room_gib of memory for the targets; see warm_memory.c."""
    with tempfile.TemporaryDirectory(prefix="rdcp-warm-") as folder:
        program = Path(folder) / "warm_memory"
        subprocess.run(["cc", "-O1", "-o", program, HERE / "warm_memory.c"], check=True)
        pool = min(room_gib, available_gib() * 0.8)
        with subprocess.Popen([program, f"{pool:.2f}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as warmer:
            warmer.stdin.write(b"".join(os.fsencode(path) + b"\n" for path in sources) + b"\n")
            warmer.stdin.flush()
            if warmer.stdout.readline() != b"ready\n":
                raise RuntimeError("the memory could not be warmed; --no-warm goes without")
            yield pool  # on the way out, Popen closes its standard input, and it ends


def files_in(root: Path) -> list[Path]:
    if root.is_file():
        return [root]
    return [Path(folder, name) for folder, _, names in os.walk(root) for name in names
            if not os.path.islink(os.path.join(folder, name))]


def _sysctl(inside: list[str], *words: str) -> str:
    return subprocess.run([*inside, "sysctl", "-n", *words], check=True, capture_output=True, text=True).stdout.strip()


@contextlib.contextmanager
def congestion_control(name: str | None, networks: list[list[str]]):
    """Sets TCP's congestion control in each network (a command prefix that enters it) and puts back what was there.
    Yields the name in force."""
    before = [_sysctl(inside, CONGESTION) for inside in networks]
    try:
        for inside in networks if name else []:
            _sysctl(inside, "-w", f"{CONGESTION}={name}")
        yield _sysctl(networks[0], CONGESTION)
    finally:
        for inside, old in zip(networks, before) if name else []:
            _sysctl(inside, "-w", f"{CONGESTION}={old}")


def reaped_cpu_seconds(pid: int) -> float:
    """CPU time of all ended descendants of a process that were waited for, all the way up to it."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / _TICKS  # cutime, cstime of proc(5), counted from the state


def wait_until(condition, timeout: float) -> bool:
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


def is_listening(port: int, inside: list[str]) -> bool:
    command = [*inside, "ss", "-H", "-l", "-t", "-n", f"sport = :{port}"]
    return bool(subprocess.run(command, capture_output=True, check=True).stdout)
