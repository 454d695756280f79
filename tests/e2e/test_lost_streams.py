"""Data connections that break: what was under way goes over the others, and only the last one's loss ends the run."""

import os
import shutil
import subprocess
import time
import unittest
from pathlib import Path

from harness import CHUNK, EXIT_DATA, MIB, CopyTest, preloaded
from meddler import Meddler

STREAMS = 3


class Cutting(CopyTest):
    def setUp(self):
        super().setUp()
        self.log = self.disk / "cuts"
        self.settings = preloaded("cut", RDCP_CUT_LOG=self.log)
        self.tree = self.source / "tree"
        (self.tree / "small" / "deep").mkdir(parents=True)
        for i in range(3):
            self.make_file(self.tree / f"large-{i}", 150 * CHUNK + i, seed=i)
        for i in range(300):
            self.make_file(self.tree / "small" / f"file-{i}", 3000, seed=i)
        self.make_file(self.tree / "sparse", 10)
        os.truncate(self.tree / "sparse", 8 * MIB)
        os.link(self.tree / "large-0", self.tree / "small" / "deep" / "link")

    def environment(self, streams: int, after: int) -> dict:
        """For the agent in this process."""
        return {**os.environ, **self.settings, "RDCP_CUT_STREAMS": str(streams), "RDCP_CUT_AFTER": str(after)}

    def agent(self, streams: int, after: int, **more) -> Path:
        """An rdcp for the far side."""
        settings = {**self.settings, "RDCP_CUT_STREAMS": streams, "RDCP_CUT_AFTER": after, **more}
        return self.far_rdcp(f"rdcp-{streams}-{after}", settings)

    def cuts(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def copy_cut(self, cuts: int, *words, streams: int = STREAMS, retry: int = 0,
                 then: str = "its chunks went over the others", warnings: int | None = None, fewest: int = 0,
                 **options):
        """A copy of the tree that loses some of its streams, and nothing else. warnings: how many it tells, if that is
        another number than that of the cuts made here. fewest: if it may be fewer."""
        self.log.unlink(missing_ok=True)
        done = self.copy("-r", "--streams", str(streams), "--retry-time", str(retry), "--chunk-size", "64K", *words,
                         **options)
        self.assertEqual(self.cuts(), cuts)
        lines = done.err.splitlines()
        most = cuts if warnings is None else warnings
        self.assertIn(len(lines), range(fewest or most, most + 1), done)
        for line in lines:
            self.assertRegex(line, rf"^rdcp: warning: stream [1-9] \(tcp .* -> .*\) was lost: .*; {then}$")
        return done


class LostStreams(Cutting):
    def test_one_that_the_source_loses(self):
        for after in (1, 2, 7, 30):
            with self.subTest(after=after):
                target = self.target / str(after)
                self.copy_cut(1, self.tree, f"dest:{target}", env=self.environment(1, after))
                self.assert_same_tree(self.tree, target)
                self.assert_no_litter(target)

    def test_one_that_the_target_loses(self):
        for after in (2, 11, 50):
            with self.subTest(after=after):
                target = self.target / str(after)
                self.copy_cut(1, "--rdcp-path", self.agent(1, after), self.tree, f"dest:{target}")
                self.assert_same_tree(self.tree, target)

    def test_backups_are_of_what_was_there_before(self):
        """What was put, and not heard of, is put once more."""
        for after in (2, 3, 4, 6, 9):
            with self.subTest(after=after):
                target = self.target / str(after)
                shutil.copytree(self.tree, target)
                names = [path.relative_to(target) for path in target.rglob("*") if path.is_file()]
                for name in names:
                    (target / name).write_bytes(b"old")
                self.copy_cut(1, "--backup", "--rdcp-path", self.agent(1, after), f"{self.tree}/", f"dest:{target}")
                for name in names:
                    self.assertEqual((target / f"{name}~").read_bytes(), b"old", name)
                    self.assert_same_file(self.tree / name, target / name)

    def test_on_the_way_here(self):
        self.copy_cut(1, "--rdcp-path", self.agent(1, 5), f"dest:{self.tree}", self.target / "tree")
        self.assert_same_tree(self.tree, self.target / "tree")

    def test_all_but_one(self):
        self.copy_cut(STREAMS - 1, self.tree, f"dest:{self.target}/tree", env=self.environment(STREAMS - 1, 9))
        self.assert_same_tree(self.tree, self.target / "tree")

    def test_all(self):
        old = self.make_file(self.target / "large-1", 10, seed=99)
        before = old.read_bytes()
        done = self.fails(EXIT_DATA, "-r", "--streams", str(STREAMS), "--retry-time", "0", "--chunk-size", "64K",
                          f"{self.tree}/", f"dest:{self.target}", env=self.environment(STREAMS, 9))
        self.assertEqual(self.cuts(), STREAMS)
        self.assertRegex(done.err, r"^[^\n]*\nrdcp: run the same command again to go on\n$", done)
        self.assert_no_litter(self.target, cut_short=True)
        for path in self.target.rglob("*"):
            if path.is_file() and path.read_bytes() != before:
                self.assert_same_file(self.tree / path.relative_to(self.target), path)


class ComeBack(Cutting):
    """With a time to retry for, other streams take the place of those that are lost."""

    THEN = "another one took its place"

    def come_back(self, cuts: int, *words, **options):
        return self.copy_cut(cuts, *words, retry=30, then=f"({self.THEN}|its chunks went over the others)", **options)

    def test_the_only_one(self):
        for after in (1, 2, 40):
            with self.subTest(after=after):
                target = self.target / str(after)
                self.copy_cut(1, self.tree, f"dest:{target}", streams=1, retry=30, then=self.THEN,
                              env=self.environment(1, after))
                self.assert_same_tree(self.tree, target)
                self.assert_no_litter(target)

    def test_the_only_one_that_the_target_loses(self):
        for after in (2, 40):
            with self.subTest(after=after):
                target = self.target / str(after)
                self.copy_cut(1, "--rdcp-path", self.agent(1, after), self.tree, f"dest:{target}", streams=1, retry=30,
                              then=self.THEN)
                self.assert_same_tree(self.tree, target)

    def test_the_only_one_on_the_way_here(self):
        for after in (2, 40):
            with self.subTest(after=after):
                target = self.target / str(after)
                self.copy_cut(1, "--rdcp-path", self.agent(1, after), f"dest:{self.tree}", target, streams=1, retry=30,
                              then=self.THEN)
                self.assert_same_tree(self.tree, target)

    def test_all(self):
        # One of those that are cut may have only just taken another's place: a failed try, of which nothing is told.
        self.come_back(STREAMS, self.tree, f"dest:{self.target}/tree", env=self.environment(STREAMS, 9), fewest=1)
        self.assert_same_tree(self.tree, self.target / "tree")
        self.assert_no_litter(self.target)

    def test_between_two_hosts(self):
        self.copy("-r", "--streams", "1", "--retry-time", "30", "--chunk-size", "64K", "--rdcp-path", self.agent(1, 20),
                  f"dest:{self.tree}", f"other:{self.target}/tree")
        self.assertGreaterEqual(self.cuts(), 1)  # by either agent
        self.assert_same_tree(self.tree, self.target / "tree")


class InOrder(Cutting):
    """A FIFO at the target is written in order: what comes behind a chunk that was lost waits for it in its slot."""

    def into_a_fifo(self, name: str, streams: int, after: int, retry: int):
        fifo, copied = self.target / name, self.target / f"{name}.copy"
        os.mkfifo(fifo)
        self.addCleanup(os.close, os.open(fifo, os.O_RDONLY | os.O_NONBLOCK))  # cp may not have opened it in time
        reader = subprocess.Popen(["cp", fifo, copied])
        self.addCleanup(reader.kill)
        self.log.unlink(missing_ok=True)
        done = self.copy("--encrypt", "--streams", str(streams), "--retry-time", str(retry), "--chunk-size", "64K",
                         self.tree / "large-0", f"dest:{fifo}", env=self.environment(1, after))
        self.assertEqual(self.cuts(), 1)
        self.assertRegex(done.err, "was lost: ")
        self.assertEqual(reader.wait(20), 0)
        self.assertEqual(copied.read_bytes(), (self.tree / "large-0").read_bytes())

    def test_one_that_nothing_replaces(self):
        for after in (1, 2, 3, 5, 9, 20):
            with self.subTest(after=after):
                self.into_a_fifo(f"fifo-{after}", STREAMS, after, 0)

    def test_one_that_comes_back(self):
        for streams in (1, STREAMS):
            for after in (2, 3, 20):
                with self.subTest(streams=streams, after=after):
                    self.into_a_fifo(f"fifo-{streams}-{after}", streams, after, 30)


class OneEnd(Cutting):
    """One end is reset, and something between them holds the other one open: it is told over control."""

    def through_a_meddler(self, source, target, listener: bool, streams: int = 1, retry: int = 30):
        """listener: the end that listens is reset, not the one that connects. What the source sends is counted, because
        the target's first credits, which are as many bytes, may come before the listener knows whose stream it is."""
        ports = self.disk / "ports"
        sends_to_listener = source is self.tree
        meddler = Meddler(lambda: int(ports.read_text().split()[-1]), reset=(0, sends_to_listener, 100_000, listener))
        self.addCleanup(meddler.close)
        env = {**os.environ, **self.settings, "RDCP_DETOUR": str(meddler.port), "RDCP_DETOUR_LOG": str(ports)}
        begun = time.monotonic()
        self.copy_cut(0, source, target, env=env, streams=streams, retry=retry,
                      then=f"({ComeBack.THEN}|its chunks went over the others)", warnings=1)
        self.assertTrue(meddler.was_reset)
        self.assertLess(time.monotonic() - begun, 20)

    def test_on_the_way_here(self):
        for listener in (False, True):
            with self.subTest(listener=listener):
                target = self.target / str(listener)
                self.through_a_meddler(f"dest:{self.tree}", target, listener)
                self.assert_same_tree(self.tree, target)

    def test_on_the_way_there(self):
        for listener in (False, True):
            with self.subTest(listener=listener):
                target = self.target / str(listener)
                self.through_a_meddler(self.tree, f"dest:{target}", listener)
                self.assert_same_tree(self.tree, target)

    def test_one_of_several_without_another_try(self):
        self.through_a_meddler(f"dest:{self.tree}", self.target / "tree", False, streams=STREAMS, retry=0)
        self.assert_same_tree(self.tree, self.target / "tree")


if __name__ == "__main__":
    unittest.main()
