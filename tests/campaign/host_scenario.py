"""What is copied to several hosts, by which command, and what each of them has before. Everything is drawn from a number."""

import os
import random
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness import MIB, make_file
from model import Rules
from scenario import build_big, build_old, build_source

TREES = 4
# How often each kind of copy is drawn.
KINDS = {"tree": 5, "mirror": 4, "file": 2, "stdin": 2}
OPTIONS = {"--no-encrypt": 0.5, "--verify": 0.2, "--compress=1": 0.1, "--ring=threads": 0.15, "--streams=1": 0.2}
FANOUTS = {1: 6, 2: 3, 3: 1, 16: 1}
HOSTS = (3, 16)
HOSTS_WITH_SSH = 6  # at most: a login costs more than all else of such a copy
SHARE_WITH_SSH = 0.2
SHARE_OF_FAR_SOURCES = 0.15
SHARE_OF_RETRIES, RETRIES = 0.35, 4
SHARE_OF_SMALL_CHUNKS, SMALL_CHUNK = 0.6, 64 << 10
STATES = ("nothing", "empty", "old", "other", "same")


@dataclass(frozen=True)
class HostScenario:
    kind: str
    hosts: int
    before: tuple       # of each host: one of STATES
    tree: int           # which source
    options: tuple
    fanout: int
    retries: int
    small_chunks: bool
    by_ssh: bool        # by an sshd in each host; else by a launcher that needs no network
    source_is_far: bool
    seconds: float      # how long the copy is to take, by --bwlimit

    file_name = "big"

    @property
    def is_read_once(self) -> bool:
        return self.kind == "stdin"

    @property
    def is_one_file(self) -> bool:
        return self.kind in ("file", "stdin")

    @property
    def is_sealed(self) -> bool:
        return "--no-encrypt" not in self.options

    def sends_on(self, host: int) -> bool:
        """Whether the host is to pass on what it gets, as long as all are in the chain or the tree."""
        return self.fanout * (host - 1) + 1 < self.hosts

    def parent(self, host: int) -> int:
        return (host - 2) // self.fanout + 1

    @property
    def rules(self) -> Rules:
        return Rules(deletes=self.kind == "mirror", content_only=self.is_read_once)

    def __str__(self):
        by = "ssh" if self.by_ssh else "a launcher"
        states = ",".join(self.before) if len(set(self.before)) > 1 else self.before[0]
        extra = (f" --retries={self.retries}" if self.retries else "") + (" small chunks" if self.small_chunks else "")
        return (f"{self.kind} {'from afar ' if self.source_is_far else ''}to {self.hosts} hosts by {by} over {states}, tree "
                f"{self.tree} {' '.join(self.options)}{extra}")


def draw_host_scenario(chance: random.Random) -> HostScenario:
    kind = chance.choices(list(KINDS), list(KINDS.values()))[0]
    by_ssh = chance.random() < SHARE_WITH_SSH
    hosts = chance.randint(HOSTS[0], HOSTS_WITH_SSH if by_ssh else HOSTS[1])
    if kind == "mirror":
        before = tuple(chance.choice(STATES) for _ in range(hosts))
    else:
        # A file lands in a directory that has to be there.
        before = (chance.choice(("empty", "old") if kind in ("file", "stdin") else ("nothing", "nothing", "empty", "old")),) * hosts
    options = tuple(name for name, share in OPTIONS.items() if chance.random() < share)
    fanout = chance.choices(list(FANOUTS), list(FANOUTS.values()))[0]
    options += (f"--fanout={fanout}",)
    retries = RETRIES if chance.random() < SHARE_OF_RETRIES else 0
    far = kind != "stdin" and chance.random() < SHARE_OF_FAR_SOURCES
    return HostScenario(kind, hosts, before, chance.randrange(TREES), options, fanout, retries,
                        chance.random() < SHARE_OF_SMALL_CHUNKS, by_ssh, far, chance.uniform(0.5, 1.5))


def build_sources(folder: Path, tree: int) -> tuple[Path, Path, Path]:
    """Makes a source and two earlier versions of it, and returns them."""
    source = folder / f"source-{tree}"
    build_source(source, tree)
    build_big(source / "big")
    make_file(source / "larger", 3 * MIB + tree, seed=tree)
    olds = []
    for name, variant in (("old", tree), ("other", tree + 100)):
        olds.append(folder / f"{name}-{tree}")
        build_old(source, olds[-1], variant)
    return source, *olds


def put_before(state: str, sources: tuple[Path, Path, Path], dst: Path):
    """Makes what a host has before."""
    if state == "empty":
        dst.mkdir()
    elif state != "nothing":
        origin = sources[("same", "old", "other").index(state)]
        subprocess.run(["cp", "-a", origin, dst], check=True)


def bytes_to_send(scenario: HostScenario, source: Path) -> int:
    """How much there is to send to a host that has nothing."""
    paths = [source / scenario.file_name] if scenario.is_one_file else [
        Path(folder, name) for folder, _, names in os.walk(source) for name in names]
    return sum(min(path.lstat().st_size, path.lstat().st_blocks * 512) for path in paths)
