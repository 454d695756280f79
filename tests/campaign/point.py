"""One point: a scenario, a fault in it, and what the model says to what came of it."""

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import model
import processes
from faults import Fault, draw_fault
from harness import make_file, preloaded
from page import Page
from scenario import (ONE_FILE, SOURCE, STREAMS, TARGET, Scenario, build_big, build_old, build_source, draw_scenario,
                      final_tree)
from snapshot import differences, snapshot

LONGEST = 60  # seconds for one command; the longest limit of its own is 25
GRACE = 10  # and for all that it started
SCENARIOS = 400
RESOURCES = ("standard", "a pipe", "thread", "memory", "socket", "io_uring", "eventfd", "descriptor", "session key", "signalfd")
COMMON = ("--chunk-size=64K", "--retry-time=3")


@dataclass
class Ended:
    status: int | None  # none: it did not end
    err: str
    out: str
    seconds: float
    complaints: list = field(default_factory=list)


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


class Workplace:
    """A folder in memory where one worker makes its points, one after the other."""

    def __init__(self, folder: Path, shared: Path, builds: list[Path]):
        self.folder, self.shared, self.builds = folder, shared, builds
        folder.mkdir()
        self.page = Page(folder / "page")
        self.parent = folder / "point"
        self.dst = self.parent / "dst"
        self.sources, self.facts = {}, {}
        self.shell = folder / "shell"
        self.shell.write_text("#!/bin/sh\nRDCP_CAMPAIGN_ROLE=${1%%@*}\nexport RDCP_CAMPAIGN_ROLE\nshift\nexec \"$@\"\n")
        self.shell.chmod(0o755)

    # -- trees -----------------------------------------------------------------------------------------------------

    def source(self, scenario: Scenario) -> Path:
        key = "big" if scenario.kind == "part" else scenario.tree
        if key not in self.sources:
            root, old = self.folder / f"source-{key}", self.folder / f"old-{key}"
            if key == "big":
                root.mkdir()
                build_big(root / "big")
                old.mkdir()
                make_file(old / "big", 17 << 20, seed=77)
                with open(old / "big", "r+b") as file:
                    file.seek(5 << 20)
                    file.write(b"other")
                make_file(old / "extra", 1000)
            else:
                build_source(root, key)
                build_old(root, old, key)
            self.sources[key] = (root, old)
            self.facts[root] = snapshot(root)
        return self.sources[key][0]

    def prepare(self, scenario: Scenario):
        """Makes what is there before the run."""
        if self.parent.exists():
            shutil.rmtree(self.parent)
        (self.parent / "outside").mkdir(parents=True)
        make_file(self.parent / "outside" / "file", 1000)
        os.symlink("../dst", self.parent / "outside" / "link")
        source = self.source(scenario)
        if scenario.before == "empty":
            self.dst.mkdir()
        elif scenario.before == "old":
            subprocess.run(["cp", "-a", self.sources["big" if scenario.kind == "part" else scenario.tree][1], self.dst],
                           check=True)
        if scenario.kind in ONE_FILE:
            os.chmod(source, 0o755)

    def look(self, scenario: Scenario) -> tuple[dict, dict]:
        """DST as a tree of its own, and all else that is beside it."""
        inside, beside = {}, {}
        for path, facts in snapshot(self.parent).items():
            if path == b"dst" or path.startswith(b"dst/"):
                inside[path[4:]] = facts
            elif path:
                beside[path] = facts
        if scenario.kind in ONE_FILE and b"" in inside:
            inside[b""].mtime_ns = 0  # as any folder's in which a name is made
        for facts in inside.values():
            facts.linked_with = tuple(name[4:] for name in facts.linked_with)
        return inside, beside

    # -- commands --------------------------------------------------------------------------------------------------

    def environment(self, role: str) -> dict:
        return {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "SHELL": "/bin/sh",
                **preloaded("fault", RDCP_CAMPAIGN_PAGE=self.page.path, RDCP_CAMPAIGN_ROLE=role)}

    def commands(self, scenario: Scenario, builds: tuple[Path, Path]) -> list[list]:
        """What the user starts. Of rdsend and rdrecv: the receiver first."""
        near, far = builds
        source, options = self.source(scenario), list(scenario.options)
        from_, to = SOURCE if scenario.source_is_far else "", TARGET if scenario.target_is_far else ""
        name = scenario.file_name
        reach = ["--rsh", self.shell, "--rdcp-path", far / "rdcp"]
        if scenario.kind == "pipe":
            port = free_port()
            receiving = [word for word in options if word not in ("--compress=1", "--streams=1")]
            return [[far / "rdrecv", *receiving, port, "key", self.dst / name],
                    [near / "rdsend", "--chunk-size=64K", *options, "--wait=3", "127.0.0.1", port, "key", source / name]]
        if scenario.kind == "rdpipe":
            return [[near / "rdpipe", *reach, "--chunk-size=64K", *options, f"{from_ or ':'}< {source / name}",
                     f"{to or ':'}> {self.dst / name}"]]
        words = [near / "rdcp", *reach, *COMMON, *options]
        if scenario.kind == "stdin":
            return [[*words, "-", f"{to}{self.dst / name}"]]
        if scenario.kind in ONE_FILE:
            return [[*words, f"{from_}{source / name}", f"{to}{self.dst / name}"]]
        if scenario.kind == "check":
            words = [near / "rdcp", "--check", *reach, *options]
        how = {"tree": ["-r"], "sync": ["--sync"], "mirror": ["--sync", "--delete"], "inplace": ["--sync", "--inplace"],
               "check": []}[scenario.kind]
        return [[*words, *how, f"{from_}{source}/", f"{to}{self.dst}{'/' if scenario.kind == 'check' else ''}"]]

    def run(self, scenario: Scenario, builds: tuple[Path, Path], fault: Fault | None = None) -> Ended:
        for name in ("near", "far"):
            for kind in ("err", "out"):
                (self.folder / f"{name}.{kind}").write_bytes(b"")
        *receiver, command = self.commands(scenario, builds)
        began = time.monotonic()
        other = processes.start(receiver[0], self.environment("target"), self.folder, "far") if receiver else None
        with contextlib.ExitStack() as stack:
            stdin = subprocess.DEVNULL
            if scenario.kind == "stdin":
                stdin = stack.enter_context(open(self.source(scenario) / scenario.file_name, "rb"))
            process = processes.start(command, self.environment("near"), self.folder, "near", stdin)
        wakes = self.wake if fault and fault.error == signal.SIGSTOP and fault.action == "signal" else None
        complaints = []
        if not processes.wait_for_end(process, LONGEST, wakes):
            complaints.append(f"still running after {LONGEST} s: {processes.children()}")
        elif other and process.returncode != 0 and not self.ends_soon(other, wakes):
            os.kill(other.pid, signal.SIGTERM)  # it has not met its sender, and would wait for ever, as it should
        complaints += processes.await_all(GRACE)
        ended = Ended(process.returncode, self.said("err"), self.said("out"), time.monotonic() - began, complaints)
        if other and process.returncode == 0 and self.status_of(other) != 0:
            complaints.append(f"rdsend ends with 0, rdrecv with {other.returncode}")
        return ended

    def ends_soon(self, other, wakes) -> bool:
        return processes.wait_for_end(other, 3, wakes)

    @staticmethod
    def status_of(process) -> int | None:
        with contextlib.suppress(ChildProcessError):
            process.wait(0)
        return process.returncode

    def said(self, kind: str) -> str:
        return "".join((self.folder / f"{name}.{kind}").read_text(errors="replace") for name in ("near", "far"))

    def wake(self):
        """What a fault has stopped goes on a moment later."""
        fired, pid, _, _ = self.page.outcome()
        if fired and pid:
            time.sleep(0.05)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def clean(self) -> str:
        """What rdcp --clean says when it fails."""
        done = subprocess.run([self.builds[0] / "rdcp", "--clean", self.parent], capture_output=True, text=True, check=False,
                              timeout=LONGEST, errors="replace")
        return "" if done.returncode == 0 else f"--clean ends with {done.returncode}: {done.stderr}"


def free_port() -> str:
    with socket.create_server(("", 0)) as listening:
        return str(listening.getsockname()[1])


class Point:
    def __init__(self, place: Workplace, seed: int, nth: int | None):
        self.place, self.seed, self.nth = place, seed, nth
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
        has_pipes = scenario.kind in STREAMS
        fault = draw_fault(self.chance, {tuple(key.split("/")): count for key, count in counts.items()}, has_pipes)
        if self.nth:
            fault.nth = self.nth
        self.verdict.fault, self.verdict.kind, self.verdict.nth = str(fault), fault.kind, fault.nth
        place.prepare(scenario)
        old, beside = place.look(scenario)
        final = final_tree(scenario, facts, old)
        place.page.order(fault.role, fault.call, fault.action, fault.nth, fault.times, fault.error)
        ended = place.run(scenario, self.builds, fault)
        fired, _, crashed, crashed_role = place.page.outcome()
        place.page.no_order()
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
        self.rerun(old, final, beside, facts, usual)
        if self.verdict.complaints:
            self.verdict.notes += "\n" + self.command_line()
        return self.verdict

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
        allowed = fault.statuses(usual, False) if fired else {usual}
        if not fired and self.scenario.kind == "pipe":
            allowed = {0}
        if ended.status not in allowed:
            complain([f"exit {ended.status}, allowed: {sorted(allowed)}"])
        found, _ = self.place.look(self.scenario)
        if ended.status == 0:
            lines = model.judge_success(final, found, ended.err, self.rules, fault.loses_metadata)
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

    def rerun(self, old: dict, final: dict, beside: dict, facts: dict, usual: int):
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
            lines = model.judge_success(final, there, again.err, self.rules, False)
            complain([f"when run again: {line}" for line in lines])
        if problem := place.clean():
            complain([problem])
        found, now_beside = place.look(scenario)
        complain([f"litter at the end: {name!r}" for name in model.litter_in(old, final, found)])
        complain([f"at the end beside DST: {line}" for line in differences(beside, now_beside)])
