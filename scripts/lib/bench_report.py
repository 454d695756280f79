"""What a benchmark's samples come to: medians, ratios, and whether rdcp is as fast as it must be."""

import statistics
from dataclasses import dataclass, field

from bench_peers import FLOOR, SSH_TRUE, Sample

# How many times as fast as a peer rdcp must be, by workload and target. "net" rows leave ssh's own start-up out of
# rdcp's time, for peers that have none.
WANTED = {
    ("big", "tmpfs"): {"scp": 3.2, "rsync": 3.6, "tar+nc": 2.0, "net socat": 1.05},
    ("big", "disk"): {"scp": 3.2, "tar+nc": 2.6, "net cp": 1.0},
    ("model", "tmpfs"): {"tar+nc": 2.0, "rsync": 4.5},
    ("model", "disk"): {"tar+nc": 2.0, "rsync": 4.5},
    ("small", "tmpfs"): {"tar+nc": 1.0, "rsync": 2.5, "scp": 20.0},
    ("delta", "tmpfs"): {"net rsync": 1.5},
    ("delta", "disk"): {"net rsync": 1.5},
    ("small", "disk"): {"tar+nc": 1.3, "rsync": 2.2},
    ("stream", "null"): {"nc": 2.0, "socat": 0.9, "ssh": 5.0},
    ("stream", "disk"): {"nc": 1.3},
}
OURS = ("rdcp", "rdsend")


@dataclass
class Series:
    """All runs of one peer on one workload and target."""
    workload: str
    target: str
    peer: str
    files: int
    size: int
    samples: list[Sample] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(sample.seconds for sample in self.samples)

    @property
    def cpu_per_gb(self) -> float:
        return statistics.median(sample.cpu_seconds for sample in self.samples) / (self.size / 1e9)

    def as_json(self) -> dict:
        seconds = [sample.seconds for sample in self.samples]
        return {"workload": self.workload, "target": self.target, "peer": self.peer, "files": self.files,
                "bytes": self.size, "seconds": seconds, "cpu_seconds": [s.cpu_seconds for s in self.samples],
                "median_seconds": self.median, "min_seconds": min(seconds), "max_seconds": max(seconds),
                "gb_per_second": self.size / 1e9 / self.median, "files_per_second": self.files / self.median,
                "cpu_seconds_per_gb": self.cpu_per_gb, "note": self.samples[-1].note}


def our_tool(group: dict[str, Series]) -> str | None:
    return next((name for name in OURS if name in group), None)


def ratios(group: dict[str, Series]) -> dict[str, float]:
    """Our tool's speed by peer; "net PEER" with ssh's start-up left out of its time, for peers that use no ssh."""
    ours = our_tool(group)
    rdcp = group[ours].median
    found = {name: series.median / rdcp for name, series in group.items() if name not in (ours, SSH_TRUE)}
    if SSH_TRUE in group:
        net = max(rdcp - group[SSH_TRUE].median, 1e-9)
        found |= {f"net {name}": group[name].median / net for name in ("cp", "socat", "tar+nc", FLOOR) if name in group}
    if "rsync" in group and group["rdcp"].workload == "delta":  # both of them start ssh
        ssh = group[SSH_TRUE].median
        found["net rsync"] = (group["rsync"].median - ssh) / max(rdcp - ssh, 1e-9)
    return found


def verdicts(workload: str, target: str, group: dict[str, Series]) -> list[dict]:
    """Each ratio beside the wanted one (None: nothing is asked for), and the CPU time beside tar+nc's."""
    wanted = WANTED.get((workload, target), {})
    lines = [{"against": peer, "ratio": ratio, "wanted": wanted.get(peer),
              "reached": None if peer not in wanted else ratio >= wanted[peer]}
             for peer, ratio in ratios(group).items()]
    if "tar+nc" in group:
        ratio = group["tar+nc"].cpu_per_gb / max(group[our_tool(group)].cpu_per_gb, 1e-9)
        lines.append({"against": "tar+nc's CPU time", "ratio": ratio, "wanted": 1.0, "reached": ratio >= 1.0})
    return lines


def print_group(group: dict[str, Series]):
    first = next(iter(group.values()))
    print(f"\n{first.workload} -> {first.target}: {first.files} files, {first.size / 1e9:.2f} GB, "
          f"{len(first.samples)} runs" + (", until it is on the disk" if first.target == "disk" else ""))
    print(f"  {'tool':14} {'median s':>9} {'min - max':>15} {'GB/s':>7} {'files/s':>8} {'CPU s/GB':>9}")
    for series in sorted(group.values(), key=lambda series: series.median):
        data = series.as_json()
        span = f"{data['min_seconds']:.2f} - {data['max_seconds']:.2f}"
        print(f"  {series.peer:14} {series.median:9.2f} {span:>15}", end="")
        if series.peer != SSH_TRUE:
            print(f" {data['gb_per_second']:7.3f} {data['files_per_second']:8.1f} {series.cpu_per_gb:9.2f}", end="")
        print()
    ours = our_tool(group)
    if ours is None:
        return
    print(f"  {ours + ' against':20} {'ratio':>7} {'wanted':>8}")
    for line in verdicts(first.workload, first.target, group):
        wanted = f">= {line['wanted']:.2f}" if line["wanted"] else ""
        word = {True: "reached", False: "NOT REACHED", None: ""}[line["reached"]]
        print(f"  {line['against']:20} {line['ratio']:7.2f} {wanted:>8}  {word}")
    for text in group[ours].samples[-1].note.splitlines()[-6:]:
        print(f"  | {text}")
