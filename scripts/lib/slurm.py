"""A real Slurm for a test: munged and slurmctld on this host, and a slurmd in each host of a fleet, with ports and folders
of their own. All of them end with it."""

import contextlib
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

from fleet import NEAR, Fleet

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "salloc", "scontrol", "sinfo")
WHERE = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
SLURMD_PORT = 6818  # each in a network of its own
GPUS, MEGABYTES = 2, 1000  # that each node says it has
# Its program has all CPUs, all memory and all GPUs of all nodes.
JOB = """#!/bin/sh
srun sh -c 'echo runs; exec sleep infinity' > {folder}/programs &
until [ "$(wc -l < {folder}/programs)" = $((2 * {nodes})) ]; do sleep 0.1; done
env -0 > {folder}/environment.part && mv {folder}/environment.part {folder}/environment
wait
"""
CONFIG = """ClusterName=rdcp
SlurmctldHost={here}({near})
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
StateSaveLocation={folder}/state
SlurmdPidFile={folder}/%n.pid
SlurmdLogFile={folder}/%n.log
SlurmdSpoolDir={folder}/spool-%n
SlurmdPort={slurmd_port}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
ReturnToService=2
KillWait=2
{more}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def why_no_slurm() -> str:
    """Empty if Slurm and munge are installed."""
    missing = [program for program in PROGRAMS if shutil.which(program, path=WHERE) is None]
    return f"no {', '.join(missing)} here (scripts/setup installs them)" if missing else ""


class Slurm:
    """Use as a context manager. `folder`: empty, the caller's to remove. Its nodes are the fleet's hosts, by their names.
    `more`: further lines of slurm.conf. `env`: what its commands need in the environment."""

    def __init__(self, folder: Path, fleet: Fleet, more: str = ""):
        self.folder = Path(folder)
        self.fleet = fleet
        self.more = more
        self.config = self.folder / "slurm.conf"
        outside_a_job = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "SBATCH_"))}
        self.env = {**outside_a_job, "SLURM_CONF": str(self.config)}
        self.log = self.folder / "daemons"

    def __enter__(self) -> "Slurm":
        with contextlib.ExitStack() as stack:
            out = stack.enter_context(open(self.log, "wb"))
            self._start_munged(stack, out)
            self._write_config()
            self._start(stack, out, [], "slurmctld", "-D", "-i", "-f", self.config)
            for host in self.fleet.hosts:
                self._start(stack, out, host.inside, "slurmd", "-D", "-N", host.name, "-f", self.config)
            self._wait_until(self._all_idle, "the nodes of Slurm do not become idle")
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def run(self, *words, **options) -> str:
        """What a command of Slurm's prints; it must succeed."""
        done = subprocess.run([str(word) for word in words], env=self.env, capture_output=True, text=True, timeout=60,
                              stdin=subprocess.DEVNULL, check=False, **options)
        if done.returncode != 0:
            raise AssertionError(f"{words}: {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    @contextlib.contextmanager
    def job(self):
        """A job of all nodes, with all that they have, in which a program runs that uses it. Gives the environment of its
        batch script."""
        self._wait_until(self._all_idle, "a job before has not ended")
        script, dump = self.folder / "job", self.folder / "environment"
        dump.unlink(missing_ok=True)
        script.write_text(JOB.format(folder=self.folder, nodes=self.fleet.count))
        asked = (f"--nodes={self.fleet.count}", "--ntasks-per-node=2", "--cpus-per-task=1", f"--gpus-per-node={GPUS}",
                 f"--mem={MEGABYTES}", "--exclusive")
        number = self.run("sbatch", "--parsable", f"--output={self.folder}/job.log", *asked, script).strip()
        try:
            self._wait_until(dump.exists, "the job does not begin")
            words = (word.partition("=") for word in dump.read_text().split("\0"))
            yield {**self.env, **{name: value for name, _, value in words if name.startswith("SLURM")}}
        finally:
            self.run("scancel", number)

    def _all_idle(self) -> bool:
        done = subprocess.run(["sinfo", "--noheader", "--Node", "--format=%T"], env=self.env, capture_output=True, text=True,
                              timeout=60, check=False)
        return done.stdout.split() == ["idle"] * self.fleet.count

    def _wait_until(self, condition, otherwise: str):
        deadline = time.monotonic() + 60
        while not condition():
            if time.monotonic() > deadline:
                logs = "".join(f"{log.name}: {log.read_text(errors='replace')[-600:]}\n" for log in self.folder.glob("*.log"))
                raise RuntimeError(f"{otherwise}: {self.log.read_text(errors='replace')[-600:]}\n{logs}")
            time.sleep(0.1)

    def _start(self, stack: contextlib.ExitStack, out, inside: list[str], program: str, *words):
        """A daemon that ends with this process, whatever ends it."""
        command = ["setpriv", "--pdeathsig=KILL", "--", *inside, shutil.which(program, path=WHERE), *map(str, words)]
        process = subprocess.Popen(command, env=self.env, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        stack.callback(process.wait)
        stack.callback(process.kill)

    def _start_munged(self, stack: contextlib.ExitStack, out):
        munge = self.folder / "munge"
        munge.mkdir(mode=0o755)
        key = munge / "key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))
        files = {"key": key, "socket": munge / "socket", "pid": munge / "pid", "log": munge / "log", "seed": munge / "seed"}
        named = {"socket": "--socket", **{name: f"--{name}-file" for name in ("key", "pid", "log", "seed")}}
        self._start(stack, out, [], "munged", "--foreground", "--num-threads=10",
                    *(f"{named[name]}={path}" for name, path in files.items()))
        self._wait_until(files["socket"].exists, "munged does not start")

    def _write_config(self):
        with socket.socket() as free:
            free.bind(("", 0))
            port = free.getsockname()[1]
        (self.folder / "state").mkdir()
        for host in self.fleet.hosts:
            (self.folder / f"spool-{host.name}").mkdir()
        here = socket.gethostname().partition(".")[0]
        nodes = "".join(f"NodeName={host.name} NodeHostname={here} NodeAddr={host.address} CPUs=2 RealMemory={MEGABYTES} Gres=gpu:{GPUS}\n"
                        for host in self.fleet.hosts)
        gpus = "".join(f"NodeName={host.name} Name=gpu Count={GPUS} File={self.folder}/gpu[1-{GPUS}]\n"
                       for host in self.fleet.hosts)
        (self.folder / "gres.conf").write_text(gpus)
        for i in range(GPUS):
            (self.folder / f"gpu{i + 1}").touch()
        self.config.write_text(CONFIG.format(
            here=here, near=NEAR, port=port, folder=self.folder,
            slurmd_port=SLURMD_PORT, more=self.more + "\n" + nodes))
