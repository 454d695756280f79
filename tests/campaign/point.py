"""One point: a scenario, a fault in it, and what the model says to what came of it."""

import json
import os
import random
import signal
from dataclasses import dataclass, field, replace
from pathlib import Path

import model
from faults import FAMILIES, Fault, draw_fault
from scenario import draw_scenario, final_tree
from snapshot import differences, snapshot
from workplace import Ended, Workplace

SCENARIOS = 400
# What else a message may name than a path, where something did not suffice.
RESOURCES = ("standard", "a pipe", "thread", "memory", "socket", "io_uring", "eventfd", "descriptor", "session key",
             "nonce", "salt", "signalfd", "sandbox")


@dataclass
class Verdict:
    seed: int
    scenario: str
    fault: str = ""
    kind: str = ""     # of the fault
    outcome: str = ""
    nth: int = 0
    complaints: list = field(default_factory=list)
    notes: str = ""    # what it printed
    excuse: str = ""   # why complaints count for nothing


class Point:
    def __init__(self, place: Workplace, seed: int, nth: int | None = None, families: tuple = ()):
        """nth: at which call the fault comes, if it is not to be drawn. families: of faults.FAMILIES (all)."""
        self.place, self.seed, self.nth = place, seed, nth
        self.families = families or tuple(name for name in FAMILIES if name != "full" or os.geteuid() == 0)
        self.chance = random.Random(f"point {seed}")
        self.number = self.chance.randrange(SCENARIOS)
        self.scenario = draw_scenario(self.number)
        builds = place.builds
        self.builds = (self.chance.choice(builds), self.chance.choice(builds))
        self.verdict = Verdict(seed, str(self.scenario))

    def run(self) -> Verdict:
        place, scenario = self.place, self.scenario
        source = place.source(scenario)
        facts = place.facts[source]
        counts = self.dry_run(facts)
        if counts is None:
            return self.verdict
        by_call = {tuple(key.split("/")): count for key, count in counts.items()}
        fault = draw_fault(self.chance, by_call, scenario.has_pipes, self.families)
        if self.nth:
            fault.nth = self.nth
        self.verdict.fault, self.verdict.kind, self.verdict.nth = str(fault), fault.kind, fault.nth
        place.prepare(scenario, fault)
        old, beside = place.look(scenario)
        final = final_tree(scenario, facts, old)
        place.page.order(fault.role, fault.call, fault.action, fault.nth, fault.times, fault.error, fault.haste)
        ended = place.run(scenario, self.builds, fault)
        fired, _, crashed, crashed_role = place.page.outcome()
        fired = fired or not fault.is_in_calls
        place.page.no_order()
        place.make_room()
        self.verdict.outcome = f"exit {ended.status}" if fired else "not reached"
        self.verdict.notes = f"{ended.seconds:.2f} s; {ended.err}"
        complain = self.verdict.complaints.extend
        complain(ended.complaints)
        if crashed:
            complain([f"role {crashed_role} crashed by {signal.Signals(crashed).name}"])
        if "Sanitizer" in ended.err:
            complain(["a sanitizer reports"])
        usual = scenario.usual_status
        self.judge(ended, fault, fired, usual, old, final)
        self.judge_outside(facts, source, beside)
        self.rerun(old, final, beside, usual, fault.hides_holes)
        if self.verdict.complaints:
            self.verdict.notes += "\n" + self.command_line()
        return self.verdict

    def excuse(self) -> str:
        """Why what failed between two builds counts for nothing: the other one does so even with itself. It has been mended
        since. Empty: it is a finding."""
        ours, *others = self.place.builds
        if not self.verdict.complaints or set(self.builds) == {ours}:
            return ""
        def failed_with(build: Path) -> bool:
            alone = Point(self.place, self.seed, self.verdict.nth or None, self.families)
            alone.builds = (build, build)
            return bool(alone.run().complaints)
        return "the other build fails alone" if failed_with(others[0]) and not failed_with(ours) else ""

    def command_line(self) -> str:
        return "\n".join(" ".join(map(str, words)) for words in self.place.commands(self.scenario, self.builds))

    def dry_run(self, facts: dict) -> dict | None:
        """Counts by "role/call"; none if what it does without a fault is already wrong."""
        place, scenario = self.place, self.scenario
        cached = place.shared / f"{self.number}-{'-'.join(str(place.builds.index(build)) for build in self.builds)}"
        if cached.exists():
            return json.loads(cached.read_text())
        place.prepare(scenario)
        old, beside = place.look(scenario)
        final = final_tree(scenario, facts, old)
        place.page.no_order()
        ended = place.run(scenario, self.builds)
        counts = {"/".join(key): count for key, count in place.page.counts().items()}
        usual = scenario.usual_status
        found, now_beside = place.look(scenario)
        complaints = ended.complaints + [f"beside DST: {line}" for line in differences(beside, now_beside)]
        if ended.status != usual:
            complaints.append(f"without a fault it ends with {ended.status}")
        complaints += model.judge_success(final, found, ended.err, self.rules, False)
        if complaints:
            self.verdict.kind, self.verdict.outcome = "no fault", f"exit {ended.status}"
            self.verdict.complaints, self.verdict.notes = complaints, f"{ended.err}\n{self.command_line()}"
            return None
        fresh = cached.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps(counts))
        fresh.rename(cached)
        return counts

    @property
    def rules(self):
        return self.scenario.rules

    def judge(self, ended: Ended, fault: Fault, fired: int, usual: int, old: dict, final: dict):
        complain = self.verdict.complaints.extend
        allowed = fault.statuses(usual, self.scenario.has_pipes) if fired else {usual}
        if not fired and self.scenario.kind == "pipe":
            allowed = {0}
        if ended.status not in allowed:
            complain([f"exit {ended.status}, allowed: {sorted(allowed)}"])
        found, _ = self.place.look(self.scenario)
        if ended.status == 0:
            rules = replace(self.rules, holes_hidden=fault.hides_holes, xattrs_hidden=fault.hides_xattrs(self.scenario.source_roles))
            own = model.litter_in(old, final, found) if fault.leaves_own_names else []
            there = {path: what for path, what in found.items() if path not in own}
            lines = model.judge_success(final, there, ended.err, rules, fault.loses_metadata)
            complain([f"exit 0, but {line}" for line in lines])
        else:
            complain(model.judge_unfinished(old, final, found, self.rules, ended.err))
            if ended.status and self.scenario.kind != "check":
                complain(model.judge_stderr(ended.status, ended.err, [str(self.place.folder), "dst", *RESOURCES]))

    def judge_outside(self, facts: dict, source: Path, beside: dict):
        complain = self.verdict.complaints.extend
        _, now = self.place.look(self.scenario)
        now = {path: what for path, what in now.items() if not model.is_own_name(path)}  # the marker of a new DST
        complain([f"outside DST: {line}" for line in differences(beside, now)])
        complain([f"the source: {line}" for line in differences(facts, snapshot(source))])

    def rerun(self, old: dict, final: dict, beside: dict, usual: int, holes_hidden: bool):
        """The same command again, or --clean before it; nothing of the fault may be left."""
        place, scenario, complain = self.place, self.scenario, self.verdict.complaints.extend
        before, _ = place.look(scenario)
        if self.chance.random() < 0.4:
            if problem := place.clean():
                complain([problem])
            after, now_beside = place.look(scenario)
            complain([f"litter after --clean: {name!r}" for name in model.litter_in(old, final, after)])
            complain([f"after --clean beside DST: {line}" for line in differences(beside, now_beside)])
            kept = {path: what for path, what in before.items() if path in after or not model.is_own_name(path)}
            complain([f"--clean: {line}" for line in differences(kept, after, ("mtime_ns", "linked_with"))])
        again = place.run(self.scenario, self.builds)
        found, now_beside = place.look(scenario)
        complain([f"when run again: {line}" for line in again.complaints])
        if again.status != usual:
            complain([f"when run again, it ends with {again.status}: {again.err}"])
        else:
            own = model.litter_in(old, final, found)
            there = {path: what for path, what in found.items() if path not in own}
            rules = replace(self.rules, holes_hidden=holes_hidden)
            lines = model.judge_success(final, there, again.err, rules, False)
            complain([f"when run again: {line}" for line in lines])
        if problem := place.clean():
            complain([problem])
        found, now_beside = place.look(scenario)
        complain([f"litter at the end: {name!r}" for name in model.litter_in(old, final, found)])
        complain([f"at the end beside DST: {line}" for line in differences(beside, now_beside)])
