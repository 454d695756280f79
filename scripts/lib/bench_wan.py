"""What a long path costs: a large file, a first copy of many small ones, and a mirror with nothing to do, over a path that holds
packets back and loses some, by rdcp and by other tools in turn. The other host is a network namespace; cubic is TCP's congestion
control at both ends, as most machines have it; medians count."""

import contextlib
import json
import os
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_machine import warm_memory
from long_path import Way, long_path, why_no_long_path
from network import FAR_DEVICE, device_bytes
from sshd import LocalSshd
from trees import GIB, MIB, make_file

SSH_PORT = 2222
TRIPS_MS, LOSSES = (0, 20, 100), (0.0, 0.001, 0.01)
SIZE = 192 * MIB
FILES, FILE_BYTES, FOLDERS = 3000, 2000, 30
AT_ONCE = 16  # connections or files, of tools that are told how many
FEW, TURN = 20, 0.5  # files, and seconds for a round trip that can be counted
NOTES = ["What took over a minute was ended then, and its whole time estimated from what had arrived.",
         "Where packets are lost rdcp has bbr; what goes through ssh has what the machine has."]
PATIENCE = 60.0  # seconds: a tool that takes longer is ended, and what has arrived by then tells its rate


class Bed:
    """The path, and what is copied over it."""

    def __init__(self, rdcp: Path, folder: Path, ssh: LocalSshd, inside: list[str]):
        self.rdcp, self.folder, self.inside, self.ssh = rdcp, folder, inside, ssh
        self.config = ssh.config
        self.shell = f"ssh -F {shlex.quote(str(ssh.config))}"

    def received_bytes(self) -> int:
        return device_bytes(FAR_DEVICE, self.inside)[0]

    def ours(self, *words) -> list[str]:
        return [str(word) for word in (self.rdcp, "-q", "-F", self.config, "--rdcp-path", self.rdcp, *words)]

    def login(self) -> list[str]:
        return ["ssh", "-F", str(self.config), "dest", "true"]

    def mirrors(self, source: Path, ours: Path, theirs: Path) -> dict[str, list[str]]:
        return {"rdcp": self.ours("--sync", f"{source}/", f"dest:{ours}"),
                "rsync": ["rsync", "-a", "-e", self.shell, f"{source}/", f"dest:{theirs}/"]}

    def others(self, source: Path, to: Path) -> dict[str, list[str]]:
        """Tools that keep several transfers under way, as far as they are installed."""
        tools = {f"lftp -P {AT_ONCE}": self.lftp(f"mirror -R -P {AT_ONCE} {source} {to}-lftp"),
                 f"rclone, {AT_ONCE}": ["rclone", "sync", "--transfers", str(AT_ONCE), "--checkers", str(AT_ONCE), str(source),
                                        f"{self.sftp()}{to}-rclone"]}
        return {name: words for name, words in tools.items() if shutil.which(words[0])}

    def lftp(self, command: str) -> list[str]:
        login = f"ssh -a -x -F {shlex.quote(str(self.config))}"
        return ["lftp", "-c", f'set sftp:connect-program "{login}"; open sftp://root:@dest; {command}']

    def sftp(self) -> str:
        """The far host for rclone, which has an ssh of its own."""
        return f":sftp,host={self.ssh.address},port={self.ssh.port},user=root,key_file={self.ssh.folder}/client_key:"

    def seconds(self, command: list[str], size: int = 0) -> float:
        """How long it takes. What takes too long is ended, and then the rate at which `size` bytes came tells how long it would
        have taken; without `size`, it took at least so long."""
        before, begin = self.received_bytes(), time.monotonic()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
        try:
            _, said = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            took = time.monotonic() - begin
            os.killpg(process.pid, signal.SIGKILL)  # its ssh, too
            process.communicate()
            return took * size / max(self.received_bytes() - before, 1) if size else took
        if process.returncode != 0:
            raise RuntimeError(f"{command[0]} failed: {said}")
        return time.monotonic() - begin


def large_file_tools(bed: Bed, large: Path, to: Path) -> dict[str, list[str]]:
    tools = {"rdcp": bed.ours(large, f"dest:{to}"),
             "scp": ["scp", "-q", "-F", str(bed.config), str(large), f"dest:{to}"],
             "rsync": ["rsync", "-e", bed.shell, str(large), f"dest:{to}"],
             "tar | ssh": ["sh", "-c", f"tar -C {large.parent} -cf - {large.name} | {bed.shell} dest tar -xf - -C {to.parent}"]}
    others = {"lftp": bed.lftp(f"put {large} -o {to}"), "rclone": ["rclone", "copyto", str(large), f"{bed.sftp()}{to}"]}
    return tools | {name: words for name, words in others.items() if shutil.which(name)}


def measured(runs: int, tools: dict[str, list[str]], bed: Bed, size: int, clear) -> dict[str, list[float]]:
    """The seconds of each run of each tool; the tools take turns."""
    samples: dict[str, list[float]] = {name: [] for name in tools}
    for run in range(runs):
        names = list(tools)
        for name in names[run % len(names):] + names[:run % len(names)]:
            if samples[name] and samples[name][0] > PATIENCE:
                continue  # once is enough
            clear()
            samples[name].append(bed.seconds(tools[name], size))
    return samples


def series(workload: str, trip: int, loss: float, files: int, size: int, samples: dict[str, list[float]]) -> list[dict]:
    """What scripts/bench --plot draws, as bench_report has it."""
    where = f"over {trip} ms" + (f", {100 * loss:g} % of packets lost" if loss else "")
    return [{"workload": workload, "target": f"{trip}ms-{100 * loss:g}", "where": where, "peer": peer, "files": files,
             "bytes": size, "seconds": seconds, "median_seconds": statistics.median(seconds), "min_seconds": min(seconds),
             "max_seconds": max(seconds)} for peer, seconds in samples.items()]


@contextlib.contextmanager
def bed_over(options, folder: Path, way: Way):
    with long_path(options.rdcp.parent / "long_path", way) as path, tempfile.TemporaryDirectory(dir=folder) as keys, \
            LocalSshd(Path(keys), path.address, SSH_PORT, path.inside, quick=False) as ssh:
        yield Bed(options.rdcp, folder, ssh, path.inside)


def measure_large(options, folder: Path) -> list[dict]:
    large, to, rows = folder / "large", folder / "to" / "large", []
    make_file(large, SIZE)
    print(f"One file of {SIZE / 1e6:.0f} MB: seconds, ssh's login included, and how many times as fast rdcp is")

    def clear():
        shutil.rmtree(to.parent, ignore_errors=True)
        to.parent.mkdir()

    for trip in TRIPS_MS:
        for loss in LOSSES:
            with bed_over(options, folder, Way(trip / 2, loss)) as bed:
                samples = measured(options.runs, large_file_tools(bed, large, to), bed, SIZE, clear)
            rows += series("wan", trip, loss, 1, SIZE, samples)
            medians = {name: statistics.median(seconds) for name, seconds in samples.items()}
            line = "".join(f"  {name} {seconds:8.2f} ({seconds / medians['rdcp']:.2f})" for name, seconds in medians.items())
            print(f"{trip:4} ms {100 * loss:4.1f} % lost {line}", flush=True)
    return rows


def make_small(source: Path, files: int = FILES):
    for number in range(files):
        folder = source / str(number % FOLDERS)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / str(number)).write_bytes(number.to_bytes(4, "little") * (FILE_BYTES // 4))


def count_turns(options, folder: Path):
    """How many round trips a copy needs beyond ssh's login: each takes so long that nothing else counts."""
    source, ours, theirs = (folder / name for name in ("few", "ours", "theirs"))
    make_small(source, FEW)
    with bed_over(options, folder, Way(TURN / 2 * 1000)) as bed:
        login = bed.seconds(bed.login())
        for name, command in bed.mirrors(source, ours, theirs).items():
            turns = [(bed.seconds(command) - login) / TURN for _ in ("a first copy", "nothing to do")]
            print(f"{name:5} {FEW} files: {turns[0]:.1f} round trips beyond ssh's login; {turns[1]:.1f} with nothing to do",
                  flush=True)


def measure_small(options, folder: Path) -> list[dict]:
    """Net of what ssh takes for a command that does nothing."""
    source, copies = folder / "small", folder / "copies"
    make_small(source)
    rows = []
    print(f"{FILES:,} files of {FILE_BYTES:,} bytes: seconds without those of ssh's login")

    def clear():
        shutil.rmtree(copies, ignore_errors=True)
        copies.mkdir()

    for trip in TRIPS_MS:
        with bed_over(options, folder, Way(trip / 2)) as bed:
            tools = bed.mirrors(source, copies / "ours", copies / "theirs") | bed.others(source, copies / "theirs")
            tools |= {"ssh": bed.login()}
            first = measured(options.runs, tools, bed, 0, clear)
            quick = {name: command for name, command in tools.items() if first[name][0] <= PATIENCE}
            for command in quick.values():
                bed.seconds(command)  # what was cleared is there again
            found = {"a first copy": first, "nothing to do": measured(options.runs, quick, bed, 0, lambda: None)}
        for what, samples in found.items():
            ssh = statistics.median(samples.pop("ssh"))
            net = {name: [each - ssh for each in seconds] for name, seconds in samples.items()}
            rows += series(f"wan {what}", trip, 0, FILES, FILES * FILE_BYTES, net)
            ours = statistics.median(net["rdcp"])
            line = "".join(f"  {name} {statistics.median(times):6.2f} ({statistics.median(times) / max(ours, 0.001):.2f})"
                           for name, times in net.items())
            print(f"{trip:4} ms  {what:14}{line}  ssh {ssh:.2f}", flush=True)
    return rows


def measure_wan(options) -> int:
    if why := why_no_long_path():
        print(f"bench: {why}", file=sys.stderr)
        return 2
    with contextlib.ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="rdcp-bench-", dir=options.tmpfs))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        if not options.no_warm:
            stack.enter_context(warm_memory([], 3 * SIZE / GIB))
        rows = measure_large(options, folder) + measure_small(options, folder)
        count_turns(options, folder)
    if options.json:
        report = {"congestion": Way(0).congestion, "veth": True, "runs": options.runs, "warm": not options.no_warm,
                  "cpus": os.cpu_count(), "kernel": os.uname().release, "series": rows,
                  "notes": NOTES}
        options.json.write_text(json.dumps(report, indent=2) + "\n")
    return 0
