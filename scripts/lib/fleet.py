"""Several hosts on one machine: network and mount namespaces on a bridge, each with an address, a link of its own and a folder
that the others do not see, for the tests and the benchmark of copies to many hosts."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from network import FAR_DEVICE, device_bytes, held_namespaces, own_network, rate_limit, why_no_network
from sshd import SSHD_CONFIG, account_is_locked, make_key, ssh_config
from stage import why_no_mounts

PREFIX = "10.231.80"  # of all addresses
NEAR = f"{PREFIX}.254"
BRIDGE = "bridge"  # by which this host reaches them; in a network of the fleet's own
SSH_PORT = 2222


def run(*words: str):
    subprocess.run(words, check=True)


@dataclass
class Host:
    name: str
    address: str
    link: str  # the bridge's end of its link
    holder: subprocess.Popen  # keeps the namespaces
    own: Path  # what it sees as the fleet's `data`

    @property
    def inside(self) -> list[str]:
        """The command prefix that enters it."""
        return ["nsenter", f"--target={self.holder.pid}", "--net", "--mount", "--root", "--", "env", "-C", "/"]

    def processes(self) -> list[int]:
        """All that runs in it, but what keeps it."""
        network = os.readlink(f"/proc/{self.holder.pid}/ns/net")
        found = []
        for entry in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                if entry.isdigit() and int(entry) != self.holder.pid and os.readlink(f"/proc/{entry}/ns/net") == network:
                    found.append(int(entry))
        return found

    def agents(self) -> list[int]:
        """The agents of rdcp in it."""
        found = []
        for pid in self.processes():
            with contextlib.suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                if words[0].endswith(b"rdcp") and b"--agent" in words:
                    found.append(pid)
        return found

    def received_bytes(self) -> int:
        """What its link has brought it so far; sent_bytes: what has left it."""
        return device_bytes(self.link)[1]  # the bridge's end sends what this one receives

    def sent_bytes(self) -> int:
        return device_bytes(self.link)[0]

    def limit(self, rate: str):
        """Its link carries so much, both ways, as "1gbit"; empty: what the machine can."""
        for prefix, device in (([], self.link), (self.inside, FAR_DEVICE)):
            subprocess.run([*prefix, "tc", "qdisc", "delete", "dev", device, "root"], check=False, stderr=subprocess.DEVNULL)
            if rate:
                run(*prefix, *rate_limit(device, rate))

    def cut(self):
        """Its network is gone, all of it."""
        run("ip", "link", "set", self.link, "down")

    def join(self):
        run("ip", "link", "set", self.link, "up")


class Fleet:
    """Use as a context manager. `folder`: empty, the caller's to remove. `rate`: of each link, this host's
    too, both ways, as "1gbit". `quick`: as that of LocalSshd."""

    def __init__(self, folder: Path, count: int, rate: str = "", sshds: int | None = None, quick: bool = True):
        self.folder = Path(folder)
        self.count = count
        self.rate = rate
        self.quick = quick
        self.sshds = count if sshds is None else sshds
        self.data = self.folder / "data"
        self.config = self.folder / "ssh_config"
        self.hosts: list[Host] = []

    def __enter__(self) -> "Fleet":
        self.data.mkdir()
        with contextlib.ExitStack() as stack:
            stack.enter_context(own_network())
            run("ip", "link", "add", BRIDGE, "type", "bridge")
            run("ip", "address", "add", f"{NEAR}/24", "broadcast", "+", "dev", BRIDGE)
            run("ip", "link", "set", BRIDGE, "up")
            if self.rate:
                run(*rate_limit(BRIDGE, self.rate))  # this host's own link
            for number in range(1, self.count + 1):
                self.hosts.append(self._add(number, stack))
            if self.sshds:
                self._start_sshds(stack)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def __getitem__(self, number: int) -> Host:
        """h1 is the first."""
        return self.hosts[number - 1]

    def _add(self, number: int, stack: contextlib.ExitStack) -> Host:
        name = f"h{number}"
        own = self.folder / name
        own.mkdir()
        holder = stack.enter_context(held_namespaces(
            "--mount", "--propagation", "private", first='mount --bind "$1" "$2"', words=(str(own), str(self.data))))
        stack.callback(_end_all_in, holder)
        host = Host(name, f"{PREFIX}.{number}", name, holder, own)
        run("ip", "link", "add", host.link, "type", "veth", "peer", "name", FAR_DEVICE, "netns", str(holder.pid))
        run("ip", "link", "set", host.link, "master", BRIDGE, "up")
        run(*host.inside, "ip", "address", "add", f"{host.address}/24", "broadcast", "+", "dev", FAR_DEVICE)
        run(*host.inside, "ip", "link", "set", FAR_DEVICE, "up")
        if self.rate:
            host.limit(self.rate)
        return host

    def _start_sshds(self, stack: contextlib.ExitStack):
        keys = self.folder / "keys"
        keys.mkdir()
        host_key = make_key(keys / "host_key")
        (keys / "authorized_keys").write_text(make_key(keys / "client_key"))
        (keys / "known_hosts").write_text(f"rdcp {host_key}")
        words = {"port": SSH_PORT, "folder": keys, "user": "root"}
        use_pam = "yes" if account_is_locked("root") else "no"
        (keys / "sshd_config").write_text(SSHD_CONFIG.format(**words, listen="", use_pam=use_pam))
        self.config.write_text("".join(ssh_config(self.quick, **words, aliases=host.name, address=host.address)
                                       for host in self.hosts))
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        sshd = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin")
        started = self.hosts[:self.sshds]
        for host in started:
            log = stack.enter_context(open(keys / f"{host.name}.log", "wb"))
            process = subprocess.Popen([*host.inside, sshd, "-D", "-e", "-f", str(keys / "sshd_config")],
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            stack.callback(process.wait)
            stack.callback(process.kill)
        for host in started:
            _wait_for_sshd(host.address)

    def sent_bytes(self) -> int:
        """What has left this host for the others so far."""
        return device_bytes(BRIDGE)[1]

    def ssh_text(self) -> str:
        """For rdcp's -e."""
        return f"ssh -F {self.config}"

    def enter_script(self) -> Path:
        """For rdcp's -e where there is no sshd: "HOST COMMAND..." runs the command in the host."""
        script = self.folder / "enter"
        cases = "".join(f"{host.name}) set -- {host.holder.pid} \"$@\";;\n" for host in self.hosts)
        script.write_text('#!/bin/sh\nhost=$1; shift\ncase $host in\n' + cases + '*) echo "no host $host" >&2; exit 255;;\nesac\n'
                          'pid=$1; shift\nexec nsenter --target="$pid" --net --mount --root -- env -C / sh -c "$*"\n')
        script.chmod(0o755)
        return script


def _wait_for_sshd(address: str):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection((address, SSH_PORT), timeout=1) as peer:
            if peer.recv(4) == b"SSH-":
                return
        time.sleep(0.02)
    raise RuntimeError(f"sshd at {address} does not start")


def _end_all_in(holder: subprocess.Popen):
    """Everything that runs in its network, and it itself, is killed."""
    network = None  # of one that has ended already
    with contextlib.suppress(OSError):
        network = os.readlink(f"/proc/{holder.pid}/ns/net")
    for entry in os.listdir("/proc") if network else ():
        with contextlib.suppress(OSError):
            if entry.isdigit() and os.readlink(f"/proc/{entry}/ns/net") == network:
                os.kill(int(entry), signal.SIGKILL)


def why_no_fleet() -> str:
    """Empty if namespaces and bridges are to be had."""
    return why_no_network("ip", "link", "add", BRIDGE, "type", "bridge") or why_no_mounts()
