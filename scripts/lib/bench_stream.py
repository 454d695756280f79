"""The benchmark's stream workload: one big file out of a redirect (`< file`), through each tool, to /dev/null, into a
command, or into a file on the disk. rdrecv, nc and socat listen when the clock starts; ssh has to log in first."""

import os
import subprocess
from pathlib import Path

from bench_peers import CIPHER, FLOOR, Job, Plan, free_port, kernel_floor

KEY_FILE = "stream_key"
TARGETS = ("null", "command", "disk")
# Counts what it reads, so that nothing can be left out, and does next to nothing with it.
COMMAND = "dd bs=1M iflag=fullblock of=/dev/null"


def make_key(folder: Path) -> Path:
    key = folder / KEY_FILE
    key.touch(mode=0o600)
    key.write_text(os.urandom(24).hex() + "\n")
    return key


def _output(job: Job) -> str:
    """What stands behind a receiver that writes to its standard output."""
    if job.kind == "command":
        return f"| {COMMAND}"
    return f"> {job.target / job.source.name}" if job.kind == "disk" else "> /dev/null"


def _rdsend(job: Job) -> Plan:
    port = free_port()
    folder = job.rdcp.resolve().parent
    options = " ".join(["--key-file", str(job.ssh.folder / KEY_FILE), *job.rdcp_options])
    # As a FILE, which is what it is for: written in parallel, and under its name only when it is whole.
    output = job.target / job.source.name if job.kind == "disk" else _output(job)
    return Plan(f"{folder}/rdsend -v {options} {job.ssh.address} {port} < {job.source}",
                f"{folder}/rdrecv {options} {port} {output}", port)


def _nc(job: Job) -> Plan:
    port = free_port()
    return Plan(f"nc -N {job.ssh.address} {port} < {job.source}",
                f"nc -l {job.ssh.address} {port} {_output(job)}", port)


def _socat(job: Job) -> Plan:
    port = free_port()
    return Plan(f"socat -u -b 1048576 - TCP:{job.ssh.address}:{port} < {job.source}",
                f"socat -u -b 1048576 TCP-LISTEN:{port},bind={job.ssh.address} - {_output(job)}", port)


def _ssh(job: Job) -> Plan:
    if job.kind == "disk":
        there = f"cat > {job.target / job.source.name}"
    else:
        there = COMMAND if job.kind == "command" else "cat > /dev/null"
    return Plan(f"cat {job.source} | {job.ssh.ssh_text('-o', CIPHER)} dest '{there}'")


def _ssh_plainly(job: Job) -> Plan:
    """With the cipher that ssh takes by itself."""
    plan = _ssh(job)
    plan.command = plan.command.replace(f"-o {CIPHER} ", "")
    return plan


def _floor(job: Job) -> Plan:
    return Plan(f"{kernel_floor(job.rdcp)} stream {job.source}" + (f" - {_output(job)}" if job.kind == "command" else ""))


STREAM_PEERS = {"rdsend": _rdsend, "nc": _nc, "socat": _socat, "ssh": _ssh_plainly, "ssh aes128-gcm": _ssh, FLOOR: _floor}


def check(peer: str, job: Job, words: str):
    """Raises RuntimeError where bytes are missing; what goes to /dev/null is the tool's word."""
    size = job.source.stat().st_size
    if job.kind == "disk":
        target = job.target / job.source.name
        if peer == "rdsend":
            subprocess.run(["cmp", job.source, target], check=True)
        if target.stat().st_size != size:
            raise RuntimeError(f"{peer} left bytes out")
    if job.kind == "command" and f"{size} bytes" not in words:
        raise RuntimeError(f"{peer} left bytes out: {words[-500:]}")
