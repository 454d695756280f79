"""Many files in flat memory. RDCP_SCALE_FILES=1000000 makes it the full promise."""

import contextlib
import os
import shutil
import subprocess
import threading
import unittest
from pathlib import Path

from harness import MIB, CopyTest, remote_agents

FILES = int(os.environ.get("RDCP_SCALE_FILES", "100000"))
FEW = 10_000
ARENA_MOST = 128 * MIB
BESIDE_ARENA_MOST = 96 * MIB
GROWTH_MOST = 1.10


class PeakMemory(threading.Thread):
    """Watches VmHWM, which only grows, of the coordinator and of the far agent until they end."""

    def __init__(self, coordinator: int):
        super().__init__(daemon=True)
        self.coordinator, self.peaks, self.over = coordinator, {"here": 0, "there": 0}, threading.Event()

    def run(self):
        agents: list[int] = []
        while not self.over.wait(0.01):
            agents = agents or remote_agents()
            self.look("here", self.coordinator)
            for agent in agents:
                self.look("there", agent)

    def look(self, side: str, pid: int):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    self.peaks[side] = max(self.peaks[side], int(line.split()[1]) * 1024)


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

    def measure(self, files: int) -> dict:
        tree = self.memory / f"tree-{files}"
        self.make(tree, files)
        running = self.start("-r", tree, f"dest:{self.target}")
        watch = PeakMemory(running.pid)
        watch.start()
        done = running.finish(600)
        watch.over.set()
        watch.join()
        self.assertEqual(done.status, 0, done)
        same = subprocess.run(["diff", "-r", "-q", tree, self.target / tree.name], capture_output=True, text=True,
                              check=False)
        self.assertEqual(same.stdout, "")
        words = ", ".join(f"{side} {peak / MIB:.0f} MiB" for side, peak in watch.peaks.items())
        shutil.rmtree(tree)
        shutil.rmtree(self.target / tree.name)
        print(f"\n{files} files in {done.seconds:.2f} s; peak memory: {words}", flush=True)
        return watch.peaks

    def test_memory_is_bounded_and_flat(self):
        few = self.measure(FEW)
        many = self.measure(FILES)
        for side, peak in many.items():
            self.assertGreater(peak, 0, f"nothing was seen {side}")
            self.assertLessEqual(peak, ARENA_MOST + BESIDE_ARENA_MOST, side)
            self.assertLessEqual(peak, few[side] * GROWTH_MOST, f"grows with the tree {side}")


if __name__ == "__main__":
    unittest.main()
