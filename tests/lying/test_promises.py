"""Each promise (the last section of the design, SECURITY.md's P1 to P6) tried on each lie of a file system. A class is a
promise, and its tests are named for the lie; TABLE below has every pair, also those that have no scenario, with the
reason. test_crash_states.py has the lie that needs most room: what was not flushed is gone."""

import os
import shutil
import signal
import subprocess
import unittest
from pathlib import Path

from lying import BOUND, LyingTest, every_kind, snapshot
from harness import CHUNK, EXIT_DIGEST, EXIT_FILES, EXIT_OK, MIB, Finished, wait_for

BIG = 20 * MIB + 12345  # of a file that has a part
OLD_TIME = 10**18
# What a file system is told to do, by the lie's name in TABLE.
LIES = {
    "close": ("close=EIO:0",),
    "no_flock": ("flock=ENOLCK",),
    "no_xattrs": ("xattrs=ENOTSUP",),
    "folds_case": ("fold",),
    "stale": ("stale=7:40",),
    "two_seconds": ("two-seconds",),
    "all": ("close=EIO:400000", "flock=ENOTSUP", "xattrs=ENOTSUP", "fold", "stale=19:200", "two-seconds", "tmpfile=ENOTSUP"),
}
ERRORS = {"EIO": "Input/output error", "ENOSPC": "No space left on device", "EDQUOT": "Disk quota exceeded"}


class Promises(LyingTest):
    """Whatever a test does, nothing outside the target and nothing of the source is changed, and no handle is left."""

    def mount(self, *lies: str):
        fs = super().mount(*lies)
        self.untouched = snapshot(self.outside)
        return fs

    def tearDown(self):
        if self.fs.process.poll() is None:
            self.assertEqual(snapshot(self.outside), self.untouched)
            self.assertTrue(wait_for(lambda: self.fs.ask("handles").split()[0] == "0"), self.fs.ask("handles"))
        super().tearDown()

    def make_tree(self) -> Path:
        """Small and large files, empty ones, links."""
        tree = self.source / "tree"
        (tree / "sub" / "empty").mkdir(parents=True)
        for i, size in enumerate((0, 100, 5_000, 40_000, 3 * CHUNK + 5, BIG)):
            self.make_file(tree / f"file-{i}", size, seed=i)
            self.make_file(tree / "sub" / f"file-{i}", min(size, 100_000), seed=10 + i)
        os.symlink("nowhere", tree / "link")
        os.link(tree / "file-2", tree / "sub" / "again")
        return tree

    def make_old(self, tree: Path, landing: Path) -> dict:
        """An older version of the tree's files; returns what they are."""
        shutil.copytree(tree, landing, symlinks=True)
        for path in [path for path in landing.rglob("file-*") if path.stat().st_size > 0]:
            path.unlink()
            self.make_file(path, (tree / path.relative_to(landing)).stat().st_size, seed=999)
            os.utime(path, ns=(OLD_TIME, OLD_TIME))
        return snapshot(landing)

    def run_bounded(self, *words, **options) -> Finished:
        return self.rdcp("--chunk-size", "64K", *words, timeout=BOUND, **options)

    def assert_old_or_new(self, old: dict, tree: Path, landing: Path, ignore=("mtime_ns", "linked_with")):
        """Every name has all of the one or of the other content."""
        new = snapshot(tree)
        for path, facts in snapshot(landing).items():
            if facts.type != "file" or b".rdcp-" in path:
                continue
            contents = [(each[path].size, each[path].content) for each in (old, new) if path in each]
            self.assertIn((facts.size, facts.content), contents, path)


class Honest(Promises):
    """Without a lie: what the other tests find is not the fault of the file system as such."""

    def test_every_kind_of_entry(self):
        self.mount()
        tree = self.source / "tree"
        tree.mkdir()
        for name, make in every_kind.PARTS.items():
            if name != "acls":  # FUSE has ACLs only where the server keeps modes and lists in step
                make(tree / name)
        for landing in ("new", "over"):
            done = self.copy("--chunk-size", "64K", "-r", tree, f"h:{self.target}/{landing}")
            self.assertEqual(done.err, "")
            self.assert_same_tree(tree, self.target / landing)
        for place in (tree, self.target / "over"):
            (place / "sparse" / "only-a-hole").unlink()  # 64 GiB are too much to read
        self.assertEqual(self.copy("--check", f"{tree}/", f"h:{self.target}/over").err, "")

    def test_without_tmpfile(self):
        self.mount("tmpfile=ENOTSUP")
        tree = self.make_tree()
        self.copy("-r", tree, self.target / "new")
        self.assert_same_tree(tree, self.target / "new")
        self.assert_no_litter(self.target)


class Promise1(Promises):
    """Exit 0: all is there. Otherwise a line names path and cause."""

    def check_close(self, error: str, *options: str, old: bool = False):
        tree, landing = self.source / "tree", self.target / "landing"
        self.fs.ask("lie", "honest")
        subprocess.run(["rm", "-rf", landing], check=True)
        if old:
            self.make_old(tree, landing)
        self.fs.ask("lie", f"close={error}:0")
        done = self.run_bounded("-r", *options, f"{tree}/", f"h:{landing}")
        if "--verify" in options:  # may meet what is missing before the file is closed
            self.assertIn(done.status, (EXIT_FILES, EXIT_DIGEST), done)
            self.assertRegex(done.err, f"tree.*({ERRORS[error]}|not on the target's disk as it was written)")
        else:
            self.assertEqual(done.status, EXIT_FILES, done)
            self.assertIn(ERRORS[error], done.err)
        if error == "EIO" and done.status == EXIT_FILES:  # a disk that is full is told once
            for name in ("file-1", "file-2", "file-4", "file-5", "sub/file-3"):
                self.assertRegex(done.err, rf"/{name}: {ERRORS[error]}")
        self.fs.ask("lie", "honest")
        if "--inplace" not in options and not old:
            self.assertEqual([path for path in landing.rglob("file-*") if path.stat().st_size > 0], [])
        done = self.run_bounded("-r", *options, f"{tree}/", f"h:{landing}")
        self.assertEqual((done.status, done.err), (EXIT_OK, ""))
        self.assert_same_tree(tree, landing)
        self.assert_no_litter(self.target)

    def test_close(self):
        self.mount()
        self.make_tree()
        for error in ERRORS:
            for options in ((), ("--fsync",), ("--verify",)):
                with self.subTest(error, options=options):
                    self.check_close(error, *options)

    def test_close_over_old_files(self):
        self.mount()
        self.make_tree()
        for options in ((), ("--sync",), ("--inplace",), ("--sync", "--inplace"), ("--sync", "-W", "--fsync"),
                        ("--sync", "--verify"), ("--inplace", "--fsync")):
            with self.subTest(options=options):
                self.check_close("EIO", *options, old=True)

    def test_no_flock(self):
        for error in ("ENOLCK", "ENOTSUP", "ENOSYS"):
            with self.subTest(error):
                self.mount(f"flock={error}")
                tree = self.source / "tree"
                tree = tree if tree.exists() else self.make_tree()
                done = self.run_bounded("-r", tree, f"h:{self.target}/new")
                self.assertEqual((done.status, done.err.count("flock")), (EXIT_OK, 1), done)
                self.assert_same_tree(tree, self.target / "new")
                self.assert_no_litter(self.target)
                self.unmount()


class Promise2(Promises):
    """A name has all of its file, old or new."""

    def test_close(self):
        self.mount()
        tree, landing = self.make_tree(), self.target / "landing"
        for options in ((), ("--sync",), ("--fsync",), ("--verify",), ("-W",)):
            for spared in (0, 50_000, 3 * MIB):
                with self.subTest(options=options, spared=spared):
                    self.fs.ask("lie", "honest")
                    subprocess.run(["rm", "-rf", landing], check=True)
                    old = self.make_old(tree, landing)
                    self.fs.ask("lie", f"close=EIO:{spared}")
                    done = self.run_bounded("-r", *options, f"{tree}/", f"h:{landing}")
                    self.assertIn(done.status, (EXIT_FILES, EXIT_DIGEST) if "--verify" in options else (EXIT_FILES,))
                    self.assert_old_or_new(old, tree, landing)

    def test_no_flock(self):
        """Killed in the middle: nothing to go on with, and nothing that is half."""
        self.mount("flock=ENOLCK")
        tree, landing = self.make_tree(), self.target / "landing"
        old = self.make_old(tree, landing)
        running = self.start("--bwlimit", "8MiB", "--chunk-size", "64K", "-r", f"{tree}/", f"h:{landing}")
        new = (tree / "file-1").read_bytes()
        self.assertTrue(wait_for(lambda: (landing / "file-1").read_bytes() == new or running.process.poll() is not None))
        self.assertIsNone(running.process.poll())
        os.killpg(running.pid, signal.SIGKILL)
        running.process.wait()
        self.assert_nothing_lives(running)
        self.assert_old_or_new(old, tree, landing)
        self.assertEqual(self.run_bounded("-r", f"{tree}/", f"h:{landing}").status, EXIT_OK)
        self.assert_same_tree(tree, landing)


if __name__ == "__main__":
    unittest.main()
