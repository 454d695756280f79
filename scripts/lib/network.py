"""Networks of a test's or a benchmark's own, on one machine. They are gone with the process that made them, however it ends,
and nothing outside sees their names and addresses, so that each may have the same ones. Only root makes them."""

import contextlib
import ctypes
import os
import shlex
import subprocess

CLONE_NEWNET = 0x40000000
NETWORK, NEAR, FAR = "10.231.77.0/24", "10.231.77.1", "10.231.77.2"
NEAR_DEVICE, FAR_DEVICE = "near", "far"


def _checked(status: int, what: str):
    if status:
        raise OSError(ctypes.get_errno(), what)


@contextlib.contextmanager
def own_network():
    """The calling thread, and what it starts, has a loopback device alone, until it is back in the network before. What is
    in /sys/class/net stays that of the network before."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/thread-self/ns/net") as before:
        _checked(libc.unshare(CLONE_NEWNET), "no network of one's own")
        try:
            subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
            yield
        finally:
            _checked(libc.setns(before.fileno(), CLONE_NEWNET), "no way back to the network before")


@contextlib.contextmanager
def held_namespaces(*options: str, first: str = "true", words: tuple[str, ...] = ()):
    """A network and whatever else unshare(1) is told by `options`, with the loopback device up. first: a shell command that
    runs in there, with `words` as $1 and on. Yields the process that keeps them: it ends when its standard input does,
    which is at the latest with this process."""
    script = f"{first} && ip link set lo up && echo ready && exec cat"
    holder = subprocess.Popen(["unshare", "--net", *options, "sh", "-c", script, "sh", *words],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with holder:  # closes both pipes, and waits
        if holder.stdout.readline() != b"ready\n":
            raise OSError("no namespaces here")
        yield holder


def entering(holder: subprocess.Popen) -> list[str]:
    """The command prefix that enters the network which it keeps."""
    return ["nsenter", f"--target={holder.pid}", "--net"]


def sides(inside: list[str]) -> tuple[tuple[list[str], str, str], ...]:
    """Of two networks that two devices join: the command prefix that enters each, its device and its address."""
    return ([], NEAR_DEVICE, NEAR), (inside, FAR_DEVICE, FAR)


@contextlib.contextmanager
def second_network():
    """own_network(), and behind a veth pair a second one. Yields its address and the command prefix that enters it."""
    with own_network(), held_namespaces() as holder:
        subprocess.run(["ip", "link", "add", NEAR_DEVICE, "type", "veth", "peer", "name", FAR_DEVICE, "netns", str(holder.pid)],
                       check=True)
        inside = entering(holder)
        for prefix, device, address in sides(inside):
            subprocess.run([*prefix, "ip", "address", "add", f"{address}/24", "dev", device], check=True)
            subprocess.run([*prefix, "ip", "link", "set", device, "up"], check=True)
        yield FAR, inside


def rate_limit(device: str, rate: str) -> list[str]:
    """The command by which what leaves the device has this rate, as "1gbit": tc's token bucket of 1 ms and a queue of 10 ms,
    as a switch would have."""
    return ["tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", rate, "burst", "1mb", "latency", "10ms"]


def slow_link(inside: list[str], rate: str):
    """The link of second_network() is as slow as `rate`, both ways, as long as it lives."""
    for prefix, device, _ in sides(inside):
        subprocess.run([*prefix, *rate_limit(device, rate)], check=True)


def set_firewall(inside: list[str], ssh_port: int, inward: tuple = (), outward: tuple = ()):
    """These rules of nft hold, and no others, for new connections to and from what is inside. ssh's port stays open."""
    text = "flush ruleset\ntable inet rdcp {\n"
    for hook, rules in (("input", inward), ("output", outward)):
        text += f" chain {hook} {{\n  type filter hook {hook} priority 0; policy accept;\n  ct state established accept\n"
        text += f"  tcp dport {ssh_port} accept\n  oif lo accept\n  iif lo accept\n"
        text += "".join(f"  {rule}\n" for rule in rules) + " }\n"
    subprocess.run([*inside, "nft", "-f", "-"], input=text + "}\n", text=True, check=True)


def device_bytes(device: str, inside: tuple[str, ...] | list[str] = ()) -> tuple[int, int]:
    """What the device has received and sent so far."""
    shown = subprocess.run([*inside, "cat", "/proc/thread-self/net/dev"], capture_output=True, text=True, check=True).stdout
    for line in shown.splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == device:
            counts = numbers.split()
            return int(counts[0]), int(counts[8])
    raise OSError(f"no network device {device}")


def why_no_network(*command: str) -> str:
    """Empty if networks of one's own are to be had, and this command does what it should in one."""
    if os.geteuid() != 0:
        return "only root makes network namespaces"
    try:
        with own_network():
            tried = subprocess.run(command, capture_output=True, text=True, check=False)
            return f"{shlex.join(command)}: {tried.stderr.strip()}" if tried.returncode else ""
    except OSError as error:
        return str(error)
