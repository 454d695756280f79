"""What bench --hosts runs beside an undisturbed copy to all hosts: the same copy while a host dies, and other tools that bring
the same to the same hosts. scripts/setup has their Debian packages."""

import contextlib
import math
import os
import shlex
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass

from bench_hosts_bed import Trial
from bench_machine import is_listening, wait_until
from fleet import BRIDGE
from slurm import Slurm, why_no_slurm

PORT = 7000
GATEWAYS = 2  # of clush's tree
DYING = 4  # the host that dies
SOME_FAILED = 1  # rdcp's exit status


@dataclass(frozen=True)
class Peer:
    """prepare: a context that gives a function, which makes one copy and returns its seconds. wanted: how many times as long as
    an undisturbed copy by rdcp it must take at least, or, where it is rdcp itself, at most."""
    name: str
    prepare: Callable
    wanted: float
    needs: tuple[str, ...] = ()  # programs
    trees: bool = True  # it copies them, too
    is_rdcp: bool = False
    lost: int = 0  # the number of a host that is to have nothing in the end; 0: none
    holds: int = 0  # MiB, the most that it is given, because it holds all of it in memory, several times; 0: it does not
    waits: bool = False  # on all hosts before its clock starts, so rdcp's start does not count either

    def why_not(self, mib: int) -> str:
        """Empty if all that it needs is installed, and so much is not too much for it."""
        if missing := [program for program in self.needs if shutil.which(program) is None]:
            return f"no {', '.join(missing)} here"
        if 0 < self.holds < mib:
            return "it holds all in memory, several times"
        return why_no_slurm() if self.prepare is sbcast else ""


@contextlib.contextmanager
def dying(trial: Trial):
    """Kills the agent of one host when that host has half of it; the time is until rdcp ends, when all others have all."""
    host = trial.fleet[DYING]

    def copy() -> float:
        before, begin = host.received_bytes(), time.monotonic()
        running = trial.start([*trial.rdcp, trial.to(trial.fleet.count)])
        wait_until(lambda: host.received_bytes() - before > trial.size / 2 or running.poll() is not None,
                   trial.limit or math.inf)
        for pid in host.agents():
            os.kill(pid, signal.SIGKILL)
        trial.finish(SOME_FAILED)
        return time.monotonic() - begin

    yield copy


@contextlib.contextmanager
def scp(trial: Trial):
    def copy() -> float:
        begin = time.monotonic()
        for host in trial.fleet.hosts:
            trial.start(["scp", "-q", "-r", "-F", trial.fleet.config, trial.source, f"{host.name}:{trial.fleet.data}/copy"])
        trial.finish()
        return time.monotonic() - begin

    yield copy


def clush(trial: Trial, *options: str) -> list:
    return ["clush", "-S", "-q", "-w", f"h[1-{trial.fleet.count}]", "-o", f"-F {trial.fleet.config}", *options,
            "--copy", trial.source, "--dest", f"{trial.fleet.data}/"]


@contextlib.contextmanager
def flat_clush(trial: Trial):
    yield lambda: trial.timed(clush(trial))


@contextlib.contextmanager
def clush_tree(trial: Trial):
    """The first hosts pass on to the others."""
    topology = trial.fleet.folder / "topology.conf"
    gateways, others = f"h[1-{GATEWAYS}]", f"h[{GATEWAYS + 1}-{trial.fleet.count}]"
    topology.write_text(f"[routes]\n{socket.gethostname().partition('.')[0]}: {gateways}\n{gateways}: {others}\n")
    yield lambda: trial.timed(clush(trial, f"--topology={topology}"))


@contextlib.contextmanager
def sbcast(trial: Trial):
    """In a job of a real Slurm whose nodes the hosts are."""
    folder = trial.fleet.folder / "slurm"
    folder.mkdir()
    try:
        with Slurm(folder, trial.fleet) as slurm, slurm.job() as env:
            yield lambda: trial.timed(["sbcast", "--force", trial.source, trial.fleet.data / "copy"], env=env)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def unpack(trial: Trial) -> str:
    return shlex.join(["tar", "-x", "-f", "-", "-C", str(trial.fleet.data)])


def pack(trial: Trial) -> str:
    return shlex.join(["tar", "-c", "-f", "-", "-C", str(trial.source.parent), trial.source.name])


def bash(command: str) -> list[str]:
    return ["bash", "-o", "pipefail", "-c", command]


@contextlib.contextmanager
def udpcast(trial: Trial):
    """A tar archive to all at once by multicast. The clock starts when all receivers wait."""
    port = f"--portbase {PORT}"  # and the next one

    def waits(host) -> bool:
        shown = subprocess.run([*host.inside, "ss", "-H", "-l", "-u", "-n", f"sport = :{PORT}"], capture_output=True, check=True)
        return bool(shown.stdout)

    def copy() -> float:
        for host in trial.fleet.hosts:
            trial.start([*host.inside, *bash(f"udp-receiver --nokbd --no-progress {port} | {unpack(trial)}")])
        if not all(wait_until(lambda host=host: waits(host), 10) for host in trial.fleet.hosts):
            raise RuntimeError("udp-receiver does not start")
        begin = time.monotonic()
        trial.start(bash(f"{pack(trial)} | udp-sender --nokbd --no-progress {port} --interface {BRIDGE} "
                         f"--min-receivers {trial.fleet.count}"))
        trial.finish()
        return time.monotonic() - begin

    yield copy


@contextlib.contextmanager
def nc_chain(trial: Trial):
    """A tar archive from host to host. The clock starts when all of them listen."""
    hosts = trial.fleet.hosts

    def listen(host, following):
        onward = f"tee >(exec nc -N {following.address} {PORT}) | " if following else ""
        trial.start([*host.inside, *bash(f"nc -l {host.address} {PORT} | {onward}{unpack(trial)}")])
        if not wait_until(lambda: is_listening(PORT, host.inside), 10):
            raise RuntimeError("nc does not listen")

    def copy() -> float:
        for host, following in reversed(list(zip(hosts, [*hosts[1:], None]))):  # each connects to the next one at once
            listen(host, following)
        begin = time.monotonic()
        trial.start(bash(f"{pack(trial)} | nc -N {hosts[0].address} {PORT}"))
        trial.finish()
        return time.monotonic() - begin

    yield copy


DEATH = Peer(f"host {DYING} dies in the middle", dying, 1.3, is_rdcp=True, lost=DYING)
PEERS = (Peer("scp at once", scp, 4.0, ("scp",)),
         Peer("clush --copy", flat_clush, 1.0, ("clush",)),
         Peer("clush --copy, as a tree", clush_tree, 1.0, ("clush",), holds=128),
         Peer("sbcast", sbcast, 4.0, ("sbcast",), trees=False),
         Peer("udpcast", udpcast, 1.0, ("udp-sender", "udp-receiver"), waits=True),
         Peer("tar | tee | nc, a chain", nc_chain, 1.0, ("nc",), waits=True))
