"""One point with several hosts: a copy, some faults in it, and what the model says to what came of it at each host."""

import random
import re
import signal
from collections import Counter

import model
from harness import MIB
from host_faults import COORDINATOR, HostFault, draw_host_faults, excused_hosts
from host_place import HostPlace
from host_scenario import bytes_to_send, draw_host_scenario
from point import Verdict
from scenario import final_tree
from snapshot import differences, snapshot
from workplace import Ended

SHARE_CLEANED = 0.4
# What it says of each further chain.
TOLD = ("goes on with ", "gets its copy alone later", r"goes on in \d+ s \(try")
# Frames, acknowledgements' own packets, the control channel's, and what ssh adds.
SHARE_OF_OVERHEAD, OVERHEAD = 0.06, 2 * MIB


class HostPoint:
    def __init__(self, place: HostPlace, seed: int, number: int):
        self.place = place
        self.chance = random.Random(f"hosts {seed}:{number}")
        self.scenario = draw_host_scenario(self.chance)
        self.faults = draw_host_faults(self.chance, self.scenario)
        self.verdict = Verdict(seed, str(self.scenario), "; ".join(map(str, self.faults)), nth=number)
        self.verdict.kind = self.faults[0].kind if len(self.faults) == 1 else f"{len(self.faults)} faults"

    def complain(self, lines: list[str]):
        self.verdict.complaints += lines

    @property
    def numbers(self) -> range:
        return range(1, self.scenario.hosts + 1)

    def run(self) -> Verdict:
        place, scenario = self.place, self.scenario
        source = place.sources_of(scenario)[0]
        self.payload = bytes_to_send(scenario, source)
        place.prepare(scenario, self.faults)
        before = {number: place.look(scenario, number) for number in self.numbers}
        self.old = {number: inside for number, (inside, _) in before.items()}
        self.beside = {number: beside for number, (_, beside) in before.items()}
        self.final = {number: final_tree(scenario, place.facts[source], old) for number, old in self.old.items()}
        sent = place.sent_bytes(scenario)
        self.began_at = {number: place.fleet[number].received_bytes() for number in self.numbers}
        self.at_rest = Counter()
        ended = place.run(scenario, self.do_harm)
        sent = place.sent_bytes(scenario) - sent
        fired = [fault for fault in self.faults if fault.fired and place.has_harmed(fault, scenario)]
        self.verdict.outcome = f"exit {ended.status}" if fired else "not reached"
        self.verdict.notes = f"{ended.seconds:.2f} s, {sent} of {self.payload} bytes sent; {ended.err}"
        self.complain(ended.complaints)
        failed = self.failed_hosts(ended)
        self.judge(ended, fired, failed)
        self.judge_bytes(ended, sent, fired)
        # What a stopped agent does once it goes on comes after the copy, which another one has made.
        stopped = {fault.at for fault in fired if fault.what == "stop" and fault.at > 0}
        self.judge_hosts(ended, failed, stopped)
        place.mend()
        self.complain(place.await_ends())
        self.judge_crashes(ended)
        self.judge_hosts(ended, failed, set(self.numbers) - stopped)
        self.rerun()
        self.complain([f"the source: {line}" for line in differences(place.facts[source], snapshot(source))])
        if self.verdict.complaints:
            self.verdict.notes += "\n" + " ".join(map(str, place.command(scenario)))
        return self.verdict

    # -- harm --------------------------------------------------------------------------------------------------------

    def do_harm(self, coordinator):
        for fault in self.faults:
            if not fault.fired:
                here = self.place.fleet[fault.clock].received_bytes() - self.began_at[fault.clock]
                if here > fault.after * self.payload:
                    fault.fired = self.place.fire(fault, self.scenario, coordinator)
            elif fault.what == "blink" and self.has_been_noticed(fault):
                self.place.fleet[fault.at].join()
            elif fault.what == "pause" and self.nothing_moves(fault):
                self.place.let_go_on(fault.stopped)
            elif fault.at == COORDINATOR and fault.what == "stop" and self.agents_have_ended():
                self.place.let_go_on(fault.stopped)

    def has_been_noticed(self, fault: HostFault) -> bool:
        """That its link is down: a host is to have its copy alone, or later."""
        return f"h{fault.at}: " in self.place.said() or "goes on" in self.place.said()

    def nothing_moves(self, fault: HostFault) -> bool:
        """What comes to the host has come for some looks: the chain before it is full."""
        now = self.place.fleet[fault.at].received_bytes()
        key = (fault.at, now)
        self.at_rest[key] += 1
        return self.at_rest[key] > 20

    def agents_have_ended(self) -> bool:
        """Without a coordinator that says anything. One that is stopped itself cannot."""
        stopped = {process for fault in self.faults if fault.at > 0 for process in fault.stopped}
        return not any(set(host.agents()) - stopped for host in self.place.fleet.hosts)

    # -- the model ---------------------------------------------------------------------------------------------------

    def failed_hosts(self, ended: Ended) -> set[int] | None:
        """Those that the command named; none if it could not."""
        if not self.place.failed_hosts.exists():
            return None
        return {int(line.removeprefix("h")) for line in self.place.failed_hosts.read_text().split()}

    def judge(self, ended: Ended, fired: list[HostFault], failed: set[int] | None):
        """Exit status and list."""
        killed = any(fault.at == COORDINATOR and fault.what == "kill" for fault in fired)
        if killed and ended.status == -signal.SIGKILL:
            self.complain(["--failed-hosts was written by who was killed"] if failed is not None else [])
            return
        if failed is None:
            self.complain([f"exit {ended.status}, and --failed-hosts has not been written"])
            return
        excused = excused_hosts(self.scenario, fired)
        self.complain([f"h{number} is named, and nothing has failed there" for number in sorted(failed - excused)])
        if not failed:
            allowed = {0}
        elif len(failed) < self.scenario.hosts:
            allowed = {1}
        else:
            allowed = {1, 3, 4, 5}
        if ended.status not in allowed:
            self.complain([f"exit {ended.status}, allowed: {sorted(allowed)}; failed: {sorted(failed)}"])
        count = re.findall(r"(\d+) of (\d+) hosts have all", ended.err)
        if failed and count != [(str(self.scenario.hosts - len(failed)), str(self.scenario.hosts))]:
            self.complain([f"{len(failed)} hosts are in the list, but it says {count}"])
        unnamed = [number for number in failed if f"h{number}: " not in ended.err]
        self.complain([f"h{number} has failed, and no line of stderr says why" for number in unnamed])

    def judge_crashes(self, ended: Ended):
        for name, page in self.place.pages.items():
            _, _, crashed, _ = page.outcome()
            if crashed:
                self.complain([f"{name} crashed by {signal.Signals(crashed).name}"])
        if "Sanitizer" in ended.err:
            self.complain(["a sanitizer reports"])

    def judge_hosts(self, ended: Ended, failed: set[int] | None, numbers: set[int]):
        for number in sorted(numbers):
            found, beside = self.place.look(self.scenario, number)
            was_left = failed is None or number in failed
            old, final = self.old[number], self.final[number]
            if was_left:
                lines = model.judge_unfinished(old, final, found, self.scenario.rules, ended.err)
            else:
                own = model.litter_in(old, final, found) if self.may_leave_own_names() else []
                there = {path: facts for path, facts in found.items() if path not in own}
                lines = model.judge_success(final, there, ended.err, self.scenario.rules, False)
            self.complain([f"h{number}{' (failed)' if was_left else ''}: {line}" for line in lines])
            beside = {path: facts for path, facts in beside.items() if not model.is_own_name(path)}
            self.complain([f"h{number} beside DST: {line}" for line in differences(self.beside[number], beside)])

    def may_leave_own_names(self) -> bool:
        """An agent that was stopped or killed there, or lost, could not clean, while another one has finished the copy."""
        return any(fault.fired for fault in self.faults)

    def judge_bytes(self, ended: Ended, sent: int, fired: list[HostFault]):
        """The data leaves the source once for each chain: for the first one, for another one after each break, for each host
        that gets its copy alone, and for each try. None of these sends more than the payload, since a host that lacks
        something takes it from the host before. It may be all of that, because every host gets what one of them lacks: where
        the hosts before a break have come to the end of a file, the parts of those behind are of no use."""
        further = {words: len(re.findall(words, ended.err)) for words in TOLD}
        damaged = 3 * MIB * sum(fault.what.startswith("flip") for fault in fired)  # a chunk is sent three times at most
        most = self.bytes_of(1 + sum(further.values())) + damaged
        if sent > most:
            self.complain([f"{sent} bytes have left the source, {most} at most should: {further}"])

    def bytes_of(self, chains: int) -> int:
        """What so many chains may send at most."""
        return int(chains * self.payload * (1 + SHARE_OF_OVERHEAD)) + OVERHEAD

    def rerun(self):
        """The same command again, or --clean before it; nothing of the faults may be left."""
        place, scenario = self.place, self.scenario
        if self.chance.random() < SHARE_CLEANED:
            self.clean("after --clean")
        place.failed_hosts.unlink(missing_ok=True)
        place.use_true_clock()
        sent = place.sent_bytes(scenario)
        again = place.run(scenario)
        sent = place.sent_bytes(scenario) - sent
        self.complain([f"when run again: {line}" for line in again.complaints + place.await_ends()])
        if again.status != 0 or self.failed_hosts(again):
            self.complain([f"when run again, it ends with {again.status}, {self.failed_hosts(again)}: {again.err}"])
        most = self.bytes_of(1 + again.err.count("goes on with "))
        if sent > most:
            self.complain([f"when run again, it sends {sent} bytes of {self.payload}"])
        for number in self.numbers:
            found, _ = place.look(scenario, number)
            old, final = self.old[number], self.final[number]
            own = model.litter_in(old, final, found)
            there = {path: facts for path, facts in found.items() if path not in own}
            lines = model.judge_success(final, there, again.err, scenario.rules, False)
            self.complain([f"when run again, h{number}: {line}" for line in lines])
        self.clean("at the end")

    def clean(self, when: str):
        for number in self.numbers:
            if problem := self.place.clean(number):
                self.complain([problem])
            found, beside = self.place.look(self.scenario, number)
            litter = model.litter_in(self.old[number], self.final[number], found)
            self.complain([f"{when} h{number} has {name!r}" for name in litter])
            self.complain([f"{when} h{number} beside DST: {line}" for line in differences(self.beside[number], beside)])
