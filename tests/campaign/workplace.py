"""Where points are made: the trees before the run, the commands, and running them."""

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import processes
from faults import HASTE, Fault
from harness import make_file, preloaded
from page import Page
from scenario import ONE_FILE, SOURCE, TARGET, Scenario, build_big, build_old, build_source
from snapshot import snapshot

STOPPED = 90 / HASTE  # seconds; the longest limit is the 60 for a hello on the quick clock, and further ones may follow it
LONGEST = 60  # seconds for one command; the longest limit of its own is 25
GRACE = 10  # and for all that it started
COMMON = ("--chunk-size=64K", "--retry-time=3")


@dataclass
class Ended:
    status: int | None  # none: it did not end
    err: str
    out: str
    seconds: float
    complaints: list = field(default_factory=list)


class Workplace:
    """A folder in memory where one worker makes its points, one after the other."""

    def __init__(self, folder: Path, shared: Path, builds: list[Path]):
        self.folder, self.shared, self.builds = folder, shared, builds
        folder.mkdir()
        self.page = Page(folder / "page")
        self.parent = folder / "point"
        self.dst = self.parent / "dst"
        self.sources, self.facts = {}, {}
        self.is_mounted = False
        self.shell = folder / "shell"
        # Whatever limits a role has are set once the shell is done.
        self.shell.write_text("#!/bin/sh\nRDCP_CAMPAIGN_ROLE=${1%%@*}\nexport RDCP_CAMPAIGN_ROLE\nshift\n"
                              "[ \"$RDCP_CAMPAIGN_LIMITED\" = \"$RDCP_CAMPAIGN_ROLE\" ] || exec \"$@\"\n"
                              "exec prlimit $RDCP_CAMPAIGN_LIMIT -- \"$@\"\n")
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

    def prepare(self, scenario: Scenario, fault: Fault | None = None):
        """Makes what is there before the run; for a file system that will be full, on one of its own."""
        self.remove()
        self.parent.mkdir()
        if fault and fault.family == "full":
            mount("none", self.parent, "size=100%")
            self.is_mounted = True
        (self.parent / "outside").mkdir()
        make_file(self.parent / "outside" / "file", 1000)
        os.symlink("../dst", self.parent / "outside" / "link")
        self.source(scenario)
        if scenario.before == "empty":
            self.dst.mkdir()
        elif scenario.before == "old":
            subprocess.run(["cp", "-a", self.sources["big" if scenario.kind == "part" else scenario.tree][1], self.dst],
                           check=True)
        if self.is_mounted:
            left = os.statvfs(self.parent)
            used = (left.f_blocks - left.f_bfree) * left.f_frsize if fault.call == "size" else left.f_files - left.f_ffree
            mount("none", self.parent, f"{fault.call}={used + max(fault.nth, 4096 if fault.call == 'size' else 1)}", again=True)

    def remove(self):
        if self.is_mounted:
            subprocess.run(["umount", self.parent], check=True)
            self.is_mounted = False
        if self.parent.exists():
            shutil.rmtree(self.parent)

    def make_room(self):
        """What was too small is large from now on."""
        if self.is_mounted:
            mount("none", self.parent, "size=1g,nr_inodes=100k", again=True)

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

    def environment(self, role: str, fault: Fault | None) -> dict:
        limited = {}
        if fault and fault.family == "limit":
            limited = {"RDCP_CAMPAIGN_LIMITED": fault.role, "RDCP_CAMPAIGN_LIMIT": f"--{fault.call}={fault.nth}"}
        return {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "SHELL": "/bin/sh", **limited,
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
        limit = ["prlimit", f"--{fault.call}={fault.nth}", "--"] if fault and fault.family == "limit" else []
        other = None
        if receiver:
            limited = limit if limit and fault.role == "target" else []
            other = processes.start([*limited, *receiver[0]], self.environment("target", fault), self.folder, "far")
            self.await_listening(other)
        if fault and fault.limits_the_command:
            command = [*limit, *command]
        with contextlib.ExitStack() as stack:
            stdin = subprocess.DEVNULL
            if scenario.kind == "stdin":
                stdin = stack.enter_context(open(self.source(scenario) / scenario.file_name, "rb"))
            process = processes.start(command, self.environment("near", fault), self.folder, "near", stdin)
        complaints = []
        wakes = self.waker(process, fault, complaints)
        if not processes.wait_for_end(process, LONGEST, wakes):
            complaints.append(f"still running after {LONGEST} s: {processes.children()}")
        elif other and process.returncode != 0 and not self.ends_soon(other, wakes):
            other.terminate()  # it has not met its sender, and would wait for ever, as it should
        complaints += processes.await_all(GRACE, wakes)  # a receiver may be stopped once it has said that all is there
        ended = Ended(process.returncode, self.said("err"), self.said("out"), time.monotonic() - began, complaints)
        if other and process.returncode == 0 and self.status_of(other) != 0:
            complaints.append(f"rdsend ends with 0, rdrecv with {other.returncode}")
        return ended

    def await_listening(self, receiver):
        """So that the sender need not wait for a receiver that has failed."""
        end = time.monotonic() + 5
        while time.monotonic() < end and receiver.poll() is None and not self.page.counts().get(("target", "listen")):
            time.sleep(0.002)

    def ends_soon(self, other, wakes) -> bool:
        return processes.wait_for_end(other, 3, wakes)

    @staticmethod
    def status_of(process) -> int | None:
        with contextlib.suppress(ChildProcessError):
            process.wait(0)
        return process.returncode

    def said(self, kind: str) -> str:
        return "".join((self.folder / f"{name}.{kind}").read_text(errors="replace") for name in ("near", "far"))

    def waker(self, process, fault: Fault | None, complaints: list):
        """What lets go on what a fault has stopped: a moment later, or when the others must have given it up."""
        if not fault or fault.action != "signal" or fault.error != signal.SIGSTOP:
            return None
        seen, went_on = [], []

        def wake():
            fired, pid, _, _ = self.page.outcome()
            if not fired or not pid:
                return
            seen.append(time.monotonic())
            if fault.family == "stop" and process.poll() is None:
                if went_on or seen[-1] - seen[0] < STOPPED:
                    return
                complaints.extend(self.who_still_waits(process, pid))
                went_on.append(pid)  # from now on its agents rightly wait for it
            elif fault.family != "stop":
                time.sleep(0.05)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        return wake

    @staticmethod
    def who_still_waits(process, stopped: int) -> list[str]:
        """Of the others; where one process is all there is, nobody waits."""
        if stopped != process.pid:
            return ["the coordinator waits for an agent that does nothing"]
        below = processes.children_of(stopped)
        return [f"an agent ({words}) waits for a coordinator that does nothing" for _, words in below]

    def clean(self, again: bool = False) -> str:
        """What rdcp --clean says when it fails. What it cannot lock it takes for nobody's only after a moment."""
        done = subprocess.run([self.builds[0] / "rdcp", "--clean", self.parent], capture_output=True, text=True, check=False,
                              timeout=LONGEST, errors="replace")
        if "in use" in done.stdout and not again:
            time.sleep(2.1)
            return self.clean(again=True)
        return "" if done.returncode == 0 else f"--clean ends with {done.returncode}: {done.stderr}"


def mount(what: str, where: Path, options: str, again: bool = False):
    flags = ["-o", f"remount,{options}"] if again else ["-t", "tmpfs", "-o", options, what]
    subprocess.run(["mount", *flags, where], check=True)


def free_port() -> str:
    """One that no connection gets by itself (net.ipv4.ip_local_port_range begins above)."""
    while True:
        with contextlib.suppress(OSError), socket.create_server(("", random.randrange(10_000, 32_000))) as listening:
            return str(listening.getsockname()[1])
