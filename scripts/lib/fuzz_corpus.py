"""Chooses the few inputs of a large corpus that reach most of what all of it reaches."""

import hashlib
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

# A corpus in tests is replayed in every run of the tests, so it is small.
FILES_MAX, BYTES_MAX = 60, 200_000


@dataclass
class Input:
    path: Path
    size: int = 0
    features: set[int] = field(default_factory=set)


def read_control_file(path: Path) -> list[Input]:
    """libFuzzer's record of a merge: two counts, the names of the files, then lines "STARTED number size" and
    "FT number feature...". A file that ended the program has no features."""
    lines = path.read_text(errors="surrogateescape").splitlines()
    inputs = [Input(Path(line)) for line in lines[2:2 + int(lines[0])]]
    for line in lines[2 + len(inputs):]:
        kind, *numbers = line.split()
        if kind == "STARTED":
            inputs[int(numbers[0])].size = int(numbers[1])
        elif kind == "FT":
            inputs[int(numbers[0])].features = set(map(int, numbers[1:]))
    return inputs


def choose(kept: list[Input], found: list[Input]) -> list[Input]:
    """Takes at each step what adds most, the shortest of equals, until the corpus is full or nothing adds anything."""
    reached = set().union(*(one.features for one in kept))
    files, size = len(kept), sum(one.size for one in kept)
    chosen = []
    while found and files < FILES_MAX:
        found = [one for one in found if one.features - reached and size + one.size <= BYTES_MAX]
        best = max(found, key=lambda one: (len(one.features - reached), -one.size), default=None)
        if best is None:
            break
        chosen.append(best)
        reached |= best.features
        files, size = files + 1, size + best.size
    return chosen


def put_back(program: Path, name: str, corpus: Path, seeds: Path, environment: dict[str, str]) -> None:
    """Adds to `seeds` what `corpus` reaches and it does not. What is there by a name that somebody gave it stays; what an
    earlier call has put there, by its digest, is chosen again with the rest."""
    seeds.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="rdcp-fuzz-") as folder:
        control, out = Path(folder) / "control", Path(folder) / "out"
        out.mkdir()
        # Only which edges are reached counts, not how often: that keeps the corpus small.
        subprocess.run([program, f"--target={name}", "-merge=1", "-set_cover_merge=1", "-use_counters=0",
                        f"-merge_control_file={control}", out, seeds, corpus], env=environment, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        inputs = read_control_file(control)
        by_hand = [one for one in inputs if one.path.parent == seeds and not is_digest(one.path.name)]
        others = [one for one in inputs if one not in by_hand]
        chosen = [(one, one.path.read_bytes()) for one in choose(by_hand, others)]
        for old in seeds.iterdir():
            if is_digest(old.name):
                old.unlink()
        for _, content in chosen:
            (seeds / hashlib.sha1(content).hexdigest()[:12]).write_bytes(content)
    edges = len(set().union(*(one.features for one in inputs)))
    reached = len(set().union(*(one.features for one in by_hand), *(one.features for one, _ in chosen)))
    print(f"{name:12} {len(by_hand)} by hand, {len(chosen)} chosen of {len(others)}: {reached} of {edges} edges",
          flush=True)


def is_digest(name: str) -> bool:
    return len(name) == 12 and all(c in "0123456789abcdef" for c in name)
