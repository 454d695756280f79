#!/usr/bin/env python3
"""A mirror over a bad path, for as long as you like: packets are lost and late, cables pulled out, connections reset, agents
killed, and the tree changes from round to round. After each round the mirror is as the source is, and at the end nothing
is left behind. The same seed draws the same rounds; when a blow meets a copy is a matter of time."""

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

from harness import BUILD, KIB, MIB, RDCP  # noqa: E402
from snapshot import differences, snapshot  # noqa: E402

from long_path import LongPath, Way, long_path, why_no_long_path  # noqa: E402  in scripts/lib, as harness has it
from processes import children_of  # noqa: E402
from sshd import LocalSshd  # noqa: E402

SSH_PORT = 2222
SKIPPED = 77  # exit status: this machine has not what it takes
LONGEST = 600.0  # seconds for one command, whatever befalls it
GRACE = 100.0  # until nothing of a command is left on either host; agents go after 25 s of silence, sshd's sessions later
OPTIONS = ([], ["--encrypt"], ["--compress=auto"], ["--streams", "3"], ["--retries", "2"], ["--checksum"])


@dataclass
class Size:
    """Of a round: how much there is, and how bad the path."""
    large: int
    small: int
    way: Way


BRIEF = Size(8 * MIB, 40, Way(10, 0.002, mbit=80))
LONG = Size(24 * MIB, 400, Way(50, 0.01, mbit=80))


# -- what changes between two rounds ----------------------------------------------------------------------------------

def build(root: Path, size: Size, chance: random.Random):
    for folder in ("a", "a/b", "c"):
        (root / folder).mkdir(parents=True)
    for name in ("a/large", "c/larger"):
        (root / name).write_bytes(chance.randbytes(size.large))
    more_files(root, size, chance)
    os.symlink("../a/large", root / "c" / "link")
    os.link(root / "a" / "large", root / "a" / "b" / "again")


def files_of(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())


def more_files(root: Path, size: Size, chance: random.Random):
    folders = [root, *sorted(path for path in root.rglob("*") if path.is_dir())]
    for number in range(size.small // 4):
        path = chance.choice(folders) / f"{chance.randrange(10**6)}-{number}"
        path.write_bytes(chance.randbytes(chance.choice([0, 100, 5 * KIB, 60 * KIB])))


def rewrite(root: Path, _: Size, chance: random.Random):
    """Here and there in files, the large ones among them."""
    for path in chance.sample(files_of(root), 5) + [root / "a" / "large"]:
        with open(path, "r+b") as file:
            file.seek(chance.randrange(path.stat().st_size + 1))
            file.write(chance.randbytes(chance.choice([1, 4096, 300_000])))


def remove(root: Path, _: Size, chance: random.Random):
    small = [path for path in files_of(root) if path.stat().st_size < MIB]
    for path in chance.sample(small, len(small) // 4):
        path.unlink()


def move(root: Path, _: Size, chance: random.Random):
    for path in chance.sample(files_of(root), 3):
        if path.stat().st_size < MIB:
            path.rename(path.with_name(f"{path.name}~"))


def replace(root: Path, size: Size, chance: random.Random):
    new = root / "c" / "new"
    new.write_bytes(chance.randbytes(size.large))
    new.rename(root / "c" / "larger")


def change_modes(root: Path, _: Size, chance: random.Random):
    for path in chance.sample(files_of(root), 5):
        path.chmod(chance.choice([0o600, 0o644, 0o755]))


CHANGES = (more_files, rewrite, remove, move, change_modes)  # a large file is replaced each time


# -- what befalls a copy ----------------------------------------------------------------------------------------------

class Bed:
    def __init__(self, path: LongPath, far: LocalSshd):
        self.path, self.far = path, far

    def agents(self) -> list[int]:
        """On the far host, those too whose ssh has gone."""
        network = network_of(self.far.pid)
        return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
                if comm(pid) == "rdcp" and network_of(pid) == network]


def network_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{pid}/ns/net")
    return ""


def comm(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def kill(pids: list[int], number: int):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def pull_the_cable(bed: Bed, copy: subprocess.Popen, chance: random.Random):
    bed.path.lose(1.0)
    wait(copy, chance.choice([1, 5, 20, 45]))


def lose_much(bed: Bed, copy: subprocess.Popen, chance: random.Random):
    bed.path.lose(chance.choice([0.1, 0.3]))
    wait(copy, chance.choice([3, 10]))


def reset_connections(bed: Bed, copy: subprocess.Popen, chance: random.Random):
    """Those of the data, and in one of three cases ssh's as well."""
    spared = f"tcp sport != {SSH_PORT} " if chance.random() < 2 / 3 else ""
    rules = f"add table inet soak; add chain inet soak out {{ type filter hook output priority 0; }}; " \
            f"add rule inet soak out meta l4proto tcp {spared}reject with tcp reset"
    subprocess.run([*bed.path.inside, "nft", rules], check=True)
    wait(copy, 1)
    subprocess.run([*bed.path.inside, "nft", "delete table inet soak"], check=True)


def kill_far_agent(bed: Bed, _: subprocess.Popen, __: random.Random):
    kill(bed.agents(), signal.SIGKILL)


def stop_far_agent(bed: Bed, copy: subprocess.Popen, chance: random.Random):
    agents = bed.agents()
    kill(agents, signal.SIGSTOP)
    wait(copy, chance.choice([2, 10, 40]))
    kill(agents, signal.SIGCONT)


def kill_coordinator(_: Bed, copy: subprocess.Popen, chance: random.Random):
    copy.send_signal(chance.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP]))


def kill_own_agent(_: Bed, copy: subprocess.Popen, __: random.Random):
    kill([pid for pid, _ in children_of(copy.pid) if comm(pid) == "rdcp"], signal.SIGKILL)


def leave_alone(_: Bed, __: subprocess.Popen, ___: random.Random):
    pass


BLOWS = (pull_the_cable, lose_much, reset_connections, kill_far_agent, stop_far_agent, kill_coordinator, kill_own_agent,
         leave_alone)


def wait(copy: subprocess.Popen, seconds: float):
    """As long as the copy runs."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        copy.wait(seconds)


# -- rounds -----------------------------------------------------------------------------------------------------------

class Soak:
    def __init__(self, folder: Path, bed: Bed, size: Size, chance: random.Random):
        self.folder, self.bed, self.size, self.chance = folder, bed, size, chance
        self.source, self.target = folder / "source", folder / "target"
        self.ends: Counter[str] = Counter()
        self.rounds = self.blows = 0
        build(self.source, size, chance)

    def start(self, options: list[str]) -> subprocess.Popen:
        words = [RDCP, "-q", "-F", self.bed.far.config, "--rdcp-path", RDCP, "--sync", "--delete", *options,
                 f"{self.source}/", f"dest:{self.target}"]
        with open(self.folder / "said", "ab") as said:
            return subprocess.Popen([os.fspath(word) for word in words], stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                                    start_new_session=True)

    def end(self, copy: subprocess.Popen) -> int:
        try:
            return copy.wait(LONGEST)
        except subprocess.TimeoutExpired:
            copy.kill()
            copy.wait()
            raise AssertionError(f"a copy did not end within {LONGEST:.0f} s") from None

    def round(self):
        """A change, a copy with a blow, and the same copy until it is done."""
        (self.folder / "said").write_bytes(b"")
        for change in (replace, self.chance.choice(CHANGES)):
            change(self.source, self.size, self.chance)
        options, blow = self.chance.choice(OPTIONS), self.chance.choice(BLOWS)
        began = time.monotonic()
        copy = self.start(options)
        wait(copy, self.chance.uniform(0.2, 2))
        met = copy.poll() is None
        blow(self.bed, copy, self.chance)
        self.bed.path.lose(self.size.way.loss)
        status = self.end(copy)
        if blow is stop_far_agent:
            # Where --retries has brought another agent meanwhile, this one's run was cut short, and leaves its marker as any
            # such run does, until the same command comes to its end.
            self.await_silence()
        if status == 0 and not (blow is stop_far_agent and self.has_left_marker()):
            self.compare(f"after {blow.__name__}")
        else:
            self.end_again(options, blow.__name__)
        self.await_silence()
        self.rounds += 1
        self.blows += met and blow is not leave_alone
        self.ends[f"{blow.__name__}, exit {status}"] += 1
        print(f"soak: round {self.rounds}: {' '.join(options) or 'no option'}, {blow.__name__}, exit {status}, "
              f"{time.monotonic() - began:.1f} s", flush=True)

    def end_again(self, options: list[str], blow: str):
        """What was cut short leaves nothing that stops the same command, undisturbed."""
        status = self.end(self.start(options))
        if status != 0:
            raise AssertionError(f"the run after {blow} ended with {status}")
        self.compare(f"by the run after {blow}")

    def has_left_marker(self) -> bool:
        return any(self.target.glob(".rdcp-*.run"))

    def compare(self, when: str):
        lines = differences(snapshot(self.source), snapshot(self.target), ())
        if lines:
            raise AssertionError(f"{when} the mirror differs:\n" + "\n".join(lines[:20]))

    def await_silence(self):
        end = time.monotonic() + GRACE
        while self.bed.agents():
            if time.monotonic() > end:
                raise AssertionError(f"an agent lives on: {self.bed.agents()}")
            time.sleep(0.05)

    def clean(self):
        """Nothing of any round is left beside or in the mirror but what --clean removes, and that is nothing."""
        done = subprocess.run([RDCP, "--clean", "-n", self.target], capture_output=True, text=True, check=False)
        left = [path for path in self.folder.rglob("*") if ".rdcp-" in path.name]
        if done.returncode != 0 or left:
            raise AssertionError(f"left behind: {left}; --clean says {done.returncode}: {done.stdout}{done.stderr}")


def run(options, folder: Path) -> int:
    size = BRIEF if options.seconds < 600 else LONG
    seed = options.seed if options.seed is not None else time.time_ns() % 10**8
    print(f"soak: {options.seconds} s from seed {seed}; {2 * size.way.delay_ms:.0f} ms, {100 * size.way.loss:.1f} % lost, "
          f"{size.way.mbit:.0f} Mbit/s", flush=True)
    keys = folder / "keys"
    keys.mkdir()
    with long_path(BUILD / "long_path", size.way) as path, \
            LocalSshd(keys, path.address, SSH_PORT, path.inside) as far:
        soak = Soak(folder, Bed(path, far), size, random.Random(seed))
        until = time.monotonic() + options.seconds
        try:
            while time.monotonic() < until:
                soak.round()
            soak.clean()
        except AssertionError as failure:
            print(f"soak: round {soak.rounds + 1} FAILED: {failure}\n{(folder / 'said').read_text(errors='replace')}"
                  f"soak: repeat it with --seed {seed} --seconds {options.seconds}", flush=True)
            return 1
    for end, count in sorted(soak.ends.items()):
        print(f"{count:5}  {end}")
    print(f"soak: {soak.rounds} rounds, {soak.blows} blows met a copy; the mirror was as the source after each of them")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=3600, help="how long (3600)")
    parser.add_argument("--seed", type=int, help="of what is drawn")
    options = parser.parse_args()
    if why := why_no_long_path():
        print(f"soak ... skipped '{why}'")
        return SKIPPED
    folder = Path(tempfile.mkdtemp(prefix="rdcp-soak-"))
    try:
        return run(options, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
