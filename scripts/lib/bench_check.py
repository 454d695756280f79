"""What verification costs: --check against rsync -naic and sha256sum, both sides warm; --verify against the plain copy to
disk; and what is left to do after a copy that was killed at 99 %. Medians; the tools take turns; net is less the time of `ssh true`."""

import os
import shutil
import signal
import statistics
import subprocess
import time
from pathlib import Path

from bench_peers import FLOOR, kernel_floor
from trees import make_file, make_node_modules

SMALL = "small"
WANTED = {"big": {"rsync -naic": 3.0, "2 x sha256sum": 5.0}, SMALL: {"rsync -naic": 2.0, "2 x sha256sum": 5.0}}
VERIFY_WANTED = 1.6
RESUME_WANTED = 0.15
JOURNAL_HEADER, JOURNAL_RECORD = 512, 48  # bytes, see src/tree/resume/journal.h
CHUNK = 1 << 20


def seconds_of(command: list, **options) -> float:
    begun = time.monotonic()
    subprocess.run([os.fspath(word) for word in command], check=True, stdout=subprocess.DEVNULL, **options)
    return time.monotonic() - begun


def _medians(commands: dict, runs: int) -> dict[str, float]:
    samples = {name: [] for name in commands}
    for run in range(runs):
        for name in [*commands][run % len(commands):] + [*commands][:run % len(commands)]:
            samples[name].append(commands[name]())
    return {name: statistics.median(values) for name, values in samples.items()}


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def measure_check(name: str, source: Path, target: Path, ssh, rdcp: Path, runs: int):
    """source and target are alike; the far side of both tools is the host `dest`."""
    sums = _files(source) + _files(target)

    def check(*words) -> float:
        return seconds_of([rdcp, "--check", "-F", ssh.config, "--rdcp-path", rdcp, *words, f"{source}/", f"dest:{target}/"])

    commands = {
        "rdcp --check": check,
        "rsync -naic": lambda: seconds_of(["rsync", "-naic", "-e", ssh.ssh_text(), f"{source}/", f"dest:{target}/"]),
        "2 x sha256sum": lambda: sum(seconds_of(["sha256sum", *sums[at:at + 1000]]) for at in range(0, len(sums), 1000)),
        "ssh true": lambda: seconds_of([*ssh.ssh(), "dest", "true"]),
    }
    if name == SMALL:  # kernel_floor reads a file with one thread, so for a large one it is no floor
        commands["--metadata"] = lambda: check("--metadata")
        commands[FLOOR] = lambda: seconds_of([kernel_floor(rdcp), "read", source, target])
    medians = _medians(commands, runs)
    net = medians["rdcp --check"] - medians["ssh true"]
    print(f"  rdcp --check {medians['rdcp --check']:.2f} s, net {net:.2f}; ssh true {medians['ssh true']:.2f}")
    for other, times in WANTED[name].items():
        seconds = medians[other] - (medians["ssh true"] if "rsync" in other else 0)
        print(f"  {other:14} {medians[other]:6.2f} s, net {seconds:.2f}: {seconds / net:.2f} times as long "
              f"(wanted {times}: {'reached' if seconds / net >= times else 'NOT reached'})")
    if FLOOR in medians:  # it asks for attributes, too
        of_all = medians["--metadata"] - medians["ssh true"]
        print(f"  with --metadata net {of_all:.2f}; the floor is {medians[FLOOR]:.2f}: {medians[FLOOR] / of_all:.2f} x")


def measure_verify(source: Path, folder: Path, rdcp: Path, ssh, runs: int):
    """To the host `dest`, until the data is on the disk."""
    def copy(*words) -> float:
        target = folder / "verified"
        shutil.rmtree(target, ignore_errors=True)
        subprocess.run(["sync", "-f", folder], check=True)
        command = [rdcp, "-r", "-F", ssh.config, "--rdcp-path", rdcp, *words, f"{source}/", f"dest:{target}"]
        return seconds_of(command) + seconds_of(["sync", "-f", folder])
    medians = _medians({"plain": copy, "verified": lambda: copy("--verify")}, runs)
    ratio = medians["verified"] / medians["plain"]
    print(f"  plain {medians['plain']:.2f} s, --verify {medians['verified']:.2f} s: {ratio:.2f} times as long "
          f"(wanted {VERIFY_WANTED}: {'reached' if ratio <= VERIFY_WANTED else 'NOT reached'})")


def measure_resume(source: Path, folder: Path, rdcp: Path, ssh, runs: int):
    """One large file to the host `dest`, killed on the way; then the same command once more. Net of `ssh true`."""
    size = source.stat().st_size
    target = folder / "resumed"
    command = [os.fspath(word) for word in (rdcp, "-F", ssh.config, "--rdcp-path", rdcp, source, f"dest:{target}/")]

    def prepare():
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        subprocess.run(["sync", "-f", folder], check=True)

    def whole() -> float:
        prepare()
        return seconds_of(command)

    def rest() -> float:
        while True:
            prepare()
            with subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL) as running:
                while running.poll() is None and not _is_recorded(target, int(size * 0.99)):
                    time.sleep(0.0005)
                os.killpg(running.pid, signal.SIGKILL)
            if not (target / source.name).exists():
                break  # else it was too late
        while subprocess.run(["pgrep", "-f", f"{rdcp} --agent"], stdout=subprocess.DEVNULL, check=False).returncode == 0:
            time.sleep(0.01)
        return seconds_of(command)

    medians = _medians({"whole": whole, "rest": rest,
                        "ssh true": lambda: seconds_of([*ssh.ssh(), "dest", "true"])}, runs)
    net = {name: medians[name] - medians["ssh true"] for name in ("whole", "rest")}
    ratio = net["rest"] / net["whole"]
    print(f"  whole {net['whole']:.2f} s, the rest after 99 % {net['rest']:.3f} s: {ratio:.1%} "
          f"(wanted {RESUME_WANTED:.0%}: {'reached' if ratio <= RESUME_WANTED else 'NOT reached'})")


def _is_recorded(target: Path, wanted: int) -> bool:
    for path in target.glob(".rdcp-*.journal"):
        try:
            return (path.stat().st_size - JOURNAL_HEADER) // JOURNAL_RECORD * CHUNK >= wanted
        except FileNotFoundError:
            return False
    return False


def run_check_bench(folder: Path, ssh, options):
    big, small = folder / "big", folder / "small"
    big.mkdir()
    small.mkdir()
    make_file(big / "big.bin", options.size)
    make_node_modules(small, options.files)
    for name, source in (("big", big), (SMALL, small)):
        target = folder / f"{name}-copy"
        subprocess.run(["cp", "-a", source, target], check=True)
        subprocess.run(["sync", "-f", folder], check=True)
        for path in (*_files(source), *_files(target)):
            path.read_bytes() if path.stat().st_size < 1 << 20 else seconds_of(["cat", path])
        print(f"\ncheck, {name}, warm on both sides:")
        measure_check(name, source, target, ssh, options.rdcp, options.runs)
        shutil.rmtree(target)
        print(f"verify, {name}, to disk:")
        measure_verify(source, folder, options.rdcp, ssh, options.runs)
    print("resume, big, to disk:")
    measure_resume(big / "big.bin", folder, options.rdcp, ssh, options.runs)
