"""Mirrors that have little to do: rdcp --sync against rsync -a, over ssh, less the time that ssh itself takes."""

import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from bench_peers import FLOOR, kernel_floor
from sshd import LocalSshd
from trees import make_model_cache, make_node_modules

# What is measured, with rsync's options and ours, how many times faster we mean to be, and what kernel_floor has to do.
# rsync -a looks at no extended attributes, and rdcp does.
CASES = {"nothing to do": ([], [], 2.2, "look"), "no xattrs": ([], ["--no-xattrs"], 2.2, "stat"),
         "all metadata": (["-HAX"], [], 3.5, "look"), "1 % changed": ([], [], 1.5, "look"),
         "checksum": (["-c"], ["-c"], 2.0, "read")}


class SyncBench:
    def __init__(self, rdcp: Path, folder: Path, source: Path, ssh: LocalSshd):
        self.rdcp, self.ssh = rdcp, ssh
        self.source = source
        self.targets = {name: folder / f"{source.name}-{name}" for name in ("rdcp", "rsync")}
        self.chance = random.Random(5)

    def command(self, tool: str, case: str) -> list:
        theirs, ours, _, floor = CASES[case]
        if tool == FLOOR:
            return [kernel_floor(self.rdcp), floor, self.source, self.targets["rdcp"]]
        if tool == "rsync":
            return ["rsync", "-a", *theirs, "-e", self.ssh.ssh_text(), f"{self.source}/", f"dest:{self.targets[tool]}/"]
        return [self.rdcp, "--sync", *ours, "-F", self.ssh.config, "--rdcp-path", self.rdcp, self.source,
                f"dest:{self.targets[tool]}"]

    def seconds(self, command: list) -> float:
        begin = time.monotonic()
        subprocess.run(list(map(os.fspath, command)), check=True, stdin=subprocess.DEVNULL)
        return time.monotonic() - begin

    def change(self, files: list[Path]):
        for path in self.chance.sample(files, max(1, len(files) // 100)):
            with open(path, "ab") as file:
                file.write(b"changed")

    def measure(self, cases: list[str], runs: int, tools: tuple = ("rdcp", "rsync")):
        """What stands in self.source, against copies of it that rsync has made."""
        for target in self.targets.values():
            subprocess.run(["rsync", "-a", f"{self.source}/", f"{target}/"], check=True)
        files = [Path(top, name) for top, _, names in os.walk(self.source) for name in names]
        files = [path for path in files if path.is_file() and not path.is_symlink()]
        for case in cases:
            wanted = CASES[case][2]
            samples: dict[str, list[float]] = {tool: [] for tool in (*tools, "ssh")}
            for run in range(runs + 1):
                if case == "1 % changed":
                    self.change(files)
                for tool in tools[::1 if run % 2 else -1]:
                    samples[tool].append(self.seconds(self.command(tool, case)))
                samples["ssh"].append(self.seconds([*self.ssh.ssh(), "dest", "true"]))
            median = {name: statistics.median(values[1:]) for name, values in samples.items()}  # the first one warms
            net = {name: median[name] - median["ssh"] for name in ("rdcp", "rsync")}
            floor = f"; the floor is {median[FLOOR]:.3f}: {median[FLOOR] / max(net['rdcp'], 1e-3):.2f} x" if FLOOR in median else ""
            print(f"{self.source.name}, {case:14} rdcp {median['rdcp']:.3f} s, rsync {median['rsync']:.3f}, ssh true {median['ssh']:.3f}; "
                  f"net {net['rdcp']:.3f} against {net['rsync']:.3f}: {net['rsync'] / max(net['rdcp'], 1e-3):.2f} x "
                  f"(wanted {wanted}){floor}", flush=True)

    def memory_kib(self, files: int) -> int:
        """Of both agents together, the larger peak of any process, with nothing to do."""
        source, target = self.source.with_name("many"), self.source.with_name("many-copy")
        for top in (source, target):
            for folder in range(max(1, files // 1000)):
                (top / str(folder)).mkdir(parents=True)
                for name in range(min(files, 1000)):
                    path = top / str(folder) / str(name)
                    path.touch()
                    os.utime(path, ns=(0, 10**18))
                os.utime(top / str(folder), ns=(0, 10**18))
            os.utime(top, ns=(0, 10**18))
        timed = ["/usr/bin/env", "python3", "-c",
                 "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True);"
                 "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)",
                 self.rdcp, "--sync", source, target]
        out = subprocess.run(list(map(os.fspath, timed)), check=True, capture_output=True, text=True).stdout
        shutil.rmtree(source)
        shutil.rmtree(target)
        return int(out)


def run_sync(rdcp: Path, where: str, runs: int, files: int, many: int):
    with tempfile.TemporaryDirectory(prefix="rdcp-bench-", dir=where) as name:
        folder = Path(name)
        (folder / "ssh").mkdir()
        with LocalSshd(folder / "ssh", quick=False) as ssh:
            small = SyncBench(rdcp, folder, make_node_modules(folder, files).rename(folder / "small"), ssh)
            small.measure(list(CASES), runs, ("rdcp", "rsync", FLOOR))
            model = SyncBench(rdcp, folder, make_model_cache(folder).rename(folder / "model"), ssh)
            model.measure(["checksum"], runs)
            few, lots = small.memory_kib(10_000), small.memory_kib(many)
            print(f"memory with nothing to do: {few} KiB for 10,000 files, {lots} for {many}: {lots / few:.2f} x "
                  "(wanted at most 1.10)")
