"""The machine under a benchmark: warm memory, one congestion control for all, a second network, clocks and CPU."""

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


@contextlib.contextmanager
def second_network():
    """A network namespace behind a veth pair. Yields its address and the command prefix that enters it."""
    name, near, far = f"rdcp-bench-{os.getpid()}", f"rdcpn{os.getpid() % 10**6}", f"rdcpf{os.getpid() % 10**6}"
    near_address, far_address = "10.231.77.1/24", "10.231.77.2/24"
    inside = ["nsenter", f"--net=/run/netns/{name}"]  # "ip netns exec" wants / to be a mount point

    def run(*words: str):
        subprocess.run(words, check=True)

    run("ip", "netns", "add", name)
    try:
        run("ip", "link", "add", near, "type", "veth", "peer", "name", far, "netns", name)
        run("ip", "address", "add", near_address, "dev", near)
        run("ip", "link", "set", near, "up")
        run(*inside, "ip", "address", "add", far_address, "dev", far)
        run(*inside, "ip", "link", "set", far, "up")
        run(*inside, "ip", "link", "set", "lo", "up")
        yield far_address.split("/")[0], inside
    finally:
        # Would go with the namespace, but some time later: the next one could not have its name.
        subprocess.run(["ip", "link", "delete", near], check=False)
        run("ip", "netns", "delete", name)


def set_firewall(inside: list[str], ssh_port: int, inward: tuple = (), outward: tuple = ()):
    """These rules of nft hold, and no others, for new connections to and from what is inside. ssh's port stays open."""
    text = "flush ruleset\ntable inet rdcp {\n"
    for hook, rules in (("input", inward), ("output", outward)):
        text += f" chain {hook} {{\n  type filter hook {hook} priority 0; policy accept;\n  ct state established accept\n"
        text += f"  tcp dport {ssh_port} accept\n  oif lo accept\n  iif lo accept\n"
        text += "".join(f"  {rule}\n" for rule in rules) + " }\n"
    subprocess.run([*inside, "nft", "-f", "-"], input=text + "}\n", text=True, check=True)


@contextlib.contextmanager
def slow_link(inside: list[str], rate: str):
    """The link of second_network(), both ways, as slow as `rate` ("1gbit"), by tc's token bucket."""
    near = next(name for name in os.listdir("/sys/class/net") if name == f"rdcpn{os.getpid() % 10**6}")
    far = f"rdcpf{os.getpid() % 10**6}"
    for prefix, name in (([], near), (inside, far)):
        # A bucket of 1 ms and a queue of 10 ms, as a switch would have.
        subprocess.run([*prefix, "tc", "qdisc", "add", "dev", name, "root", "tbf", "rate", rate, "burst", "1mb",
                        "latency", "10ms"], check=True)
    yield
    # They go with the devices.


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
