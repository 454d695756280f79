"""Many files in flat memory. RDCP_SCALE_FILES=1000000 makes it the full promise."""

import contextlib
import os
import shutil
import signal
import subprocess
import threading
import unittest
from pathlib import Path

from harness import MIB, CopyTest, local_agent, remote_agents, wait_for

FILES = int(os.environ.get("RDCP_SCALE_FILES", "100000"))
FEW = 10_000
FEW_SLOTS = "--streams", "1", "--chunk-size", "16M"  # the fewest there are, so that FEW files fill them all
ARENA_MOST = 128 * MIB
BESIDE_ARENA_MOST = 96 * MIB
GROWTH_MOST = 1 * MIB


class PeakMemory(threading.Thread):
    """Watches the memory of the agents on both hosts until they end."""

    def __init__(self, coordinator: int):
        super().__init__(daemon=True)
        self.coordinator, self.over = coordinator, threading.Event()
        self.whole = {"here": 0, "there": 0}  # VmHWM, which only grows
        self.beside_arenas = {"here": 0, "there": 0}  # the most that was seen

    def run(self):
        agents: list[int] = []
        while not self.over.wait(0.01):
            agents = agents or remote_agents()
            self.look("here", local_agent(self.coordinator))
            for agent in agents:
                self.look("there", agent)

    def look(self, side: str, pid: int):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    self.whole[side] = max(self.whole[side], int(line.split()[1]) * 1024)
            self.beside_arenas[side] = max(self.beside_arenas[side], beside_arenas(pid))


def beside_arenas(pid: int) -> int:
    """Anonymous bytes of all mappings that a fork would copy. The arenas are those that it would not (MADV_DONTFORK). What
    is resident of libraries is left out: it is most while a program begins, and differs by 1 MB from run to run."""
    total = anonymous = 0
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if line.startswith("Anonymous:"):
            anonymous = int(line.split()[1]) * 1024
        elif line.startswith("VmFlags:") and "dc" not in line.split():
            total += anonymous
    return total


def cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


class Scale(CopyTest):
    def make(self, root: Path, files: int):
        """Half of them in one directory, half in directories of 500."""
        root.mkdir()
        for i in range(files):
            folder = root / "flat" if i % 2 else root / f"part-{i // 1000}"
            if i < 2 or (i % 2 == 0 and i % 1000 == 0):
                folder.mkdir(exist_ok=True)
            fd = os.open(folder / f"file-{i:07}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            os.write(fd, b"%d" % i)
            os.close(fd)

    def fill_all_queues(self, running, landing: Path):
        """The far agent stops until the coordinator has nothing left to do. Else chance decides how full they get."""
        self.assertTrue(wait_for(landing.exists, 60, 0.001), "nothing arrives")
        agent, = remote_agents()
        os.kill(agent, signal.SIGSTOP)
        ticks = -1

        def idle() -> bool:
            nonlocal ticks
            before, ticks = ticks, cpu_ticks(local_agent(running.pid))
            return before == ticks

        self.assertTrue(wait_for(idle, 60, 0.3), "the queues have no end")
        os.kill(agent, signal.SIGCONT)

    def measure(self, files: int, *options) -> PeakMemory:
        tree = self.memory / f"tree-{files}"
        self.make(tree, files)
        running = self.start("-r", *options, tree, f"dest:{self.target}")
        watch = PeakMemory(running.pid)
        watch.start()
        self.fill_all_queues(running, self.target / tree.name)
        done = running.finish(600)
        watch.over.set()
        watch.join()
        self.assertEqual(done.status, 0, done)
        same = subprocess.run(["diff", "-r", "-q", tree, self.target / tree.name], capture_output=True, text=True,
                              check=False)
        self.assertEqual(same.stdout, "")
        words = ", ".join(f"{side} {peak / MIB:.0f} MiB, {watch.beside_arenas[side] / MIB:.1f} MiB beside the arenas"
                          for side, peak in watch.whole.items())
        shutil.rmtree(tree)
        shutil.rmtree(self.target / tree.name)
        print(f"\n{files} files in {done.seconds:.2f} s; peak memory: {words}", flush=True)
        return watch

    def test_memory_is_bounded(self):
        for side, peak in self.measure(FILES).whole.items():
            self.assertGreater(peak, 0, f"nothing was seen {side}")
            self.assertLessEqual(peak, ARENA_MOST + BESIDE_ARENA_MOST, side)

    def test_memory_is_flat(self):
        """With one stream: a slow host adds some, to the longer run only, and each has queues of its own."""
        few = self.measure(FEW, *FEW_SLOTS).beside_arenas
        many = self.measure(FILES, *FEW_SLOTS).beside_arenas
        for side, peak in many.items():
            self.assertGreater(few[side], 0, f"nothing was seen {side}")
            self.assertLessEqual(peak, few[side] + GROWTH_MOST, f"grows with the tree {side}")


if __name__ == "__main__":
    unittest.main()
