"""What many hosts cost where there is next to nothing to copy: the time that starting takes, beside what ssh itself takes, and
the memory of the coordinator."""

import contextlib
import re
import statistics
import subprocess
import time
from pathlib import Path

from bench_hosts_bed import Trial, fresh_fleet, fresh_folder

HOSTS = 64
AT_ONCE = 32  # handshakes of ssh
START_WANTED = 1.2  # most times what ssh takes
FEW, MANY, WANTED_AT = 50, 200, 1000  # hosts, for memory
MEMORY_WANTED = 200.0  # MB, with WANTED_AT hosts
STAND_IN = """#!/bin/sh
mkdir -p {folder}/$1 && cd {folder}/$1 && shift && exec sh -c "$*"
"""


def make_tiny(folder: Path) -> Path:
    source = folder / "source"
    source.mkdir()
    (source / "file").write_text("tiny")
    return source


def measure_start(options):
    times: dict[str, list[float]] = {"ssh": [], "rdcp": []}
    with fresh_folder(options) as folder, fresh_fleet(folder, HOSTS) as fleet:
        source, ssh = make_tiny(folder), fleet.ssh_text()
        names = " ".join(host.name for host in fleet.hosts)
        each_ssh = ["sh", "-c", f"printf '%s\\n' {names} | xargs -P {AT_ONCE} -I HOST {ssh} HOST true"]
        with Trial(fleet, source, 4, [options.rdcp, "-e", ssh, "--rdcp-path", options.rdcp, "-r", source]) as trial:
            for _ in range(options.runs):
                times["ssh"].append(trial.timed(each_ssh))
                times["rdcp"].append(trial.copy_to(HOSTS))
                trial.check(fleet.hosts)
                trial.clear()
    begun, rdcp = (statistics.median(times[name]) for name in ("ssh", "rdcp"))
    word = "reached" if rdcp / begun <= START_WANTED else "NOT REACHED"
    print(f"one small file, {HOSTS} hosts: {rdcp:.2f} s; {HOSTS} times ssh true, {AT_ONCE} at once: {begun:.2f} s; "
          f"ratio {rdcp / begun:.2f}, wanted <= {START_WANTED:.2f}: {word}", flush=True)


def peak_mb(process: subprocess.Popen) -> float:
    """The most memory that it had until it ended."""
    peak = 0
    while process.poll() is None:
        with contextlib.suppress(OSError):
            if found := re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text()):
                peak = int(found[1])
        time.sleep(0.005)
    return peak * 1024 / 1e6


def coordinator_mb(options, hosts: int) -> float:
    """With so many agents on this machine, each in a folder of its own."""
    with fresh_folder(options) as folder:
        source, shell = make_tiny(folder), folder / "shell"
        shell.write_text(STAND_IN.format(folder=folder / "hosts"))
        shell.chmod(0o755)
        process = subprocess.Popen([options.rdcp, "-e", shell, "--rdcp-path", options.rdcp, "-r", source, f"h[1-{hosts}]:copy"],
                                   stdin=subprocess.DEVNULL)
        try:
            peak = peak_mb(process)
        finally:
            process.kill()
            process.wait()
        if process.returncode != 0 or len(list(folder.glob("hosts/*/copy/file"))) != hosts:
            raise RuntimeError(f"a copy to {hosts} hosts failed")
        return peak


def measure_memory(options):
    few, many = (statistics.median(coordinator_mb(options, hosts) for _ in range(options.runs)) for hosts in (FEW, MANY))
    each = (many - few) / (MANY - FEW)
    expected = many + each * (WANTED_AT - MANY)
    word = "reached" if expected <= MEMORY_WANTED else "NOT REACHED"
    print(f"the coordinator's memory: {few:.1f} MB with {FEW} hosts, {many:.1f} MB with {MANY}, so {each:.3f} MB for each more;\n"
          f"  by that, not measured: {expected:.0f} MB with {WANTED_AT}, wanted <= {MEMORY_WANTED:.0f} MB: {word}", flush=True)
