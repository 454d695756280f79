"""rdcp --sync. rsync is the judge: what it finds to do after us is our fault, and our lines are to be its lines."""

import json
import os
import random
import shutil
import subprocess
import unittest
from pathlib import Path

from harness import CopyTest, is_root
from mutations import Tree, remove

SEQUENCES = int(os.environ.get("RDCP_TEST_SEQUENCES", "40"))
STEPS = 6
SEED = int(os.environ.get("RDCP_TEST_SEED", "20261120"))


def rsync_lines(source: Path, target: Path, *options: str) -> list[str]:
    """What rsync would do, in its words. Times count to the nanosecond, as ours do."""
    command = ["rsync", "-naiHAX", "--modify-window=-1", *options, f"{source}/", f"{target}/"]
    done = subprocess.run(command, capture_output=True, check=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    return sorted(line for line in done.stdout.decode().splitlines())


def comparable(lines: list[str]) -> list[str]:
    """Which of several names is a file's first, and how odd bytes are written, is each program's own business."""
    kept = []
    for line in lines:
        if not line.startswith("h") and "\\" not in line and not line.startswith("created directory"):
            kept.append(line)
    return sorted(kept)


class Oracle(CopyTest):
    """Random changes of random trees, brought over by us and looked at by rsync, and the other way round."""

    def sync(self, *words) -> tuple[int, list[str], str]:
        """The exit status, the lines on standard output, and what stands on standard error."""
        done = self.rdcp("--sync", *words)
        return done.status, sorted(done.out.decode().splitlines()), done.err

    def assert_mirrored(self, source: Path, target: Path, where: str):
        self.assertEqual([], rsync_lines(source, target, "-c", "--delete"), where)

    def run_sequence(self, seed: int):
        rng = random.Random(seed)
        folder = self.memory / f"s{seed}"
        source, target = folder / "source", folder / "target"
        source.mkdir(parents=True)
        tree = Tree(source, rng)
        tree.fill(rng.randrange(1, 40))
        for step in range(STEPS):
            where = f"seed {seed}, step {step}"
            if rng.random() < 0.3 and target.exists():
                Tree(target, rng).change(rng.randrange(1, 8))
            options = ["--delete", "--force"]
            if rng.random() < 0.3:
                options.append("-c")
            rsync_options = ["-c"] if "-c" in options else []
            wanted = rsync_lines(source, target, "--delete", *rsync_options) if target.exists() else None
            dry = self.sync("-n", *options, source, target)
            self.assertEqual((0, ""), (dry[0], dry[2]), where)
            run = self.sync("--itemize-changes", *options, source, target)
            self.assertEqual(dry, run, where)
            if wanted is not None and not has_links(source, target):
                self.assertEqual(comparable(wanted), comparable(run[1]), where)
            self.assert_mirrored(source, target, where)
            self.assertEqual((0, [], ""), self.sync("--itemize-changes", *options, source, target), where)
            tree.change(rng.randrange(1, 12))
        # What rsync has brought over is nothing new to us.
        subprocess.run(["rsync", "-aHAX", "--modify-window=-1", "--delete", "--force", f"{source}/", f"{target}/"], check=True)
        self.assertEqual((0, [], ""), self.sync("--itemize-changes", "--delete", "-c", source, target), f"seed {seed}")
        shutil.rmtree(folder)

    def test_rsync_finds_nothing_to_do(self):
        print(f"seeds {SEED} to {SEED + SEQUENCES - 1}", flush=True)
        for seed in range(SEED, SEED + SEQUENCES):
            with self.subTest(seed=seed):
                self.run_sequence(seed)


def has_links(*roots: Path) -> bool:
    for root in roots:
        for folder, _, names in os.walk(root):
            if any(os.lstat(Path(folder, name)).st_nlink > 1 for name in names):
                return True
    return False


if __name__ == "__main__":
    unittest.main()
