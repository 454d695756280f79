"""What --encrypt and --compress cost and gain: against rdcp without, scp, and the pipeline of openssl and pzstd that they
take the place of. Each group's tools take turns in one run; medians count."""

import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_machine import files_in, is_listening, wait_until, warm_memory
from bench_peers import CIPHER
from network import second_network, slow_link
from sshd import LocalSshd
from trees import GIB, make_file, tree_size

KEY = "a_key_for_the_benchmark"
# Links, and how many times as fast "auto" is to be there.
LINKS = {"1gbit": 2.5, "10gbit": 0.97}


class Wrapped:
    def __init__(self, options, folders: dict[str, Path], ssh: LocalSshd):
        self.options, self.folders, self.ssh, self.count = options, folders, ssh, 0
        self.programs = options.rdcp.resolve().parent
        self.receiver: subprocess.Popen | None = None

    def target(self, kind: str) -> Path:
        self.count += 1
        folder = self.folders[kind] / f"target-{self.count}"
        folder.mkdir()
        return folder

    def rdcp(self, ssh: LocalSshd, *words: str):
        def run(source: Path, folder: Path) -> list:
            return [self.options.rdcp, "-r", "-F", ssh.config, "--rdcp-path", self.options.rdcp, *words, source,
                    f"dest:{folder}"]
        return run

    def scp(self, source: Path, folder: Path) -> list:
        return ["scp", "-q", "-r", "-F", self.ssh.config, "-o", CIPHER, source, f"dest:{folder}"]

    def ssh_true(self, _source: Path, _folder: Path) -> list:
        return [*self.ssh.ssh("-o", CIPHER), "dest", "true"]

    def pipe(self, send: str, receive: str):
        """rdsend to rdrecv; both are shell commands with {} for the program and its first words."""
        def run(source: Path, folder: Path) -> list:
            port = 20000 + os.getpid() % 10000 + self.count % 100
            receiving = receive.format(f"{self.programs}/rdrecv", port=port, key=KEY, file=folder / source.name)
            self.receiver = subprocess.Popen(["bash", "-o", "pipefail", "-c", receiving])
            if not wait_until(lambda: is_listening(port, []), 10):
                raise RuntimeError("rdrecv does not listen")
            sending = send.format(f"{self.programs}/rdsend", port=port, key=KEY, file=source)
            return ["bash", "-o", "pipefail", "-c", sending]
        return run

    def measure(self, title: str, source: Path, kind: str, tools: dict) -> dict[str, float]:
        samples: dict[str, list[float]] = {name: [] for name in tools}
        names = list(tools)
        for run in range(self.options.runs):
            for name in names[run % len(names):] + names[:run % len(names)]:
                samples[name].append(self.time(tools[name], source, kind, name))
                print(f"  {title}: run {run + 1}, {name}: {samples[name][-1]:.2f} s", file=sys.stderr)
        medians = {name: statistics.median(times) for name, times in samples.items()}
        files, size = tree_size(source)
        print(f"\n{title}: {files} files, {size / 1e9:.2f} GB, {self.options.runs} runs")
        for name, seconds in medians.items():
            spread = f"{min(samples[name]):.2f} to {max(samples[name]):.2f}"
            print(f"  {name:32} {seconds:7.2f} s  ({spread})  {size / 1e9 / seconds:6.2f} GB/s")
        return medians

    def time(self, tool, source: Path, kind: str, name: str) -> float:
        folder = self.target(kind)
        command = tool(source, folder)
        started = time.monotonic()
        subprocess.run(command, check=True)
        if self.receiver and self.receiver.wait():
            raise RuntimeError(f"{name}: the receiver failed")
        self.receiver = None
        if kind == "disk":
            subprocess.run(["sync", "-f", folder], check=True)
        seconds = time.monotonic() - started
        if name != "ssh true" and tree_size(folder)[1] < tree_size(source)[1]:
            raise RuntimeError(f"{name} left bytes out")
        shutil.rmtree(folder)
        return seconds


def verdict(what: str, ratio: float, wanted: float, most: bool = False):
    reached = ratio <= wanted if most else ratio >= wanted
    print(f"  {what}: {ratio:.2f} (wanted: at {'most' if most else 'least'} {wanted}) "
          + ("reached" if reached else "NOT reached"))


def encrypted_files(bench: Wrapped, source: Path):
    for kind in ("tmpfs", "disk"):
        found = bench.measure(f"encrypt, big -> {kind}", source, kind, {
            "rdcp": bench.rdcp(bench.ssh), "rdcp --encrypt": bench.rdcp(bench.ssh, "--encrypt"), "scp": bench.scp,
            "ssh true": bench.ssh_true})
        start = found["ssh true"]
        if kind == "tmpfs":
            verdict("net time, times that without", (found["rdcp --encrypt"] - start) / (found["rdcp"] - start), 1.7,
                    most=True)
        verdict("as fast as scp, times", found["scp"] / found["rdcp --encrypt"], 2.3)


def compressed_noise(bench: Wrapped, source: Path):
    ways = {"rdcp": (), "rdcp --compress": ("--compress",), "rdcp --compress=auto": ("--compress=auto",)}
    found = bench.measure("compress, noise -> tmpfs", source, "tmpfs",
                          {name: bench.rdcp(bench.ssh, *words) for name, words in ways.items()})
    for name in list(ways)[1:]:
        verdict(f"{name}, times the time without", found[name] / found["rdcp"], 1.03, most=True)


def pipelines(bench: Wrapped, source: Path, wanted: float | None):
    openssl = "openssl enc -aes-256-cbc -pbkdf2 -k secret"
    found = bench.measure(f"stream, {source.name} -> tmpfs", source, "tmpfs", {
        "rdsend --encrypt --compress": bench.pipe("{} --encrypt --compress 127.0.0.1 {port} {key} < {file}",
                                                  "{} --encrypt {port} {key} > {file}"),
        "pzstd | openssl | rdsend": bench.pipe("pzstd -q -1 -c {file} | " + openssl + " | {} 127.0.0.1 {port} {key}",
                                               "{} {port} {key} | " + openssl + " -d | pzstd -q -d > {file}")})
    ratio = found["pzstd | openssl | rdsend"] / found["rdsend --encrypt --compress"]
    if wanted:
        verdict("as fast as the pipeline, times", ratio, wanted)
    else:
        print(f"  as fast as the pipeline, times: {ratio:.2f} (pzstd has both processors busy, as we have)")


def headers(folder: Path, size: int) -> Path:
    """This machine's C and C++ headers, again and again."""
    root = folder / "headers"
    root.mkdir()
    have, copies = 0, 0
    while have < size:
        subprocess.run(["cp", "-rL", "/usr/include", root / f"copy-{copies}"], check=True)
        have, copies = tree_size(root)[1], copies + 1
    return root


def slow_links(bench: Wrapped, source: Path, keys: Path):
    for rate, wanted in LINKS.items():
        (keys / rate).mkdir()
        with second_network() as (address, inside), \
                LocalSshd(keys / rate, address, inside=inside, port=2222, quick=False) as ssh:
            slow_link(inside, rate)
            found = bench.measure(f"compress, headers over {rate} -> tmpfs", source, "tmpfs", {
                "rdcp": bench.rdcp(ssh), "rdcp --compress=auto": bench.rdcp(ssh, "--compress=auto"),
                "rdcp --compress --encrypt": bench.rdcp(ssh, "--compress", "--encrypt")})
        verdict("auto, times as fast as without", found["rdcp"] / found["rdcp --compress=auto"], wanted)


def measure_wrapped(options):
    with contextlib.ExitStack() as stack:
        folders = {}
        for name, where in (("disk", options.disk), ("tmpfs", options.tmpfs)):
            folders[name] = Path(tempfile.mkdtemp(prefix="rdcp-bench-", dir=where))
            stack.callback(shutil.rmtree, folders[name], ignore_errors=True)
        for name in ("ssh", "slow", "source"):
            (folders["disk"] / name).mkdir()
        ssh = stack.enter_context(LocalSshd(folders["disk"] / "ssh", quick=False))
        bench = Wrapped(options, folders, ssh)
        noise = folders["disk"] / "source" / "big.bin"
        make_file(noise, options.size)
        tree = headers(folders["disk"] / "source", GIB)
        text = folders["disk"] / "source" / "text.tar"
        subprocess.run(["tar", "-c", "-f", text, "-C", tree.parent, tree.name], check=True)
        print(f"{os.cpu_count()} CPUs, Linux {os.uname().release}, load {os.getloadavg()[0]:.1f}")
        with warm_memory(files_in(noise) + files_in(text), 6) if not options.no_warm else contextlib.nullcontext():
            encrypted_files(bench, noise)
            compressed_noise(bench, noise)
            pipelines(bench, noise, 4)
            pipelines(bench, text, None)
            slow_links(bench, tree, folders["disk"] / "slow")
        print(f"load at the end: {os.getloadavg()[0]:.1f}")
