"""What many hosts cost: rdcp to one host and to N of them over links of a rate, against N scp at once, in one run. The hosts are
network namespaces on a bridge, each link as slow as tc makes it; medians count."""

import contextlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from fleet import Fleet, Host
from trees import MIB, make_file

SMALL_FILES = 5000


@dataclass
class Row:
    """A series: what is copied, to how many hosts, over links of which rate. sshds: else the hosts are entered directly."""
    what: str
    hosts: int
    rate: str
    mib: int  # 0: small files
    sshds: bool
    wanted: float  # most times that the copy to one host takes
    encrypted: bool = False  # then the targets also prove what they got


ROWS = [
    Row("1 GiB, 8 hosts, 1 Gbit/s", 8, "1gbit", 1024, True, 1.15),
    Row("5,000 files, 8 hosts, 1 Gbit/s", 8, "1gbit", 0, True, 1.4),
    Row("64 MiB, 64 hosts, 50 Mbit/s", 64, "50mbit", 64, False, 1.25),
    Row("the same, encrypted", 64, "50mbit", 64, False, 1.25, encrypted=True),
]


def timed(command: list) -> float:
    begin = time.monotonic()
    subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)
    return time.monotonic() - begin


def scp_at_once(fleet: Fleet, source: Path) -> float:
    begin = time.monotonic()
    running = [subprocess.Popen(["scp", "-q", "-r", "-F", str(fleet.config), str(source), f"{host.name}:{fleet.data}/copy"])
               for host in fleet.hosts]
    if any([process.wait() for process in running]):
        raise RuntimeError("scp failed")
    return time.monotonic() - begin


def clear(hosts: list[Host]):
    for host in hosts:
        shutil.rmtree(host.own / "copy", ignore_errors=True)
        (host.own / "copy").unlink(missing_ok=True)


def make_source(folder: Path, row: Row) -> tuple[Path, int]:
    source = folder / "source"
    if row.mib:
        make_file(source, row.mib * MIB)
        return source, row.mib * MIB
    for number in range(SMALL_FILES):
        path = source / f"d{number % 50}" / f"f{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes([number % 256]) * (number % 8000))
    return source, sum(number % 8000 for number in range(SMALL_FILES))


def measure_row(options, row: Row):
    with contextlib.ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="rdcp-bench-", dir=options.tmpfs))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        source, size = make_source(folder, row)
        place = folder / "fleet"
        place.mkdir()
        fleet = stack.enter_context(Fleet(place, row.hosts, row.rate, None if row.sshds else 0))
        shell = fleet.ssh_text() if row.sshds else str(fleet.enter_script())
        rdcp = [options.rdcp, "-e", shell, "--rdcp-path", options.rdcp, *([] if row.encrypted else ["--no-encrypt"]), "-r", source]
        one, all_of_them = f"h1:{fleet.data}/copy", f"h[1-{row.hosts}]:{fleet.data}/copy"
        samples: dict[str, list[float]] = {"one": [], "all": [], "scp": []}
        sent = []
        for _ in range(options.runs):
            samples["one"].append(timed([*rdcp, one]))
            clear(fleet.hosts)
            before = fleet.sent_bytes()
            samples["all"].append(timed([*rdcp, all_of_them]))
            sent.append((fleet.sent_bytes() - before) / size)
            clear(fleet.hosts)
            if row.sshds:
                samples["scp"].append(scp_at_once(fleet, source))
                clear(fleet.hosts)
        medians = {name: statistics.median(times) for name, times in samples.items() if times}
        ratio = medians["all"] / medians["one"]
        scp = f"{medians['scp']:8.2f} s ({medians['scp'] / medians['all']:.2f})" if "scp" in medians else f"{'':17}"
        print(f"{row.what:32} {medians['one']:8.2f} s {medians['all']:8.2f} s {ratio:6.2f}  <= {row.wanted:.2f}  "
              f"{'reached    ' if ratio <= row.wanted else 'NOT REACHED'} {scp}  {statistics.median(sent):5.2f}", flush=True)


def measure_hosts(options) -> int:
    print(f"{'':32} {'one host':>10} {'all':>10} {'ratio':>6}  {'wanted':>7}  {'':11} {'scp at once':>17}  sent")
    for row in ROWS:
        measure_row(options, row)
    print("in brackets: how many times as fast as scp; sent: what has left the source, in times of what was copied",
          file=sys.stderr)
    return 0
