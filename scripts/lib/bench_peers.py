"""The tools of the benchmark: how each one copies, and one timed run of one of them."""

import os
import shlex
import socket
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path

from bench_machine import is_listening, reaped_cpu_seconds, wait_until
from sshd import LocalSshd
from trees import tree_size

CIPHER = "Ciphers=aes128-gcm@openssh.com"  # the fastest that ssh has; rdcp's ssh carries no data, so it has no part in it
TIMEOUT = 900


@dataclass
class Job:
    """One copy: source (a file or a directory) into the fresh, empty directory target, which the host `dest` has."""
    source: Path
    target: Path
    ssh: LocalSshd
    rdcp: Path
    kind: str  # where it goes: "tmpfs", "disk"; a stream also "null" or "command"
    rdcp_options: list[str]

    @property
    def to_disk(self) -> bool:
        return self.kind == "disk"


@dataclass
class Sample:
    seconds: float
    cpu_seconds: float
    note: str = ""  # the tool's last words


@dataclass
class Plan:
    """Shell commands. A receiver is started beforehand, off the clock, and listens on the port when the clock starts."""
    command: str
    receiver: str = ""
    port: int = 0


def _quote(*words) -> str:
    return shlex.join(map(os.fspath, words))


def _ssh(job: Job) -> str:
    return job.ssh.ssh_text("-o", CIPHER)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def _rdcp(job: Job) -> Plan:
    return Plan(_quote(job.rdcp, "-r", "-v", "-F", job.ssh.config, "--rdcp-path", job.rdcp, *job.rdcp_options,
                       job.source, f"dest:{job.target}"))


def _rdcp_encrypted(job: Job) -> Plan:
    return _rdcp(replace(job, rdcp_options=[*job.rdcp_options, "--encrypt"]))


def _scp(job: Job) -> Plan:
    return Plan(_quote("scp", "-q", "-r", "-F", job.ssh.config, "-o", CIPHER, job.source, f"dest:{job.target}"))


def _rsync(job: Job) -> Plan:
    return Plan(_quote("rsync", "-a", "-e", _ssh(job), job.source, f"dest:{job.target}/"))


def _tar_ssh(job: Job) -> Plan:
    unpack = _quote("tar", "-x", "-f", "-", "-C", job.target)
    return Plan(f"{_tar(job)} | {_ssh(job)} dest {_quote(unpack)}")


def _tar_nc(job: Job) -> Plan:
    port = free_port()
    return Plan(f"{_tar(job)} | nc -N {job.ssh.address} {port}",
                f"nc -l {job.ssh.address} {port} | {_quote('tar', '-x', '-f', '-', '-C', job.target)}", port)


def _tar(job: Job) -> str:
    return _quote("tar", "-c", "-f", "-", "-C", job.source.parent, job.source.name)


def _cp(job: Job) -> Plan:
    return Plan(_quote("cp", "-a", job.source, job.target))


def _socat(job: Job) -> Plan:
    port = free_port()
    return Plan(f"socat -u -b 1048576 OPEN:{job.source} TCP:{job.ssh.address}:{port}",
                f"socat -u -b 1048576 TCP-LISTEN:{port},bind={job.ssh.address} "
                f"OPEN:{job.target / job.source.name},creat,wronly", port)


def kernel_floor(rdcp: Path) -> Path:
    """The program that makes the system calls of a job and does nothing besides; built beside rdcp."""
    return rdcp.resolve().parent / "tests" / "kernel_floor"


def _floor(job: Job) -> Plan:
    what = "stream" if job.source.is_file() else "copy"
    return Plan(_quote(kernel_floor(job.rdcp), what, job.source, job.target / job.source.name))


def _ssh_true(job: Job) -> Plan:
    return Plan(f"{_ssh(job)} dest true")


SSH_TRUE = "ssh true"
FLOOR = "floor"
PEERS = {"rdcp": _rdcp, "rdcp --encrypt": _rdcp_encrypted, "scp": _scp, "rsync": _rsync, "tar+ssh": _tar_ssh,
         "tar+nc": _tar_nc, "cp": _cp, "socat": _socat, SSH_TRUE: _ssh_true, FLOOR: _floor}


def _start(command: str, inside: list[str], output: int) -> subprocess.Popen:
    return subprocess.Popen([*inside, "bash", "-o", "pipefail", "-c", command], stdin=subprocess.DEVNULL,
                            stdout=output, stderr=output)


def _reap(process: subprocess.Popen) -> float:
    """Waits for a process; its CPU seconds and those of all that it waited for. Pipelines are short-lived shells, so
    nothing is left out."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def check(peer: str, job: Job, words: str):
    if peer != SSH_TRUE and tree_size(job.target)[1] < tree_size(job.source)[1]:
        raise RuntimeError(f"{peer} left bytes out: {words[-500:]}")


def run_once(peer: str, job: Job, peers: dict = PEERS, check_bytes=check) -> Sample:
    """Runs a peer once. Raises RuntimeError when it fails or leaves bytes out."""
    plan = peers[peer](job)
    log = job.target.with_suffix(".log")
    sshd = job.ssh.pid
    cpu_before = reaped_cpu_seconds(sshd)
    with open(log, "wb") as output:
        receiver = _start(plan.receiver, job.ssh.inside, output) if plan.receiver else None
        if receiver and not wait_until(lambda: is_listening(plan.port, job.ssh.inside), 10):
            raise RuntimeError(f"{peer}: the receiver does not listen")
        started = time.monotonic()
        sender = _start(plan.command, [], output)
        cpu = _reap(sender)
        if receiver:
            cpu += _reap(receiver)
        if job.to_disk and peer != SSH_TRUE:
            cpu += _reap(subprocess.Popen(["sync", "-f", job.target]))
        seconds = time.monotonic() - started
    wait_until(lambda: not job.ssh.descendants(), 5)  # the session's CPU time counts once sshd has waited for it
    cpu += reaped_cpu_seconds(sshd) - cpu_before

    words = log.read_text(errors="replace").strip()
    log.unlink()
    if sender.returncode or (receiver and receiver.returncode):
        raise RuntimeError(f"{peer} failed: {words[-500:]}")
    check_bytes(peer, job, words)
    return Sample(seconds, cpu, words)
