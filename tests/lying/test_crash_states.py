"""Power is lost at any moment of a copy, and any of what was not flushed is gone: with --fsync every name is whole at each
moment, and after exit 0 all is there; without it the same command completes what is left. A copy is recorded once, and each
moment and seed gives another tree that may be left of it."""

import os
import random
import time
import unittest

from lying import BOUND, LyingTest, differences, snapshot
from harness import EXIT_OK, MIB

STATES = int(os.environ.get("RDCP_LYING_STATES", "150"))  # that are looked at, of each copy
RERUNS = int(os.environ.get("RDCP_LYING_RERUNS", "3"))  # of these, with the same command run again
SEED = int(os.environ.get("RDCP_LYING_SEED", str(time.time_ns() % 10**6)))
OLD_TIME = 10**18
BIG = 17 * MIB + 4321  # has a part
# What comes through is chosen by a seed, modulo their number (power_loss.cpp).
SURVIVALS = ("nothing", "names", "data", "any", "ordered", "any", "ordered", "any")
IN_ORDER = [number for number, survival in enumerate(SURVIVALS) if survival != "any"]


class CrashStates(LyingTest):
    def setUp(self):
        super().setUp()
        self.chance = random.Random(SEED)
        print(f"(RDCP_LYING_SEED={SEED}) ", end="", flush=True)
        self.mount()
        self.tree, self.landing = self.source / "tree", self.target / "landing"
        self.make_tree()

    def make_tree(self):
        """Small files, a large one, links, directories."""
        (self.tree / "sub" / "deeper").mkdir(parents=True)
        for i in range(12):
            self.make_file(self.tree / ("sub" if i % 2 else ".") / f"file-{i}", (0, 100, 5_000, 40_000)[i % 4], seed=i)
        self.make_file(self.tree / "sub" / "deeper" / "large", MIB + 77, seed=99)
        os.symlink("nowhere", self.tree / "link")
        os.link(self.tree / "file-2", self.tree / "sub" / "again")
        for path in (self.tree / "sub" / "deeper", self.tree / "sub", self.tree):
            os.utime(path, ns=(OLD_TIME + 1, OLD_TIME + 2))

    def make_old(self):
        """Older versions of some of it, and what the source does not have."""
        (self.landing / "sub" / "deeper").mkdir(parents=True)
        for name, size in (("file-2", 3_000), ("sub/file-3", 40_000), ("sub/deeper/large", MIB), ("sub/file-7", 40_000),
                           ("sub/extra", 5_000), ("extra", 100)):
            self.make_file(self.landing / name, size, seed=1234)
            os.utime(self.landing / name, ns=(OLD_TIME, OLD_TIME))

    def record(self, *words):
        """Runs a copy that must succeed. What was there before is on the disk."""
        self.before = self.fs.describe()
        self.fs.ask("record")
        self.words = ("--chunk-size", "64K", *words)
        self.copy(*self.words, timeout=BOUND)
        self.result = snapshot(self.landing)
        wanted = snapshot(self.tree)
        self.assertEqual(differences(wanted, {path: self.result[path] for path in wanted if path in self.result}), [])
        self.after = self.fs.describe()
        self.count = int(self.fs.ask("count"))
        # Where the run takes back its marker it has come to its end.
        self.end = int(self.fs.ask("until", ".run"))

    def seed(self) -> int:
        return self.chance.randrange(1 << 40)

    def check_every_moment(self, states: int):
        """Every name has an old or the new file, all of it."""
        for _ in range(states):
            moment, seed = self.chance.randrange(self.count + 1), self.seed()
            state = self.fs.describe(moment, seed)
            with self.subTest(moment=moment, of=self.count, seed=seed):
                for path, (kind, _, _, size, _, content) in state.items():
                    if kind == "directory" or ".rdcp-" in path:
                        continue
                    known = [each[path] for each in (self.before, self.after) if path in each]
                    self.assertIn((kind, size, content), [(facts[0], facts[3], facts[5]) for facts in known], path)
                self.assertEqual((self.before.keys() & self.after.keys()) - state.keys(), set())

    def check_end(self, states: int):
        """After exit 0 all is there."""
        for _ in range(states):
            seed = self.seed()
            with self.subTest(seed=seed):
                state = self.fs.describe(self.count, seed)
                self.assertEqual([(path, state.get(path), self.after.get(path))
                                  for path in sorted(state.keys() | self.after.keys())
                                  if state.get(path) != self.after.get(path)], [])

    def check_reruns(self, states: int, survivals=range(len(SURVIVALS))):
        """The same command makes of what is left what it was to make."""
        for _ in range(states):
            moment = self.chance.randrange(self.end)
            seed = self.seed() * len(SURVIVALS) + self.chance.choice(survivals)
            with self.subTest(moment=moment, of=self.count, seed=seed):
                self.fs.ask("power", moment, seed)
                done = self.rdcp(*self.words, timeout=BOUND)
                self.assertEqual((done.status, done.err), (EXIT_OK, ""), done)
                # What had a temporary name when power was lost is for --clean.
                found = {path: facts for path, facts in snapshot(self.landing).items() if b".rdcp-" not in path}
                self.assertEqual(differences(self.result, found), [])
                self.assertEqual(self.rdcp("--clean", self.target).status, EXIT_OK)
                self.assert_no_litter(self.target)

    def words_for(self, options: tuple, old: bool) -> tuple:
        if old:
            self.make_old()
            return *options, f"{self.tree}/", f"h:{self.landing}"
        return *options, self.tree, f"h:{self.landing}"


class Flushed(CrashStates):
    """With --fsync."""

    def check(self, *options, old: bool, whole: bool = True):
        self.record("--fsync", *self.words_for(options, old))
        if whole:
            self.check_every_moment(STATES)
        self.check_end(STATES)
        self.check_reruns(RERUNS)

    def test_a_new_tree(self):
        self.check("-r", old=False)

    def test_over_old_files(self):
        self.check("-r", old=True)

    def test_a_sync(self):
        self.check("--sync", old=True)

    def test_a_mirror(self):
        self.check("--sync", "--delete", old=True)

    def test_verify(self):
        self.check("-r", "--verify", old=True)

    def test_without_tmpfile(self):
        self.fs.ask("lie", "tmpfile=ENOTSUP")
        self.check("--sync", old=True)

    def test_in_place(self):
        """Old files are not kept whole, but at the end all is there."""
        self.check("--sync", "--inplace", old=True, whole=False)


class Unflushed(CrashStates):
    """Without --fsync the run's end does not count, but the same command notices what did not reach the disk. That takes a
    file system that keeps the order of names, as ext4, xfs and btrfs do: the run's marker is the first of them."""

    def check(self, *options, old: bool):
        self.record(*self.words_for(options, old))
        self.check_reruns(3 * RERUNS, IN_ORDER)

    def test_a_new_tree(self):
        self.check("-r", old=False)

    def test_over_old_files(self):
        self.check("-r", old=True)

    def test_a_sync(self):
        self.check("--sync", old=True)

    def test_a_mirror(self):
        self.check("--sync", "--delete", old=True)

    def test_in_place(self):
        self.check("--sync", "--inplace", old=True)

    def test_without_tmpfile(self):
        self.fs.ask("lie", "tmpfile=ENOTSUP")
        self.check("-r", old=True)


class Moved(CrashStates):
    """With --remove-source-files: at each moment every file is whole, where it was or where it was to go."""

    def check(self, *options):
        self.tree = self.fs.point / "from"  # so that its removals are in the record, too
        self.make_tree()
        before = {path: facts for path, facts in self.fs.describe().items() if path.startswith("from/") and facts[0] != "directory"}
        self.fs.ask("record")
        self.copy("--chunk-size", "64K", "--remove-source-files", *options, f"{self.tree}/", f"h:{self.landing}", timeout=BOUND)
        self.assertEqual([path for path in self.tree.rglob("*") if path.is_symlink() or path.is_file()], [])
        count, gone = int(self.fs.ask("count")), 0
        for _ in range(2 * STATES):
            moment, seed = self.chance.randrange(count + 1), self.seed()
            with self.subTest(moment=moment, of=count, seed=seed):
                state = self.fs.describe(moment, seed)
                for path, (kind, _, _, size, _, content) in before.items():
                    places = (path, path.replace("from/", "target/landing/", 1))
                    self.assertIn((kind, size, content), [(state[place][0], state[place][3], state[place][5])
                                                          for place in places if place in state], path)
                gone += not before.keys() <= state.keys()
        self.assertGreater(gone, 0)  # else this shows nothing

    def test_a_tree(self):
        self.check("-r")

    def test_verify(self):
        self.check("-r", "--verify")

    def test_a_sync_over_old_files(self):
        self.make_old()
        self.check("--sync")


class LargeFile(CrashStates):
    """One file with a part and a journal, alone, over an old one, and with an old one that it differs little from."""

    def make_tree(self):
        self.make_file(self.tree, BIG, seed=5)

    def make_old(self):
        self.make_file(self.landing, BIG, seed=5)
        with open(self.landing, "r+b") as file:
            for at in (0, 5 * MIB, BIG - 12):
                file.seek(at)
                file.write(b"an older one")
        os.utime(self.landing, ns=(OLD_TIME, OLD_TIME))

    def words_for(self, options: tuple, old: bool) -> tuple:
        if old:
            self.make_old()
        return *options, self.tree, f"h:{self.landing}"

    def check(self, *options, old: bool, whole: bool = True):
        self.record("--fsync", *self.words_for(options, old))
        if whole:
            self.check_every_moment(STATES // 10)
        self.check_end(STATES // 10)
        self.check_reruns(RERUNS)

    def test_new(self):
        self.check(old=False)

    def test_over_an_old_one(self):
        self.check("-W", old=True)

    def test_delta(self):
        self.check("--sync", old=True)

    def test_delta_in_place(self):
        self.check("--sync", "--inplace", old=True, whole=False)

    def test_without_fsync(self):
        """Its part and journal are read again, so the order of names does not matter."""
        self.record(*self.words_for((), False))
        self.end = int(self.fs.ask("until", ".journal"))
        self.check_reruns(3 * RERUNS)


if __name__ == "__main__":
    unittest.main()
