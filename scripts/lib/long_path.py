"""A long path: a network namespace behind two devices that a program joins, which holds each packet for a while, and loses some."""

import contextlib
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

NETWORKS = range(1, 250)  # 10.232.N.0; each long path on this machine has one
# The kernel keeps so many packets for the program; a burst of a window must not be lost there.
QUEUE = 20_000


@dataclass
class Way:
    delay_ms: float  # each way
    loss: float = 0.0  # the share of packets
    mbit: float = 0.0  # 0: as fast as it goes
    congestion: str = "cubic"  # of both ends, whatever the machine has


@dataclass
class LongPath:
    address: str  # of the far end
    inside: list[str]  # the command prefix that enters its namespace
    program: subprocess.Popen

    def lose(self, share: float):
        """From now on this share of the packets is lost; 1.0 is a cable that is pulled out."""
        self.program.stdin.write(f"{share}\n".encode())
        self.program.stdin.flush()


def why_no_long_path() -> str:
    """Says what is missing here; "" if nothing is."""
    if os.geteuid() != 0:
        return "needs root: a long path is a network namespace with devices of its own"
    try:
        os.close(os.open("/dev/net/tun", os.O_RDWR))
    except OSError as error:
        return f"no long path: {error}"
    return ""


def device_names(network: int) -> tuple[str, str]:
    """Of the near and the far device."""
    return f"rdcpln{network}", f"rdcplf{network}"


def start_program(program: Path, path: Way) -> tuple[int, subprocess.Popen]:
    """Two paths never have the same network, because two devices never have the same name."""
    for network in NETWORKS:
        words = [str(program), *device_names(network), str(path.delay_ms), str(path.loss), str(path.mbit)]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if process.stdout.readline() == b"ready\n":
            return network, process
        said = process.communicate()[1].decode(errors="replace")
        if "busy" not in said:
            raise RuntimeError(f"there is no long path: {said}")
    raise RuntimeError("there is no network for another long path")


@contextlib.contextmanager
def far_host(network: int, *route: str):
    """A namespace with the far one of two devices that exist. route: what ip-route(8) is to add to the ways there and back.
    Yields the address of the far end and the command prefix that enters the namespace."""
    name, (near_device, far_device) = f"rdcp-long-{os.getpid()}", device_names(network)
    near, far = (f"10.232.{network}.{end}" for end in (1, 2))
    inside = ["nsenter", f"--net=/run/netns/{name}"]  # "ip netns exec" wants / to be a mount point

    def run(*words: str):
        subprocess.run(words, check=True)

    run("ip", "netns", "add", name)
    try:
        run("ip", "link", "set", far_device, "netns", name)
        for prefix, device, address in ([], near_device, near), (inside, far_device, far):
            run(*prefix, "ip", "address", "add", f"{address}/24", "dev", device)
            run(*prefix, "ip", "link", "set", device, "txqueuelen", str(QUEUE), "up")
            run(*prefix, "ip", "route", "change", f"10.232.{network}.0/24", "dev", device, "src", address, *route)
        run(*inside, "ip", "link", "set", "lo", "up")
        yield far, inside
    finally:
        run("ip", "netns", "delete", name)


@contextlib.contextmanager
def long_path(program: Path, path: Way):
    """Yields the LongPath."""
    network, process = start_program(program, path)
    with process, far_host(network, "congctl", path.congestion) as (far, inside):
        yield LongPath(far, inside, process)  # on the way out, Popen closes its standard input, and it ends
