"""What many hosts cost: rdcp to one host and to N of them over links of a rate, while a host dies, and against other tools that
bring the same to the same hosts, in one run; then what starting takes, and the coordinator's memory. The hosts are network
namespaces on a bridge, each link, also that of the source, as slow as tc makes it; medians count."""

import contextlib
import statistics
import sys
from collections import defaultdict
from dataclasses import dataclass

from bench_hosts_bed import Trial, fresh_fleet, fresh_folder, make_source
from bench_hosts_limits import measure_memory, measure_start
from bench_hosts_peers import DEATH, PEERS, Peer
from bench_machine import files_in, warm_memory
from trees import GIB, tree_size

PATIENCE, LEAST_PATIENCE = 30, 60.0  # times what rdcp takes, and seconds: a tool that takes longer is ended
WARM = 1.5  # times what all hosts get, of memory
ONE_IS_ENOUGH = 8  # times what rdcp takes: a tool that takes longer is run once


@dataclass
class Row:
    """A series: what is copied, to how many hosts, over links of which rate. sshds: else the hosts are entered directly."""
    what: str
    hosts: int
    rate: str
    mib: int  # 0: small files
    sshds: bool
    wanted: float  # most times that the copy to one host takes
    beside: tuple[Peer, ...] = ()
    encrypted: bool = False  # then the targets also prove what they got


ROWS = [
    Row("1 GiB, 8 hosts, 1 Gbit/s", 8, "1gbit", 1024, True, 1.15, (DEATH, *PEERS)),
    Row("5,000 files, 8 hosts, 1 Gbit/s", 8, "1gbit", 0, True, 1.4, tuple(peer for peer in PEERS if peer.trees)),
    Row("64 MiB, 64 hosts, 50 Mbit/s", 64, "50mbit", 64, False, 1.25),
    Row("the same, encrypted", 64, "50mbit", 64, False, 1.25, encrypted=True),
]


def verdict(ratio: float, wanted: float, at_most: bool) -> str:
    reached = ratio <= wanted if at_most else ratio >= wanted
    return f"{ratio:6.2f}  {'<=' if at_most else '>='} {wanted:.2f}  {'reached' if reached else 'NOT REACHED'}"


class Beside:
    """The runs of what is measured beside a row."""

    def __init__(self, peer: Peer, mib: int):
        self.peer = peer
        self.samples: list[float] = []
        self.sent: list[float] = []  # what has left the source, in times of what was copied
        self.why_not = peer.why_not(mib)

    def run(self, trial: Trial, of_all: float):
        """One copy, which all hosts must have then. A tool that has failed, or takes many times as long as rdcp, is not run
        again."""
        if self.why_not or (self.samples and self.samples[0] > ONE_IS_ENOUGH * of_all):
            return
        try:
            with self.peer.prepare(trial) as copy:
                before = trial.fleet.sent_bytes()
                self.samples.append(copy())
                self.sent.append((trial.fleet.sent_bytes() - before) / trial.size)
            trial.check([host for number, host in enumerate(trial.fleet.hosts, 1) if number != self.peer.lost])
        except RuntimeError as error:
            if self.peer.is_rdcp:
                raise
            self.why_not = str(error)
        trial.clear()

    def line(self, of_all: float, start: float) -> str:
        begin = f"  {self.peer.name:41}"
        if self.why_not:
            return f"{begin} left out: {self.why_not}"
        median = statistics.median(self.samples)
        runs = f"{len(self.samples)} run{'s' if len(self.samples) > 1 else ''}"
        ratio = median / (of_all - start if self.peer.waits else of_all)
        judged = verdict(ratio, self.peer.wanted, self.peer.is_rdcp)
        return f"{begin} {median:8.2f} s {judged:27}  {statistics.median(self.sent):5.2f}  {runs:>8}"


def measure_row(options, row: Row):
    samples, beside = defaultdict(list), [Beside(peer, row.mib) for peer in row.beside]
    with fresh_folder(options) as folder, fresh_fleet(folder, row.hosts, row.rate, row.sshds) as fleet, \
            contextlib.ExitStack() as warm:
        source = make_source(folder, row.mib)
        size = tree_size(source)[1]
        if not options.no_warm:
            warm.enter_context(warm_memory(files_in(source), WARM * row.hosts * size / GIB))
        shell = fleet.ssh_text() if row.sshds else str(fleet.enter_script())
        rdcp = [options.rdcp, "-e", shell, "--rdcp-path", options.rdcp, *([] if row.encrypted else ["--no-encrypt"]), "-r", source]
        with Trial(fleet, source, size, rdcp) as trial:
            for _ in range(options.runs):
                samples["one"].append(trial.copy_to(1))
                trial.clear()
                samples["start"].append(trial.start_all())
                trial.clear()
                before = fleet.sent_bytes()
                samples["all"].append(trial.copy_to(row.hosts))
                samples["sent"].append((fleet.sent_bytes() - before) / trial.size)
                trial.check(fleet.hosts)
                trial.clear()
                trial.limit = max(PATIENCE * samples["all"][0], LEAST_PATIENCE)
                for each in beside:
                    each.run(trial, samples["all"][0])
    one, start, of_all, sent = (statistics.median(samples[name]) for name in ("one", "start", "all", "sent"))
    print(f"{row.what:32} {one:8.2f} s {of_all:8.2f} s {verdict(of_all / one, row.wanted, True):27}  {sent:5.2f}  {start:6.2f} s")
    print(*(each.line(of_all, start) for each in beside), sep="\n", end="\n" if beside else "", flush=True)


def measure_hosts(options) -> int:
    options.rdcp = options.rdcp.resolve()
    print(f"{'':32} {'one host':>10} {'all':>10} {'ratio':>6}  {'wanted':>7}  {'':11}   sent     start")
    for row in ROWS:
        measure_row(options, row)
    measure_start(options)
    measure_memory(options)
    print("ratio: to one host; beneath that, of another tool to rdcp, and of a copy while a host dies to one where none does.\n"
          "To tools that wait on all hosts before their clock starts it is without rdcp's start.\n"
          "sent: what has left the source, in times of what was copied; start: a copy of one byte to all", file=sys.stderr)
    return 0
