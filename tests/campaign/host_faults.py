"""What may go wrong at one of several hosts, at their source or at the coordinator, and what may follow from it."""

import random
from dataclasses import dataclass, field

from host_scenario import HostScenario

# The quick clock, where somebody must wait for a limit: 8 s of a silent host are little more than one. A quicker one would
# take a host for silent that is only busy, since all of them share the processors.
HASTE = 6
# Where a host that is taken for silent costs all of them the copy.
HASTE_OF_STREAMS = 2

AT_HOSTS = {"kill": 5, "stop": 3, "pause": 1, "cut": 4, "blink": 2, "full": 3, "slow": 3, "flip": 3, "flips": 1}
AT_SOURCE = {"kill": 2, "stop": 1, "slow": 1, "flip": 1, "cut": 1}
AT_COORDINATOR = {"kill": 2, "stop": 1}
SHARES = ((AT_HOSTS, 0.84), (AT_SOURCE, 0.08), (AT_COORDINATOR, 0.08))
WHAT = {"kill": "SIGKILL", "stop": "SIGSTOP", "pause": "SIGSTOP for a moment", "cut": "its link is down",
        "blink": "its link is down for a moment", "full": "its disk is full", "slow": "its disk is slow",
        "flip": "it sends wrong bytes", "flips": "it sends nothing but wrong bytes"}
WAITS = ("stop", "pause", "cut", "blink")  # for limits
BREAKS = ("kill", "stop", "pause", "cut", "blink", "flips")  # the chain may end
COORDINATOR, SOURCE = -1, 0


@dataclass
class HostFault:
    what: str
    at: int        # the number of a host, from 1 on; SOURCE or COORDINATOR
    after: float   # this share of what there is to send has reached `clock`
    clock: int     # the number of a host
    much: int      # "slow": milliseconds for each write; "full": bytes that are left; "flip": how many
    fired: bool = False
    stopped: list = field(default_factory=list)  # processes

    @property
    def kind(self) -> str:
        where = {COORDINATOR: "the coordinator", SOURCE: "the source"}.get(self.at, "a host")
        return f"{where}: {WHAT[self.what]}"

    def __str__(self):
        where = {COORDINATOR: "coordinator", SOURCE: "source"}.get(self.at, f"h{self.at}")
        much = f" ({self.much})" if self.what in ("slow", "full", "flip") else ""
        return f"{where}: {WHAT[self.what]}{much} after {self.after:.0%} at h{self.clock}"


def draw_host_faults(chance: random.Random, scenario: HostScenario) -> list[HostFault]:
    faults = []
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3))):
        shares = chance.choices([table for table, _ in SHARES], [share for _, share in SHARES])[0]
        what = chance.choices(list(shares), list(shares.values()))[0]
        at = chance.randint(1, scenario.hosts)
        clock = at
        if shares is not AT_HOSTS:
            at = COORDINATOR if shares is AT_COORDINATOR else SOURCE
            if what == "cut" and not scenario.source_is_far:
                what = "kill"  # its link is that of this host
        if what in ("flip", "flips") and at > 1 and not scenario.sends_on(at):
            at = scenario.parent(at)  # a last one sends nothing on
        much = {"slow": chance.randrange(5, 40), "full": chance.randrange(1 << 21), "flip": chance.choice((1, 1, 2))}.get(what, 0)
        faults.append(HostFault(what, at, chance.random() ** 1.5 * 0.9, clock, much))
    if len({fault.at for fault in faults}) < len(faults):  # each at a place of its own
        faults = list({fault.at: fault for fault in faults}.values())
    return faults


def excused_hosts(scenario: HostScenario, faults: list[HostFault]) -> set[int]:
    """Which hosts need not have all after these faults, which have come. Those of one host never excuse another one,
    with one exception: nothing copies standard input twice."""
    everyone = set(range(1, scenario.hosts + 1))
    if scenario.is_read_once and any(fault.what in BREAKS or (fault.what == "flip" and scenario.is_sealed) for fault in faults):
        return everyone
    excused = set()
    for fault in faults:
        excused |= everyone if fault.at == COORDINATOR else excused_by(scenario, fault, len(faults), everyone)
    return excused


def excused_by(scenario: HostScenario, fault: HostFault, faults: int, everyone: set[int]) -> set[int]:
    tries_suffice = scenario.retries >= faults and not scenario.is_read_once
    what, at = fault.what, fault.at
    if what in ("flip", "flips"):  # who gets wrong bytes from a host gets its copy alone in the end, but where from the source
        return everyone if at == SOURCE and scenario.is_sealed else set()
    if what == "slow":
        return set()
    if at == SOURCE:
        return set() if what == "kill" and tries_suffice else everyone
    if what == "kill" and tries_suffice:
        return set()
    if what in ("stop", "pause") and faults == 1:  # it gets its copy alone, by another agent
        return set()
    return {at}
