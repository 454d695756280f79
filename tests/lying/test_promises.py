"""Each promise (the last section of the design, SECURITY.md's P1 to P6) tried on each lie of a file system. A class is a
promise, and its tests are named for the lie; TABLE below has every pair, also those that have no scenario, with the
reason. test_crash_states.py has the lie that needs most room: what was not flushed is gone."""

import os
import re
import shutil
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from lying import BOUND, LyingTest, differences, every_kind, snapshot
from harness import CHUNK, EXIT_DIGEST, EXIT_FILES, EXIT_OK, MIB, Finished, Running, wait_for
from test_resume import recorded_chunks

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
            self.fs.ask("lie", "honest")
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

    def test_no_xattrs(self):
        self.mount(*LIES["no_xattrs"])
        tree = self.make_tree()
        every_kind.make_xattrs(tree / "xattrs")
        done = self.run_bounded("-r", tree, f"h:{self.target}/new")
        self.assertEqual((done.status, done.err.count("not kept: extended attributes")), (EXIT_OK, 1), done)
        self.assert_same_tree(tree, self.target / "new", ignore=("xattrs",))

    def test_folds_case(self):
        """Of two names that are one at the target, one is copied and the other named, whichever way rdcp finds out."""
        tree = self.make_tree()
        (tree / "FILE-4").write_text("another one")
        (tree / "Link").symlink_to("../../outside")
        wanted = snapshot(tree)
        for lies in (("fold",), ("fold", "flock=ENOLCK")):
            for words in (("-r",), ("--sync",), ("-r", "--no-resume"), ("-r", "--fsync"), ("-r", "--verify"),
                          ("--sync", "--verify")):
                with self.subTest(lies=lies, words=words):
                    self.mount(*lies)
                    done = self.run_bounded(*words, f"{tree}/", f"h:{self.target}/new")
                    self.assertEqual(done.status, EXIT_FILES, done)
                    self.assertEqual(sorted(re.findall(r"/new/(\S+): another name of src differs", done.err.lower())),
                                     ["file-4", "link"])
                    found = snapshot(self.target / "new")
                    self.assertEqual(len(found), len(wanted) - 2)
                    self.assertEqual(differences({path: wanted[path] for path in found}, found), [])
                    self.unmount()

    def test_folds_case_of_single_files(self):
        self.mount(*LIES["folds_case"])
        self.make_file(self.source / "a", 100, seed=1)
        self.make_file(self.source / "A", 100, seed=2)
        done = self.run_bounded(self.source / "a", self.source / "A", f"h:{self.target}/")
        self.assertEqual((done.status, done.err.count("another name of SRC differs")), (EXIT_FILES, 1), done)

    def test_stale(self):
        for lies in (LIES["stale"], ("stale=1:3",), ("stale=31:10",)):
            with self.subTest(lies):
                self.check_stale(*lies)

    def check_stale(self, *lies: str):
        self.mount(*lies)
        tree = self.source / "tree"
        tree = tree if tree.exists() else self.make_tree()
        done = self.run_bounded("-r", f"{tree}/", f"h:{self.target}/new")
        self.assertIn(done.status, (EXIT_OK, EXIT_FILES), done)
        self.fs.ask("lie", "honest")
        wanted, found = snapshot(tree), snapshot(self.target / "new")
        for path in wanted:
            if wanted[path].type == "file" and (path not in found or wanted[path].content != found[path].content):
                self.assertRegex(done.err, rf"/new/{path.decode()}: ")
        self.assertEqual(done.status == EXIT_OK, done.err == "")
        self.assertEqual(self.run_bounded("-r", f"{tree}/", f"h:{self.target}/new").status, EXIT_OK)
        self.assert_same_tree(tree, self.target / "new")
        self.assert_no_litter(self.target)
        self.unmount()

    def test_stale_after_a_restart(self):
        """What was open when the server was started again is lost, and the rest is copied."""
        self.mount()
        tree = self.make_tree()
        running = self.start("--chunk-size", "64K", "--bwlimit", "8MiB", "-r", f"{tree}/", f"h:{self.target}/new")
        # More chunks than any other file has: the largest one is open.
        self.assertTrue(wait_for(lambda: recorded_chunks(self.target) >= 8, BOUND))
        self.fs.ask("restart")
        done = running.finish(BOUND)
        self.assertEqual(done.status, EXIT_FILES, done)
        self.assertRegex(done.err, "/file-5: Stale file handle")
        done = self.run_bounded("-r", f"{tree}/", f"h:{self.target}/new")
        self.assertEqual(done.status, EXIT_OK, done)
        self.assert_same_tree(tree, self.target / "new")
        self.assert_no_litter(self.target)

    def test_two_seconds(self):
        self.mount(*LIES["two_seconds"])
        tree = self.make_tree()
        for number, path in enumerate(sorted(tree.rglob("*"))):
            os.utime(path, ns=(0, OLD_TIME + number * 777_777_777), follow_symlinks=False)
        self.assertEqual(self.run_bounded("-r", f"{tree}/", f"h:{self.target}/new").status, EXIT_OK)
        wanted, found = snapshot(tree), snapshot(self.target / "new")
        for facts in wanted.values():
            facts.mtime_ns -= facts.mtime_ns % (2 * 10**9)
        self.assertEqual(differences(wanted, found), [])
        # Over FUSE nobody can tell that times are coarse, so it has to be said, as to rsync.
        done = self.run_bounded("--sync", "-i", "--modify-window=1", f"{tree}/", f"h:{self.target}/new")
        self.assertEqual((done.status, done.out, done.err), (EXIT_OK, b"", ""))
        self.assertEqual(self.run_bounded("--sync", f"{tree}/", f"h:{self.target}/new").status, EXIT_OK)
        self.assertEqual(differences(wanted, snapshot(self.target / "new")), [])

    def test_all(self):
        """Several lies at once: it says so, and without them the same command completes the copy."""
        self.mount(*LIES["all"])
        tree = self.make_tree()
        (tree / "FILE-2").write_text("another one")
        done = self.run_bounded("-r", f"{tree}/", f"h:{self.target}/new")
        self.assertEqual(done.status, EXIT_FILES, done)
        for text in ("another name of SRC differs", "flock"):
            self.assertIn(text, done.err)
        (tree / "FILE-2").unlink()
        self.unmount()
        self.mount()
        self.assertEqual(self.run_bounded("-r", f"{tree}/", f"h:{self.target}/new").status, EXIT_OK)
        self.assert_same_tree(tree, self.target / "new")


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
        """Killed in the middle: nothing to go on with, and nothing that is half. Without locks the next run cannot know that no
        other one uses a temporary file, which is for --clean then."""
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
        (landing / "sub" / ".file-1.rdcp-01234567").write_text("ha")  # had it been killed at another moment
        self.assertEqual(self.run_bounded("-r", f"{tree}/", f"h:{landing}").status, EXIT_OK)
        for path in tree.rglob("file-*"):
            self.assert_same_file(path, landing / path.relative_to(tree))
        self.assertEqual(self.rdcp("--clean", landing).status, EXIT_OK)
        self.assertEqual(self.run_bounded("-r", f"{tree}/", f"h:{landing}").status, EXIT_OK)  # now also the directories' times
        self.assert_same_tree(tree, landing)

    def test_folds_case(self):
        """An old file in another spelling is the one that is replaced, when the new one is whole."""
        self.mount(*LIES["folds_case"])
        (self.target / "README").write_text("old")
        readme = self.make_file(self.source / "readme", 3 * CHUNK)
        self.fs.ask("lie", "close=EIO:0")
        self.assertEqual(self.run_bounded(readme, f"h:{self.target}/").status, EXIT_FILES)
        self.assertEqual((self.target / "README").read_text(), "old")
        self.fs.ask("lie", "honest")
        self.fs.ask("lie", "fold")
        self.assertEqual(self.run_bounded(readme, f"h:{self.target}/").status, EXIT_OK)
        self.assert_same_file(readme, self.target / "README")
        self.assertEqual(len(os.listdir(self.target)), 1)

    def test_stale(self):
        self.mount()
        tree, landing = self.make_tree(), self.target / "landing"
        for lies in ("stale=1:3", "stale=7:40", "stale=5:5", "stale=1:300"):
            for options in (("-r",), ("--sync",), ("-r", "--fsync")):
                with self.subTest(lies, options=options):
                    self.fs.ask("lie", "honest")
                    subprocess.run(["rm", "-rf", landing], check=True)
                    old = self.make_old(tree, landing)
                    self.fs.ask("lie", lies)
                    self.assertIn(self.run_bounded(*options, f"{tree}/", f"h:{landing}").status, (EXIT_OK, EXIT_FILES))
                    self.fs.ask("lie", "stale=0:0")
                    self.assert_old_or_new(old, tree, landing)

    def test_two_seconds(self):
        """A file that changed within the two seconds that its old time stands for is not taken for the old one, unless size
        and time are all that is looked at."""
        self.mount(*LIES["two_seconds"])
        file = self.make_file(self.source / "file", 3 * CHUNK, seed=1)
        os.utime(file, ns=(OLD_TIME, OLD_TIME))
        self.copy(file, self.target)
        self.make_file(file, 3 * CHUNK, seed=2)
        os.utime(file, ns=(OLD_TIME + 2 * 10**9, OLD_TIME + 2 * 10**9))
        self.copy("--sync", f"{self.source}/", f"h:{self.target}")
        self.assert_same_file(file, self.target / "file")
        self.make_file(file, 3 * CHUNK, seed=3)
        os.utime(file, ns=(OLD_TIME + 2 * 10**9, OLD_TIME + 2 * 10**9))
        self.copy("--sync", "--checksum", f"{self.source}/", f"h:{self.target}")
        self.assert_same_file(file, self.target / "file")


class Promise3(Promises):
    """Nothing is written outside the target, though it is full of ways out (tearDown() looks)."""

    def check(self, lie: str):
        self.mount(*LIES[lie])
        tree = self.make_tree()
        for words in (("-r",), ("--sync",), ("--sync", "--inplace"), ("--sync", "--delete")):
            with self.subTest(words):
                landing = self.target / f"landing{''.join(words)}"
                landing.mkdir()
                os.symlink("../../outside", landing / "sub")
                os.symlink("../../outside/precious", landing / "file-1")
                os.symlink("../../outside/precious", landing / "FILE-2")
                os.symlink("../../outside", landing / "extra")
                done = self.run_bounded(*words, f"{tree}/", f"h:{landing}")
                self.assertIn(done.status, (EXIT_OK, EXIT_FILES), done)
                self.assertEqual(snapshot(self.outside), self.untouched)

    def test_close(self):
        self.check("close")

    def test_no_flock(self):
        self.check("no_flock")

    def test_no_xattrs(self):
        self.check("no_xattrs")

    def test_folds_case(self):
        """A symlink of the source leads out, and a directory of the same name follows, or the other way round."""
        self.check("folds_case")
        tree = self.source / "cases"
        for link, folder in (("a", "A"), ("B", "b")):
            (tree / folder).mkdir(parents=True)
            (tree / folder / "precious").write_text("not so")
            os.symlink("../../outside", tree / link)
        for words in (("-r",), ("-r", "--verify"), ("--sync",), ("--sync", "--delete")):
            done = self.run_bounded(*words, f"{tree}/", f"h:{self.target}/cases")
            self.assertEqual(done.status, EXIT_FILES, done)
            self.assertEqual(snapshot(self.outside), self.untouched)

    def test_stale(self):
        self.check("stale")

    def test_two_seconds(self):
        self.check("two_seconds")

    def test_all(self):
        self.check("all")


class Promise4(Promises):
    """Memory and descriptors are bounded: few are open at once, though there are many files and each may fail."""

    DESCRIPTORS, KILOBYTES = 200, 40_000
    MEASURE = ("import resource, subprocess, sys; status = subprocess.call(sys.argv[1:]);"
               "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(status)")

    def peak(self, files: int) -> int:
        tree = self.source / f"files-{files}"
        for i in range(files):
            folder = tree / f"folder-{i % 20}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"file-{i}").write_bytes(b"content of %d" % i)
        done = Running([sys.executable, "-c", self.MEASURE, *self.command("-r", tree, self.target)]).finish(BOUND)
        self.assertIn(done.status, (EXIT_OK, EXIT_FILES), done)
        return int(done.out.split()[-1])

    def check(self, lie: str):
        self.mount(*LIES[lie])
        self.assertLess(self.peak(3_000), self.peak(300) + self.KILOBYTES)
        self.assertLess(int(self.fs.ask("handles").split()[1]), self.DESCRIPTORS)

    def test_close(self):
        self.check("close")

    def test_no_flock(self):
        self.check("no_flock")

    def test_no_xattrs(self):
        self.check("no_xattrs")

    def test_folds_case(self):
        self.check("folds_case")

    def test_stale(self):
        self.check("stale")

    def test_two_seconds(self):
        self.check("two_seconds")

    def test_all(self):
        self.check("all")


class Promise6(Promises):
    """A file system that dies or hangs ends the run within a bounded time, and no process is left."""

    def begin(self, *lies: str, to: str = "h:"):
        self.mount(*lies)
        tree = self.source / "tree"
        tree = tree if tree.exists() else self.make_tree()
        running = self.start("--chunk-size", "64K", "--bwlimit", "4MiB", "-r", f"{tree}/", f"{to}{self.target}/new")
        self.assertTrue(wait_for(lambda: (self.target / "new" / "file-1").exists(), BOUND))
        return running

    def check_death(self, lie: str):
        for to in ("h:", ""):
            with self.subTest(to=to):
                running = self.begin(*LIES[lie], to=to)
                self.fs.kill()
                done = running.finish(BOUND)
                self.assertEqual(done.status, EXIT_FILES, done)
                self.assertRegex(done.err, "/new/.*: Transport endpoint is not connected")
                self.assert_nothing_lives()
                self.unmount()

    def test_no_flock(self):
        self.check_death("no_flock")

    def test_no_xattrs(self):
        self.check_death("no_xattrs")

    def test_two_seconds(self):
        self.check_death("two_seconds")

    def test_a_lock_that_another_one_holds(self):
        """As far as flock(2) says; nobody waits for it for ever."""
        self.mount("flock=EWOULDBLOCK")
        done = self.run_bounded("-r", f"{self.make_tree()}/", f"h:{self.target}/new")
        self.assertIn(done.status, (EXIT_OK, EXIT_FILES), done)
        self.assertLess(done.seconds, 30)
        self.assert_nothing_lives()

    def test_stale(self):
        """All that is open is stale for ever."""
        running = self.begin()
        self.fs.ask("lie", "stale=1:0")
        done = running.finish(BOUND)
        self.assertEqual(done.status, EXIT_FILES, done)
        self.assertIn("Stale file handle", done.err)
        self.assert_nothing_lives()

    def test_close(self):
        running = self.begin()
        self.fs.ask("lie", "close=ENOSPC:0")
        done = running.finish(BOUND)
        self.assertEqual(done.status, EXIT_FILES, done)
        self.assertIn("No space left on device", done.err)
        self.assert_nothing_lives()

    def test_folds_case(self):
        self.check_death("folds_case")

    def test_all(self):
        """It hangs, and the user ends the copy. The kernel lets nobody out who has a file of it open, so the agent ends when
        the file system goes on."""
        running = self.begin(*LIES["no_flock"], *LIES["two_seconds"])
        self.fs.ask("freeze")
        running.process.terminate()
        done = running.finish(BOUND)
        self.assertEqual(done.status, 143, done)
        self.fs.ask("thaw")
        self.assert_nothing_lives()


# The reason why a promise and a lie have no scenario.
NOTHING_TO_TRY = {
    (2, "no_xattrs"): "a file gets its name in the same way with and without them",
    (2, "all"): "what two lies do to one name is what the stronger one does, and promise 1 tries them together",
    (3, "unsynced"): "what was not flushed is undone and nothing is done in its place; test_crash_states.py compares the "
                     "whole file system, what lies outside the target too",
    (4, "unsynced"): "a loss of power takes the process with it",
    (6, "unsynced"): "a loss of power takes the process with it",
    **{(5, lie): "no secret is given to a file system" for lie in (*LIES, "unsynced")},
}


class Table(unittest.TestCase):
    def test_every_promise_has_a_scenario_on_every_lie(self):
        self.assertTrue(NOTHING_TO_TRY.values())
        loader = unittest.defaultTestLoader
        tried = {(number, name.removeprefix("test_")) for number, promise in
                 ((1, Promise1), (2, Promise2), (3, Promise3), (4, Promise4), (6, Promise6))
                 for name in loader.getTestCaseNames(promise)}
        tried |= {(1, "unsynced"), (2, "unsynced")}  # test_crash_states.py
        pairs = {(number, lie) for number in range(1, 7) for lie in (*LIES, "unsynced")}
        self.assertEqual(pairs - tried - NOTHING_TO_TRY.keys(), set())
        self.assertEqual(tried & NOTHING_TO_TRY.keys(), set())


if __name__ == "__main__":
    unittest.main()
