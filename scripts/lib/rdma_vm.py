"""Runs a command in one or two small VMs (qemu, no hardware needed) that have real Soft-RoCE or Soft-iWARP devices.

The VM sees this machine's files at their own paths: what it writes there stays in its memory. See scripts/rdma-vm --help.
"""

import contextlib
import ctypes
import os
import re
import selectors
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from rdma_vm_kernel import find_kernel, initramfs, missing
from rdma_vm_siw import SiwError, missing_siw, module

HERE = Path(__file__).resolve().parent
DEFAULT_MEMORY = 2048  # MiB
DEFAULT_TIMEOUT = 600.0  # seconds
DEVICES = ("rxe", "siw")  # types of rdma-link(8): Soft-RoCE, Soft-iWARP
DISK_SIZE = 8 << 30  # bytes, of a sparse file
LAST_WORDS = re.compile(r"Kernel panic|kernel BUG|BUG:|Oops|general protection")
TAIL_LINES = 25
TIMED_OUT = 124  # as of timeout(1)
PR_SET_PDEATHSIG = 1  # prctl(2)

# Emulation has its own costs: without these, string instructions, checks of access and CRCs are several times faster.
CPU = "max,la57=off,erms=off,fsrm=off,smap=off,smep=off,pku=off,pclmulqdq=off"
# tsc=reliable: else the kernel takes the time from an emulated device at each look at the clock.
KERNEL_WORDS = "console=ttyS0 quiet panic=-1 oops=panic mitigations=off init_on_alloc=0 nokaslr tsc=reliable"

# What the command sees of our environment.
PASSED_ON = ("RDCP_", "GTEST_", "PYTHON", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "LC_", "LANG",
             "TERM")


def available(device: str = DEVICES[0]) -> str | None:
    """Why no VM with such devices can be started here; None if one can."""
    return missing_siw() if device == "siw" else missing()


def clock_words() -> str:
    """Tells the VM's kernel how fast the processor's clock (TSC) is, which is this machine's own. At boot it would measure
    that by the emulated timer chip (PIT), which is late on a busy machine: 1 boot in 20 had a clock 4 to 10 times too fast,
    so that every time limit in it was over too early. An x86 kernel shows twice the TSC's MHz as BogoMIPS
    (arch/x86/kernel/tsc.c); tsc_early_khz is known from Linux 4.20 on (admin-guide/kernel-parameters)."""
    match = re.search(r"^bogomips\s*: ([0-9.]+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return f"tsc_early_khz={round(float(match[1]) * 1000 / 2)}" if match else ""


class VmError(RuntimeError):
    """The VM, not the command, failed."""


@dataclass
class Job:
    """What is asked for."""

    command: list[str]
    hosts: int = 1
    timeout: float = DEFAULT_TIMEOUT
    memory: int = DEFAULT_MEMORY  # MiB, each host
    cpus: int = 1  # each host; more are slower where they wait for each other: 10 times when this machine is busy
    env: dict[str, str] = field(default_factory=dict)  # besides what is passed on
    numa: bool = False  # two NUMA nodes with a processor each; eth0 is on the second one
    interactive: bool = False  # our terminal is the VM's
    disk: Path | None = None  # a file that is the first host's /dev/vdb, and stays
    device: str = DEVICES[0]


def run(command, hosts: int = 1, timeout: float = DEFAULT_TIMEOUT, env: dict | None = None,
        memory: int = DEFAULT_MEMORY) -> tuple[int, str]:
    """The command's exit status and output (stdout and stderr as they came). Raises VmError."""
    output = bytearray()
    job = Job([os.fspath(word) for word in command], hosts, timeout, memory, env=env or {})
    status = run_job(job, output.extend, output.extend)
    return status, output.decode(errors="replace")


def run_job(job: Job, out, err) -> int:
    """Calls out and err with each piece of output; returns the command's exit status, TIMED_OUT if time was over."""
    if reason := available(job.device):
        raise VmError(reason)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that nothing stays in /tmp
    with tempfile.TemporaryDirectory(prefix="rdcp-vm-") as folder, contextlib.ExitStack() as stack:
        vms = _Machines(job, Path(folder), stack)
        with contextlib.suppress(TimeoutError):
            vms.relay(out, err)
            return vms.status()
        err(f"rdma-vm: still running after {job.timeout:g} s: ended\n".encode())
        return TIMED_OUT


class _Machines:
    """The job's folder, which the VMs share, and their processes, which the stack ends."""

    def __init__(self, job: Job, folder: Path, stack: contextlib.ExitStack):
        self.job, self.folder, self.stack = job, folder, stack
        self.kernel = find_kernel()
        self.siw = self._make_siw()
        self.deadline = time.monotonic() + job.timeout
        (folder / "shared").mkdir()
        (folder / "guest").write_text(f"{HERE / 'rdma_vm_guest.sh'}\n")
        self._write_command(1, job.command, job.env)
        self._write_command(2, ["python3", HERE / "rdma_vm_peer.py"], {})
        links = [socket.socketpair() for _ in range(2)] if job.hosts == 2 else []  # two cables: rails
        self.ports = {} if job.interactive else {name: socket.socketpair() for name in ("out", "err")}
        for host in range(1, job.hosts + 1):
            self._start(host, [pair[host - 1] for pair in links])
        for pair in links:
            pair[0].close()
            pair[1].close()
        for _, theirs in self.ports.values():
            theirs.close()

    def _make_siw(self) -> Path | None:
        try:
            return module(self.kernel) if self.job.device == "siw" else None
        except SiwError as error:
            raise VmError(str(error)) from error

    def _write_command(self, host: int, command, env: dict[str, str]):
        passed = {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON)}
        passed |= {"TMPDIR": "/var/tmp", "RDCP_VM_HOSTS": str(self.job.hosts), "RDCP_VM_DEVICE": self.job.device,
                   "PYTHONDONTWRITEBYTECODE": "1"}
        if self.job.hosts == 2:
            passed |= {"RDCP_VM_SSH_CONFIG": "/run/rdma-vm/ssh/ssh_config", "RDCP_VM_SHARED": "/run/rdma-vm/shared"}
        if self.job.numa:
            passed |= {"RDCP_VM_NUMA": "1"}
        lines = [f"export {name}={shlex.quote(value)}" for name, value in sorted((passed | env).items())]
        lines += [f"cd {shlex.quote(os.getcwd())} || exit 126", f"exec {shlex.join(map(os.fspath, command))}"]
        (self.folder / f"command.{host}").write_text("\n".join(lines) + "\n")

    def _start(self, host: int, links: list[socket.socket]):
        settings = {"host": host, "hosts": self.job.hosts, "modules": self.kernel.modules,
                    "interactive": "yes" if self.job.interactive else "no", "device": self.job.device,
                    "siw": self.siw or ""}
        # One file for each host; the first stage does not know its host yet, so the kernel's command line names it.
        (self.folder / f"settings.{host}").write_text(
            "".join(f"{name}={shlex.quote(str(value))}\n" for name, value in settings.items()))
        disk = self.folder / f"disk.{host}"
        with open(disk, "wb") as file:
            file.truncate(DISK_SIZE)
        subprocess.run(["/sbin/mke2fs", "-q", "-t", "ext4", "-E", "lazy_itable_init=1,root_owner=0:0", disk], check=True)
        command, passed = self._qemu(host, disk, links)
        terminal = None if self.job.interactive and host == 1 else subprocess.DEVNULL
        with open(self.folder / f"qemu.{host}", "wb") as log:
            process = subprocess.Popen(command, pass_fds=passed, preexec_fn=_end_with_parent, start_new_session=True,
                                       stdin=terminal, stdout=terminal, stderr=log)
        self.stack.callback(_end, process)
        _raise_share(process.pid)
        if host == 1:
            self.first = process

    def _qemu(self, host: int, disk: Path, links: list[socket.socket]) -> tuple[list[str], list[int]]:
        share = "passthrough" if os.geteuid() == 0 else "mapped-xattr"
        # Two processors that take turns boot at once on a busy machine; as two threads they spin for minutes.
        threads = "single" if self.job.numa else "multi"
        words = ["qemu-system-x86_64", "-accel", f"tcg,thread={threads}", "-cpu", CPU, "-smp", str(self.job.cpus),
                 "-m", str(self.job.memory), "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
                 "-kernel", self.kernel.image, "-initrd", initramfs(self.kernel, HERE / "rdma_vm_init.sh"),
                 "-append", f"{KERNEL_WORDS} {clock_words()} rdma_vm_host={host}",
                 "-serial", f"file:{self.folder}/console.{host}",
                 "-device", "virtio-rng-pci", "-device", "virtio-serial-pci",
                 "-drive", f"file={disk},if=none,id=disk,format=raw,cache=unsafe,discard=unmap",
                 "-device", "virtio-blk-pci,drive=disk",
                 "-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap",
                 "-virtfs", f"local,path={self.folder},mount_tag=job,security_model={share},multidevs=remap"]
        if host == 1 and self.job.disk:
            words += ["-drive", f"file={self.job.disk},if=none,id=kept,format=raw,cache=unsafe",
                      "-device", "virtio-blk-pci,drive=kept"]
        if self.job.numa:
            words += self._second_node()
        passed = []
        if host == 1 and self.job.interactive:
            words += ["-chardev", "stdio,id=terminal,signal=off", "-device", "virtconsole,chardev=terminal"]
        for name in ("out", "err"):
            if host == 1 and not self.job.interactive:
                passed.append(self.ports[name][1].fileno())
                words += ["-chardev", f"socket,id={name},fd={passed[-1]}"]
            else:
                words += ["-chardev", f"file,id={name},path={self.folder}/{name}.{host}"]
            words += ["-device", f"virtserialport,chardev={name},name={name}"]
        for rail, link in enumerate(links):
            passed.append(link.fileno())
            words += ["-netdev", f"socket,id=rail{rail},fd={passed[-1]}",
                      "-device", f"virtio-net-pci,netdev=rail{rail},host_mtu=9000,mac=52:54:00:00:0{host}:0{rail}"]
        return [os.fspath(word) for word in words], passed

    def _second_node(self) -> list[str]:
        """A processor and half of the memory on each of two nodes, and a PCI bus of its own on the second one (pxb), with a
        network interface that leads nowhere."""
        words = ["-device", "pxb,id=far,bus_nr=128,numa_node=1,bus=pci.0", "-netdev", "hubport,id=nowhere,hubid=0",
                 "-device", "virtio-net-pci,netdev=nowhere,bus=far,addr=1,host_mtu=9000"]
        for node in (0, 1):
            words += ["-object", f"memory-backend-ram,id=memory{node},size={self.job.memory // 2}M",
                      "-numa", f"node,nodeid={node},cpus={node},memdev=memory{node}"]
        return words

    def relay(self, out, err):
        """Hands on what the first VM's command writes until that VM is off. Raises TimeoutError."""
        with selectors.DefaultSelector() as selector:
            for sink, (ours, _) in zip((out, err), self.ports.values()):
                self.stack.enter_context(ours)
                selector.register(ours, selectors.EVENT_READ, sink)
            while selector.get_map():
                for key, _ in selector.select(self._time_left()):
                    if piece := key.fileobj.recv(1 << 16):
                        key.data(piece)
                    else:
                        selector.unregister(key.fileobj)
        try:
            self.first.wait(self._time_left())
        except subprocess.TimeoutExpired as error:
            raise TimeoutError from error

    def _time_left(self) -> float:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def status(self) -> int:
        for host in range(1, self.job.hosts + 1):
            if (problem := self.folder / f"problem.{host}").exists():
                raise VmError(f"{problem.read_text().strip()}\n{self._tail(f'console.{host}')}")
        try:
            return int((self.folder / "status.1").read_text())
        except (OSError, ValueError):
            raise VmError(f"the VM ended before its command did; its console and qemu say:\n"
                          f"{self._tail('console.1')}{self._tail('qemu.1')}") from None

    def _tail(self, name: str) -> str:
        """The end of a log; of a kernel's last words, the first lines of them, too."""
        with contextlib.suppress(OSError):
            lines = (self.folder / name).read_text(errors="replace").splitlines()
            last_words = next((i for i, line in enumerate(lines) if LAST_WORDS.search(line)), len(lines))
            return "".join(f"  {line}\n" for line in lines[min(last_words, max(0, len(lines) - TAIL_LINES)):])
        return ""


def _end_with_parent():
    """In the new process: whatever ends us, even SIGKILL, ends it (prctl(2))."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _raise_share(pid: int):
    """Where the scheduler shares processors among sessions (sched(7), autogroups), an emulated machine is a single one beside
    the many short ones of other tests, and its time limits are not made for a tenth of a processor. Only root may."""
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text("-10")


def _end(process: subprocess.Popen):
    process.kill()
    process.wait()
