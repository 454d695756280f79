"""A path between two hosts that counts turns: how often something was sent only because something had come.

The path holds back what either side sends until nobody at either end has anything left to do: until every thread of theirs
sleeps. Then it lets through what it holds, in both directions, and that is one step: what is sent after it waited for
something that came with it, and what could be sent earlier was. So the steps of a command are the ways, there or back, that it
takes on a path so long that nothing else counts, but they are counted, not timed: on a busy machine each takes longer, and that
is all.

What does not count: acknowledgements alone, which pass at once, and so the rounds in which TCP's window grows."""

import ctypes
import fcntl
import os
import select
import struct
import subprocess
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from long_path import far_host
from network import FAR_DEVICE, NEAR_DEVICE, own_network

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
PR_SET_CHILD_SUBREAPER = 36
PACKET_MAX = 65536
FIN, SYN, RST = 1, 2, 4
PATIENCE = 240.0  # seconds for a command that hangs
LOOK_EVERY = 0.005  # seconds
# So many seconds after the last packet a step is made at the earliest: what the kernel does by itself (it closes sockets of an
# io_uring) is done by then. And rdcp measures how long the path is: on a short one it spares no round trips.
STILL = 0.02


def open_device(name: str) -> int:
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    except OSError:
        os.close(device)
        raise
    return device


@dataclass
class Segment:
    """Of TCP, as far as it matters here."""

    flow: bytes  # both addresses and ports
    end: int  # the sequence number behind it
    moves: bool  # it carries more than an acknowledgement


def segment_of(packet: bytes) -> Segment | None:
    if len(packet) < 34 or packet[12:14] != b"\x08\x00" or packet[23] != 6:
        return None
    total, header = int.from_bytes(packet[16:18], "big"), 14 + 4 * (packet[14] & 15)
    tcp = packet[header:]
    flags = tcp[13]
    length = total - (header - 14) - 4 * (tcp[12] >> 4) + bool(flags & (SYN | FIN | RST))
    end = (int.from_bytes(tcp[4:8], "big") + length) % 2**32
    return Segment(packet[26:34] + tcp[:4], end, length > 0)


class Side:
    """What one end has sent."""

    def __init__(self, device: int):
        self.device = device
        self.held: list[bytes] = []
        self._sent: dict[bytes, int] = {}  # the end of what was seen of each flow

    def take(self, other: "Side") -> bool:
        """Holds what has been sent, and lets through what does not count. Returns whether there was anything."""
        any_came = False
        while True:
            try:
                packet = os.read(self.device, PACKET_MAX)
            except BlockingIOError:
                return any_came
            any_came = True
            segment = segment_of(packet)
            if segment is None or not segment.moves:
                other.put(packet)
            elif self._is_new(segment):
                self.held.append(packet)
            elif not self.held:  # else it comes again because it is held for so long
                other.put(packet)

    def _is_new(self, segment: Segment) -> bool:
        before = self._sent.get(segment.flow)
        new = before is None or 0 < (segment.end - before) % 2**32 < 2**31
        if new:
            self._sent[segment.flow] = segment.end
        return new

    def put(self, packet: bytes):
        with suppress(OSError):  # a device that is not up yet loses it, as any other would
            os.write(self.device, packet)

    def release(self, other: "Side"):
        packets, self.held = self.held, []
        for packet in packets:
            other.put(packet)


def content_of(path: str) -> bytes:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(file, 65536)
    finally:
        os.close(file)


def sleeping_threads() -> dict[str, bytes] | None:
    """How often each thread of this process's descendants has run so far; None if one of them runs or is about to."""
    runs = {}
    families = [f"/proc/self/task/{os.getpid()}"]
    for parent in families:  # grows while it is walked
        with suppress(OSError):
            for child in content_of(f"{parent}/children").split():
                tasks = f"/proc/{child.decode()}/task"
                for thread in os.listdir(tasks):
                    status = content_of(f"{tasks}/{thread}/status")
                    state = status[status.index(b"\nState:\t") + 8:][:1]
                    if state not in b"SZ":
                        return None
                    runs[thread] = status[status.index(b"\nvoluntary_ctxt_switches"):]
                    families.append(f"{tasks}/{thread}")
    return runs


def kernel_works() -> bool:
    """Whether a thread of the kernel has something to do for others."""
    with suppress(OSError):  # of kthreadd, unless this is a container
        for thread in content_of("/proc/2/task/2/children").split():
            name, _, fields = content_of(f"/proc/{thread.decode()}/stat").rpartition(b")")
            if fields[1:2] == b"R" and (b"(kworker/" in name or b"(ksoftirqd/" in name):
                return True
    return False


class LockstepPath(ExitStack):
    """Use as a context manager. All that runs at either end has to be a descendant of this process."""

    def __enter__(self) -> "LockstepPath":
        super().__enter__()
        # A look takes a few milliseconds of the processor. If it took longer, whoever has a timer would have run meanwhile.
        self.callback(os.sched_setscheduler, 0, os.SCHED_OTHER, os.sched_param(0))
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))
        libc = ctypes.CDLL(None)
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # so that those stay descendants whose parents have ended
        self.callback(libc.prctl, PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        self.enter_context(own_network())
        self._sides = []
        for name in (NEAR_DEVICE, FAR_DEVICE):
            device = open_device(name)
            self.callback(os.close, device)
            self._sides.append(Side(device))
        self._last_packet = 0.0
        # Acknowledged at once: nobody waits for a timer that delays acknowledgements.
        self.address, self.inside = self.enter_context(far_host("congctl", "cubic", "quickack", "1"))
        return self

    @contextmanager
    def let_through(self):
        """Meanwhile nothing is held back: for what this process itself sends."""
        over = threading.Event()

        def pump():
            while not over.is_set():
                select.select([side.device for side in self._sides], [], [], LOOK_EVERY)
                self._take()
                self._release()

        thread = threading.Thread(target=pump)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def steps_of(self, command: list[str]) -> int:
        """Runs a command that succeeds. Returns how many times something travelled because something had come, one way."""
        self._settle()
        deadline, steps = time.monotonic() + PATIENCE, 0
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            while process.poll() is None:
                # What has ended is no thread that sleeps; so whether it has is asked once more.
                if self._is_quiet() and process.poll() is None:
                    steps += self._release()
                if time.monotonic() > deadline:
                    process.kill()
                    raise AssertionError(f"{command} hangs after {steps} steps")
            said = process.stderr.read().decode(errors="replace")
        if process.returncode != 0:
            raise AssertionError(f"{command} failed: {said}")
        return steps

    def _take(self) -> bool:
        near, far = self._sides
        if any_came := any([near.take(far), far.take(near)]):
            self._last_packet = time.monotonic()
        return any_came

    def _is_quiet(self) -> bool:
        """Nobody has sent anything, or run, between two looks."""
        select.select([side.device for side in self._sides], [], [], LOOK_EVERY)
        self._take()
        before = sleeping_threads()
        return before is not None and before == sleeping_threads() and not self._take() and not kernel_works()

    def _release(self) -> bool:
        near, far = self._sides
        if not near.held and not far.held or time.monotonic() < self._last_packet + STILL:
            return False
        near.release(far)
        far.release(near)
        self._last_packet = time.monotonic()
        return True

    def _settle(self):
        """Lets what is left of an earlier command come to its end."""
        deadline = time.monotonic() + PATIENCE
        while not self._is_quiet() or self._release() or any(side.held for side in self._sides):
            if time.monotonic() > deadline:
                raise AssertionError("what an earlier command has left behind does not come to its end")
