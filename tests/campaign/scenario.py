"""What is copied, where to, by which command, and what it promises. Everything is drawn from a number."""

import os
import random
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import every_kind
from harness import CHUNK, KIB, MIB, is_root, make_file
from model import Rules

TREES = 8  # different sources
BIG = 17 * MIB  # from 16 MiB on a file has a part and a journal
PARTS = ["links", "sparse", "specials", "xattrs", "acls", "times", *(["modes", "owners"] if is_root else [])]
FIRST_TIME = 1_600_000_000_000_000_000
SOURCE, TARGET = "source@127.0.0.1:", "target@127.0.0.1:"
ONE_FILE = ("file", "delta", "part", "stdin", "pipe", "rdpipe")
STREAMS = ("stdin", "pipe", "rdpipe")

# How often each kind of copy is drawn, and whether DST has to be there in an old version (or must, or must not).
KINDS = {"tree": 5, "sync": 4, "mirror": 4, "file": 2, "delta": 2, "inplace": 2, "part": 1, "check": 1, "stdin": 1,
         "pipe": 2, "rdpipe": 1}
OPTIONS = {"--verify": 0.15, "--fsync": 0.15, "--encrypt": 0.12, "--compress=1": 0.12, "--ring=threads": 0.2,
           "--no-resume": 0.1, "--streams=1": 0.2, "--checksum": 0.2, "--whole-file": 0.1, "--cache=bypass": 0.15}
OF_MIRRORS = ("--checksum", "--whole-file")
OF_PIPES = ("--encrypt", "--compress=1", "--ring=threads", "--cache=bypass", "--streams=1")


@dataclass(frozen=True)
class Scenario:
    kind: str
    source_is_far: bool
    target_is_far: bool
    before: str   # what is at DST: "nothing", "empty", "old"
    tree: int     # which source
    options: tuple

    @property
    def rules(self) -> Rules:
        return Rules(deletes=self.kind == "mirror", in_place=self.kind == "inplace", content_only=self.kind in STREAMS)

    @property
    def has_pipes(self) -> bool:
        return self.kind in STREAMS

    @property
    def source_roles(self) -> tuple:
        """Who reads SRC."""
        return ("source",) if self.source_is_far else ("near", "local agent")

    @property
    def usual_status(self) -> int:
        return 1 if self.kind == "check" else 0  # there are differences

    @property
    def file_name(self) -> str:
        """What a copy of one file copies."""
        return {"part": "big", "delta": "large", "stdin": "large"}.get(self.kind, ("large", "small", "medium")[self.tree % 3])

    def __str__(self):
        direction = f"{'far' if self.source_is_far else 'here'}->{'far' if self.target_is_far else 'here'}"
        return f"{self.kind} {direction} over {self.before}, tree {self.tree} {' '.join(self.options)}".rstrip()


def draw_scenario(number: int) -> Scenario:
    chance = random.Random(f"scenario {number}")
    kind = chance.choices(list(KINDS), list(KINDS.values()))[0]
    far = (chance.random() < 0.45 and kind != "stdin", chance.random() < 0.55)
    before = chance.choice(("nothing", "empty", "old", "old"))
    if kind in ("delta", "inplace", "check"):
        before = "old"
    elif kind in ONE_FILE:
        before = chance.choice(("empty", "old"))
    options = [name for name, share in OPTIONS.items() if chance.random() < share]
    if kind == "pipe":
        far = (False, True)  # the two programs are started side by side
        options = [name for name in options if name in OF_PIPES]
    elif kind == "rdpipe":
        options = [name for name in options if name in OF_PIPES]
    elif kind == "check":
        options = [name for name in options if name == "--ring=threads"]
    elif kind not in ("sync", "mirror", "inplace"):
        options = [name for name in options if name not in OF_MIRRORS]
    if kind in ("inplace", "delta"):
        options = [name for name in options if name != "--whole-file"]
    return Scenario(kind, *far, before, chance.randrange(TREES), tuple(options))


# -- trees -------------------------------------------------------------------------------------------------------------

def build_source(root: Path, variant: int):
    """A few dozen entries: plain files of each size, and some of the odd ones."""
    chance = random.Random(f"source {variant}")
    root.mkdir()
    for number, (name, size) in enumerate((("small", 5_000), ("medium", 70_000), ("large", 9 * CHUNK + 321))):
        make_file(root / name, size, seed=variant * 10 + number)
    folders = [root]
    for number in range(chance.randrange(3, 6)):
        folder = chance.choice(folders) / f"folder {number}"
        folder.mkdir()
        folders.append(folder)
    for number in range(chance.randrange(8, 16)):
        size = chance.choice((0, 1, 100, 4095, 4096, 20_000, 130_000, 3 * CHUNK, 300 * KIB))
        make_file(chance.choice(folders) / f"file-{number}", size, seed=variant * 100 + number)
    for part in chance.sample(PARTS, 2):
        every_kind.PARTS[part](root / part)
        if part == "sparse":  # it is read as zeros where a fault hides its holes
            os.truncate(root / part / "only-a-hole", 20 * MIB)
    for number, name in enumerate(chance.sample(every_kind.NAMES[:-1], 3)):  # not the one that looks like rdcp's own
        Path(os.fsdecode(os.fsencode(root) + b"/" + name)).write_bytes(b"content of %d" % number)
    os.symlink("medium", root / "to-medium")
    for path in sorted(everything_in(root), key=lambda path: -len(path.parts)):
        if path.parent.name != "times":
            moment = FIRST_TIME + chance.randrange(10**17)
            os.utime(path, ns=(moment, moment), follow_symlinks=False)


def everything_in(root: Path) -> list[Path]:
    found = [root]
    for folder, names, files in os.walk(root):
        found += [Path(folder, name) for name in names + files]
    return found


def build_big(path: Path):
    make_file(path, BIG, seed=77)
    os.utime(path, ns=(FIRST_TIME + 5, FIRST_TIME + 5))


def build_old(source: Path, root: Path, variant: int):
    """An earlier version of a source, with files that the source has not."""
    chance = random.Random(f"old {variant}")
    subprocess.run(["cp", "-a", source, root], check=True)
    for path in sorted(everything_in(root)[1:]):
        if not os.path.lexists(path):
            continue  # beneath a folder that has been removed
        fate = chance.random()
        if fate < 0.15:
            remove(path)
        elif fate < 0.25:
            moment = FIRST_TIME - chance.randrange(10**17)
            os.utime(path, ns=(moment, moment), follow_symlinks=False)
        elif fate < 0.32 and not path.is_symlink():
            os.chmod(path, 0o700 if path.is_dir() else 0o600)
        elif fate < 0.60 and not path.is_dir():
            write_another(path, chance)
    for name in ("extra", "folder 0/extra too", "extras/one", "extras/deeper/two"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        make_file(root / name, chance.choice((0, 3_000, 200_000)), seed=variant)


def write_another(path: Path, chance: random.Random):
    """A new inode with another time; mostly the same bytes with some changed, sometimes another kind of entry."""
    was_file = path.is_file() and not path.is_symlink() and path.stat().st_size < 2 * MIB
    content = bytearray(path.read_bytes()) if was_file else bytearray()
    path.unlink()
    if chance.random() < 0.1:
        os.symlink("somewhere/else", path)
    else:
        for _ in range(chance.randrange(3)):
            if content:
                content[chance.randrange(len(content))] ^= 0x55
        path.write_bytes(content[:chance.randrange(len(content) + 1)] if chance.random() < 0.3 else content)
    moment = FIRST_TIME - chance.randrange(10**17)
    os.utime(path, ns=(moment, moment), follow_symlinks=False)


def remove(path: Path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


# -- what it comes to --------------------------------------------------------------------------------------------------

def final_tree(scenario: Scenario, source: dict, old: dict) -> dict:
    """By the rules of README ("Where a copy lands", "Mirrors"), not by what rdcp did."""
    if scenario.kind == "check":
        return dict(old)
    if scenario.kind in ONE_FILE:
        name = os.fsencode(scenario.file_name)
        return {**old, name: source[name]}
    return dict(source) if scenario.kind == "mirror" else {**old, **source}
