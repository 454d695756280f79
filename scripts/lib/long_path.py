"""A long path: a network namespace behind two devices that a program joins, which holds each packet for a while, and loses
some."""

import contextlib
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from network import FAR, FAR_DEVICE, NEAR_DEVICE, NETWORK, entering, held_namespaces, own_network, sides

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


@contextlib.contextmanager
def started(program: Path, path: Way):
    """Yields the program that has made and joined both devices in the network of the calling thread."""
    words = [str(program), NEAR_DEVICE, FAR_DEVICE, str(path.delay_ms), str(path.loss), str(path.mbit)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        if process.stdout.readline() != b"ready\n":
            raise RuntimeError(f"there is no long path: {process.communicate()[1].decode(errors='replace')}")
        yield process  # on the way out, Popen closes its standard input, and it ends


@contextlib.contextmanager
def far_host(*route: str):
    """A namespace with the far one of two devices that exist in own_network(). route: what ip-route(8) is to add to the ways
    there and back. Yields the address of the far end and the command prefix that enters the namespace."""
    with held_namespaces() as holder:
        inside = entering(holder)
        subprocess.run(["ip", "link", "set", FAR_DEVICE, "netns", str(holder.pid)], check=True)
        for prefix, device, address in sides(inside):
            for words in (("address", "add", f"{address}/24", "dev", device),
                          ("link", "set", device, "txqueuelen", str(QUEUE), "up"),
                          ("route", "change", NETWORK, "dev", device, "src", address, *route)):
                subprocess.run([*prefix, "ip", *words], check=True)
        yield FAR, inside


@contextlib.contextmanager
def long_path(program: Path, path: Way):
    """Yields the LongPath."""
    with own_network(), started(program, path) as process, far_host("congctl", path.congestion) as (far, inside):
        yield LongPath(far, inside, process)
