"""Where points with several hosts are made: a fleet, what each host has before, the command, and what does harm there."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

import processes
from harness import BUILD, MIB, preloaded, wait_for, where
from host_faults import COORDINATOR, HASTE, HASTE_OF_STREAMS, SOURCE, WAITS, HostFault
from host_scenario import HOSTS, SMALL_CHUNK, HostScenario, build_sources, bytes_to_send, put_before
from page import Page
from snapshot import snapshot
from workplace import GRACE, Ended

from fleet import Fleet, Host  # in scripts/lib, as harness has it

RDCP = BUILD / "rdcp"
LONGEST = 100  # seconds for one command; several limits of 25 s may follow each other
FAR_SOURCE = HOSTS[1] + 1  # its number, behind those of the targets
ROOMY = "size=1g"
ORDERED = ("flip", "flips", "slow")
DISK = 96 * MIB  # of a host whose disk will be full


class HostPlace:
    """A folder in memory and a fleet, where one worker makes its points, one after the other."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack):
        self.folder = folder
        folder.mkdir()
        (folder / "fleet").mkdir()
        (folder / "pages").mkdir()
        self.fleet = stack.enter_context(Fleet(folder / "fleet", FAR_SOURCE))
        self.disk = self.fleet.data / "disk"  # as each host sees it
        self.dst = self.disk / "dst"
        self.failed_hosts = folder / "failed-hosts"
        self.pages = {name: Page(folder / "pages" / name) for name in ["near", *(host.name for host in self.fleet.hosts)]}
        self.sources, self.facts = {}, {}
        self.mounted, self.stopped, self.haste = [], [], 1
        self.launcher, self.agent = folder / "launcher", folder / "agent"
        self._write_scripts(self.fleet.enter_script())

    def _write_scripts(self, enter: Path):
        self.launcher.write_text(f'#!/bin/sh\nRDCP_CAMPAIGN_HOST=$1\nexport RDCP_CAMPAIGN_HOST\nexec {enter} "$@"\n')
        settings = preloaded("fault")
        words = " ".join(f"{name}='{value}'" for name, value in settings.items())
        # An sshd tells its own address, the last number of which is that of the host.
        self.agent.write_text(
            '#!/bin/sh\nhost=$RDCP_CAMPAIGN_HOST\n'
            'if [ -n "$SSH_CONNECTION" ]; then host=${SSH_CONNECTION##*.}; host=h${host%% *}; fi\n'
            f'role=target; [ "$host" != h{FAR_SOURCE} ] || role=source\n'
            f'export {words} RDCP_CAMPAIGN_ROLE=$role RDCP_CAMPAIGN_PAGE={self.folder}/pages/$host\nexec {RDCP} "$@"\n')
        for script in (self.launcher, self.agent):
            script.chmod(0o755)

    # -- what is there -----------------------------------------------------------------------------------------------

    def sources_of(self, scenario: HostScenario) -> tuple[Path, Path, Path]:
        if scenario.tree not in self.sources:
            self.sources[scenario.tree] = build_sources(self.folder, scenario.tree)
            source = self.sources[scenario.tree][0]
            self.facts[source] = snapshot(source)
        return self.sources[scenario.tree]

    def within(self, host: Host, path: Path) -> Path:
        """What the host sees there."""
        return Path(f"/proc/{host.holder.pid}/root{path}")

    def prepare(self, scenario: HostScenario, faults: list[HostFault]):
        self.mend()
        for host in self.mounted:
            subprocess.run([*host.inside, "umount", self.disk], check=True)
        self.mounted = []
        for host in self.fleet.hosts:
            subprocess.run(["rm", "-rf", host.own / "disk"], check=True)
            (host.own / "disk").mkdir()
        for fault in faults:
            if fault.what == "full":
                host = self.fleet[fault.at]
                subprocess.run([*host.inside, "mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", self.disk], check=True)
                self.mounted.append(host)
        sources = self.sources_of(scenario)
        for number, state in enumerate(scenario.before, 1):
            disk = self.within(self.fleet[number], self.disk)
            (disk / "beside").write_text("beside")
            put_before(state, sources, disk / "dst")
        self.failed_hosts.unlink(missing_ok=True)
        self.haste = 1
        if any(fault.what in WAITS for fault in faults):
            self.haste = HASTE_OF_STREAMS if scenario.is_read_once else HASTE
        self.wipe_pages()

    def wipe_pages(self):
        for page in self.pages.values():
            page.order("near", "any", "nothing", 0, 0, 0, self.haste)

    def use_true_clock(self):
        """For those that are started from now on, when no others are left."""
        self.haste = 1
        self.wipe_pages()

    def look(self, scenario: HostScenario, number: int) -> tuple[dict, dict]:
        """DST at a host as a tree of its own, and all else that is beside it."""
        inside, beside = {}, {}
        for path, facts in snapshot(self.within(self.fleet[number], self.disk)).items():
            if path == b"dst" or path.startswith(b"dst/"):
                inside[path[4:]] = facts
            elif path:
                beside[path] = facts
        if scenario.is_one_file and b"" in inside:
            inside[b""].mtime_ns = 0  # as any folder's in which a name is made
        for facts in inside.values():
            facts.linked_with = tuple(name[4:] for name in facts.linked_with)
        return inside, beside

    # -- harm --------------------------------------------------------------------------------------------------------

    def fire(self, fault: HostFault, scenario: HostScenario, coordinator: subprocess.Popen) -> bool:
        """Returns false if there is nobody yet to be harmed."""
        host = self.host_of(fault.at, scenario)
        if fault.what in ("cut", "blink"):
            host.cut()
        elif fault.what == "full":
            self.fill(host, fault.much)
        elif fault.what in ORDERED:
            self.order(fault, scenario)
        elif pids := self.processes_at(fault.at, host, coordinator):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL if fault.what == "kill" else signal.SIGSTOP)
            if fault.what != "kill":
                self.stopped += pids
                fault.stopped = pids
        else:
            return False
        return True

    def host_of(self, at: int, scenario: HostScenario) -> Host | None:
        """None: this host."""
        if at == SOURCE and scenario.source_is_far:
            return self.fleet[FAR_SOURCE]
        return self.fleet[at] if at > 0 else None

    @staticmethod
    def processes_at(at: int, host: Host | None, coordinator: subprocess.Popen) -> list[int]:
        if host:
            return host.agents()
        if at == COORDINATOR:
            return [coordinator.pid] if coordinator.poll() is None else []
        words = processes.command_line(coordinator.pid)  # the local agent is a fork of it
        return [pid for pid, child in processes.children_of(coordinator.pid) if words and child == words]

    def fill(self, host: Host, left: int):
        while True:
            now = os.statvfs(self.within(host, self.disk))
            size = (now.f_blocks - now.f_bfree) * now.f_frsize + left
            again = [*host.inside, "mount", "-o", f"remount,size={size}", self.disk]
            if subprocess.run(again, capture_output=True, check=False).returncode == 0:
                return
            left += MIB  # more has come meanwhile than was left

    def order(self, fault: HostFault, scenario: HostScenario):
        host = self.host_of(fault.at, scenario)
        role = "target" if fault.at != SOURCE else "source" if host else "local agent"
        action, call, times, much = "flip", "payload", fault.much, 1000
        if fault.what == "flips":
            times = -1
        elif fault.what == "slow":
            writes = "pwrite" if "--ring=threads" in scenario.options else "completion"
            action, call, times, much = "slow", writes if fault.at != SOURCE else "payload", -1, fault.much
        self.page_of(fault.at, scenario).order_now(role, call, action, 0, times, much, self.haste)

    def page_of(self, at: int, scenario: HostScenario) -> Page:
        host = self.host_of(at, scenario)
        return self.pages[host.name if host else "near"]

    def has_harmed(self, fault: HostFault, scenario: HostScenario) -> bool:
        """That is done by a process itself, which may have had nothing more to write or send."""
        return fault.what not in ORDERED or bool(self.page_of(fault.at, scenario).outcome()[0])

    def let_go_on(self, wanted=None):
        """What was stopped, or those of these processes, goes on."""
        for pid in [pid for pid in self.stopped if wanted is None or pid in wanted]:
            self.stopped.remove(pid)
            if "rdcp" in processes.command_line(pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    def mend(self):
        """Nothing is wrong any more."""
        self.let_go_on()
        for host in self.fleet.hosts:
            host.join()
        for host in self.mounted:
            subprocess.run([*host.inside, "mount", "-o", f"remount,{ROOMY}", self.disk], check=True)
        for page in self.pages.values():
            page.order_now("near", "any", "nothing", 0, 0, 0, self.haste)

    # -- commands ----------------------------------------------------------------------------------------------------

    def command(self, scenario: HostScenario) -> list:
        source, options = self.sources_of(scenario)[0], list(scenario.options)
        payload = bytes_to_send(scenario, source)
        shell = self.fleet.ssh_text() if scenario.by_ssh else self.launcher
        if scenario.retries:
            options.append(f"--retries={scenario.retries}")
        if scenario.small_chunks:
            options.append(f"--chunk-size={SMALL_CHUNK}")
        words = [RDCP, "-e", shell, "--rdcp-path", self.agent, "--retry-time=3", f"--failed-hosts={self.failed_hosts}",
                 f"--bwlimit={int(payload / scenario.seconds / self.haste)}", *options]
        from_ = f"h{FAR_SOURCE}:" if scenario.source_is_far else ""
        to = f"h[1-{scenario.hosts}]:{self.dst}"
        if scenario.is_read_once:
            return [*words, "-", f"{to}/{scenario.file_name}"]
        if scenario.is_one_file:
            return [*words, f"{from_}{source / scenario.file_name}", f"{to}/{scenario.file_name}"]
        return [*words, *{"tree": ["-r"], "mirror": ["--sync", "--delete"]}[scenario.kind], f"{from_}{source}/", to]

    def sent_bytes(self, scenario: HostScenario) -> int:
        """What has left the source so far."""
        return self.fleet[FAR_SOURCE].sent_bytes() if scenario.source_is_far else self.fleet.sent_bytes()

    def run(self, scenario: HostScenario, now_and_then=lambda process: None) -> Ended:
        """now_and_then: is called with the coordinator every few milliseconds."""
        environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "SHELL": "/bin/sh",
                       **preloaded("fault", RDCP_CAMPAIGN_PAGE=self.pages["near"].path, RDCP_CAMPAIGN_ROLE="near")}
        began = time.monotonic()
        with contextlib.ExitStack() as stack:
            stdin, feeder = subprocess.DEVNULL, None
            if scenario.is_read_once:
                feeder = subprocess.Popen(["cat", self.sources_of(scenario)[0] / scenario.file_name], stdout=subprocess.PIPE)
                stdin = stack.enter_context(feeder.stdout)
            process = processes.start(self.command(scenario), environment, self.folder, "near", stdin)
        complaints = []
        if not processes.wait_for_end(process, LONGEST, lambda: now_and_then(process)):
            left = processes.children_of(process.pid)
            waiting = where([process.pid, *(pid for host in self.fleet.hosts for pid in host.agents())])
            complaints.append(f"still running after {LONGEST} s: {left}\n{waiting}")
            process.kill()
        return Ended(process.returncode, self.said(), "", time.monotonic() - began, complaints)

    def said(self) -> str:
        return (self.folder / "near.err").read_text(errors="replace")

    def await_ends(self) -> list[str]:
        """What still runs after a while, once nothing is wrong any more, is ended and named."""
        def living():
            return [f"{host.name}: process {pid} ({processes.command_line(pid)}) lives on"
                    for host in self.fleet.hosts for pid in host.agents()]
        wait_for(lambda: not living(), 30, 0.02)
        left = living()
        for host in self.fleet.hosts:
            for pid in host.agents():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        return left + self.await_children()

    def await_children(self) -> list[str]:
        """The fleet's own are children of this process, too, and stay."""
        def others():
            return [(pid, words) for pid, words in processes.children()
                    if "rdcp" in words.split(" ", 1)[0] or "ssh -F" in words or str(self.launcher) in words]
        wait_for(lambda: not others(), GRACE)
        return [f"process {pid} ({words}) lives on" for pid, words in others()]

    def clean(self, number: int, again: bool = False) -> str:
        """What rdcp --clean says at a host when it fails. What it cannot lock it takes for nobody's only after a moment."""
        host = self.fleet[number]
        done = subprocess.run([*host.inside, RDCP, "--clean", self.disk], capture_output=True, text=True, check=False, timeout=60,
                              errors="replace")
        if "in use" in done.stdout and not again:
            time.sleep(2.1)
            return self.clean(number, again=True)
        return "" if done.returncode == 0 else f"h{number}: --clean ends with {done.returncode}: {done.stderr}"
