"""rdcp over RDMA against what the device can do, all in one VM run (scripts/rdma-vm), the tools taking turns.

  ib_write_bw   perftest's RDMA WRITEs of 1 MiB, memory to memory, one queue pair
  streams       rdcp's own streams, memory to memory (what rdcp --doctor measures), as many as it makes by itself, of
                chunks of 1 MiB
  rdcp          a file from tmpfs to tmpfs, digests on, likewise, a real sshd; without ssh's start-up
  rdsend        the same file as standard input, digests on, to an rdrecv that writes to /dev/null
  rcopy         rdmacm-utils' copier, the same file

Run by scripts/bench --rdma, which starts it in the VM."""

import contextlib
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_machine import warm_memory
from sshd import LocalSshd
from trees import MIB, make_file

DEVICE, ADDRESS = "rxe0", "10.77.0.1"
MESSAGE = MIB
ITERATIONS = 150
FILE_SIZE = 256 * MIB
WARM_GIB = 2.0  # of the 3 that the VM has: its first touch of a page is an emulated fault, and a real one beneath it
WANTED = {("streams", "ib_write_bw"): 1.0, ("rdcp", "ib_write_bw"): 0.9, ("rdcp", "rcopy"): 1.3,
          ("rdsend", "ib_write_bw"): 0.85}


class Bench:
    def __init__(self, rdcp: Path, folder: Path, ssh: LocalSshd):
        self.rdcp, self.folder, self.ssh = rdcp, folder, ssh
        self.file = folder / "file"
        make_file(self.file, FILE_SIZE)
        self.tools = {"ib_write_bw": self.ib_write_bw, "streams": self.streams, "rdcp": self.copy, "rdsend": self.stream,
                      "rcopy": self.rcopy}

    def ib_write_bw(self) -> float:
        words = ["ib_write_bw", "-d", DEVICE, "-R", "-F", "-s", str(MESSAGE), "-n", str(ITERATIONS)]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
            for _ in range(50):  # until it listens
                time.sleep(0.2)
                done = subprocess.run([*words, ADDRESS], capture_output=True, text=True, check=False)
                if done.returncode == 0:
                    break
            server.wait()
        # bytes, iterations, peak, average (MB/s, of 2^20 bytes), message rate
        rows = re.findall(rf"^\s*{MESSAGE}\s+\d+\s+[\d.]+\s+([\d.]+)", done.stdout, re.MULTILINE)
        if not rows:
            raise RuntimeError(f"ib_write_bw: {done.stdout}{done.stderr}")
        return float(rows[-1]) * MIB

    def command(self, *words) -> list:
        return [self.rdcp, "-F", self.ssh.config, "--rdcp-path", self.rdcp, "--transport", "rdma", "--via", DEVICE,
                *words]

    def streams(self) -> float:
        words = self.command("--doctor", "--json", "dest")
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        transfer = json.loads(done.stdout)["transfers"][0]
        if "bytes" not in transfer:
            raise RuntimeError(f"rdcp --doctor: {transfer}")
        return transfer["bytes"] / transfer["seconds"]

    def copy(self) -> float:
        target = self.folder / "copy"
        words = self.command("-v", self.file, f"dest:{target}")
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        rate = re.search(r"^rdcp: copied .* in ([\d.]+) s$", done.stderr, re.MULTILINE)
        if done.returncode != 0 or not rate:
            raise RuntimeError(f"rdcp: {done.stderr}")
        subprocess.run(["cmp", self.file, target], check=True)
        target.unlink()
        return FILE_SIZE / float(rate[1])

    def stream(self) -> float:
        port, key = "4791", "key"  # RDMA's ports are its own; the control connection takes one of TCP's
        there = [self.rdcp.with_name("rdrecv"), "--transport", "rdma", "--via", DEVICE, port, key]
        here = [self.rdcp.with_name("rdsend"), "-v", "--transport", "rdma", ADDRESS, port, key]
        with subprocess.Popen(there, stdout=subprocess.DEVNULL) as receiver, open(self.file, "rb") as source:
            done = subprocess.run(here, stdin=source, capture_output=True, text=True, check=False)
            if receiver.wait() != 0 or done.returncode != 0 or " over rdma" not in done.stderr:
                raise RuntimeError(f"rdsend: {done.stderr}")
        return FILE_SIZE / float(re.search(r"in ([\d.]+) s$", done.stderr, re.MULTILINE)[1])

    def rcopy(self) -> float:
        target = self.folder / "rcopied"
        with subprocess.Popen(["rcopy"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
            try:
                for _ in range(30):  # it does not say when it listens
                    time.sleep(1)
                    begun = time.monotonic()
                    done = subprocess.run(["rcopy", self.file, f"{ADDRESS}:{target}"], capture_output=True, check=False)
                    seconds = time.monotonic() - begun
                    if done.returncode == 0:
                        break
            finally:
                server.kill()
        subprocess.run(["cmp", self.file, target], check=True)
        target.unlink()
        return FILE_SIZE / seconds


def measure(rdcp: Path, runs: int) -> dict[str, list[float]]:
    rates: dict[str, list[float]] = {}
    with (tempfile.TemporaryDirectory(dir="/dev/shm") as folder, LocalSshd(Path(folder)) as ssh,
          contextlib.ExitStack() as warm):
        bench = Bench(rdcp, Path(folder), ssh)
        warm.enter_context(warm_memory([bench.file], WARM_GIB))
        names = list(bench.tools)
        for run in range(runs):
            for name in names[run % len(names):] + names[:run % len(names)]:
                rates.setdefault(name, []).append(bench.tools[name]())
                print(f"  run {run + 1}, {name}: {rates[name][-1] / 1e6:.1f} MB/s", file=sys.stderr, flush=True)
    return rates


def print_rates(rates: dict[str, list[float]]) -> None:
    medians = {name: statistics.median(samples) for name, samples in rates.items()}
    print(f"\nRDMA over Soft-RoCE in a VM, {DEVICE}, messages of {MESSAGE // MIB} MiB, {FILE_SIZE // MIB} MiB of file")
    for name in rates:
        print(f"  {name:<12} {medians[name] / 1e6:8.1f} MB/s   {min(rates[name]) / 1e6:.1f} to "
              f"{max(rates[name]) / 1e6:.1f}")
    for (one, other), wanted in WANTED.items():
        ratio = medians[one] / medians[other]
        print(f"  {one} / {other}: {ratio:.2f} (wanted {wanted:.2f}: {'reached' if ratio >= wanted else 'NOT REACHED'})")


def run_in_vm(rdcp: Path, runs: int) -> int:
    import rdma_vm

    if reason := rdma_vm.available():
        print(f"bench: no VM here: {reason}", file=sys.stderr)
        return 1
    if not shutil.which("ib_write_bw") or not shutil.which("rcopy"):
        print("bench: ib_write_bw (perftest) or rcopy (rdmacm-utils) is not installed", file=sys.stderr)
        return 1
    job = rdma_vm.Job([sys.executable, str(Path(__file__).resolve()), str(rdcp), str(runs)], timeout=300 + 240 * runs,
                      memory=3072, cpus=2)
    return rdma_vm.run_job(job, lambda piece: (sys.stdout.buffer.write(piece), sys.stdout.flush()),
                           lambda piece: (sys.stderr.buffer.write(piece), sys.stderr.flush()))


if __name__ == "__main__":
    print_rates(measure(Path(sys.argv[1]), int(sys.argv[2])))
