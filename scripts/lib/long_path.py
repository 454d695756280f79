"""A long path: a network namespace behind two devices that a program joins, which holds each packet for a while, and loses some."""

import contextlib
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

NEAR, FAR, NETWORK = "10.232.1.1", "10.232.1.2", "10.232.1.0/24"
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
def long_path(program: Path, path: Way):
    """Yields the LongPath."""
    name, near, far = f"rdcp-long-{os.getpid()}", f"rdcpln{os.getpid() % 10**6}", f"rdcplf{os.getpid() % 10**6}"
    inside = ["nsenter", f"--net=/run/netns/{name}"]  # "ip netns exec" wants / to be a mount point

    def run(*words: str):
        subprocess.run(words, check=True)

    run("ip", "netns", "add", name)
    try:
        words = [str(program), near, far, str(path.delay_ms), str(path.loss), str(path.mbit)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            if process.stdout.readline() != b"ready\n":
                raise RuntimeError("there is no long path: its devices cannot be made")
            run("ip", "link", "set", far, "netns", name)
            for prefix, device, address in ([], near, NEAR), (inside, far, FAR):
                run(*prefix, "ip", "address", "add", f"{address}/24", "dev", device)
                run(*prefix, "ip", "link", "set", device, "txqueuelen", str(QUEUE), "up")
                run(*prefix, "ip", "route", "change", NETWORK, "dev", device, "src", address, "congctl", path.congestion)
            run(*inside, "ip", "link", "set", "lo", "up")
            yield LongPath(FAR, inside, process)  # on the way out, Popen closes its standard input, and it ends
    finally:
        run("ip", "netns", "delete", name)
