"""rdcp --sync. rsync is the judge: what it finds to do after us is our fault, and our lines are to be its lines."""

import json
import os
import random
import shutil
import subprocess
import time
import unittest
from pathlib import Path

from harness import OPTIONS, CopyTest, needs_root
from mutations import Tree
from snapshot import differences, snapshot

FAR = "dest:" if OPTIONS else ""  # what is wrapped has to go over a network, and each run takes longer there
SEQUENCES = int(os.environ.get("RDCP_TEST_SEQUENCES", "8" if FAR else "25"))
STEPS = 6
SEED = int(os.environ.get("RDCP_TEST_SEED", str(time.time_ns() % 10**6)))


def rsync_lines(source: Path, target: Path, *options: str) -> list[str]:
    """What rsync would do, in its words. Times count to the nanosecond, as ours do."""
    command = ["rsync", "-naiHAX", "--modify-window=-1", *options, f"{source}/", f"{target}/"]
    done = subprocess.run(command, capture_output=True, check=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    return sorted(line for line in done.stdout.decode().splitlines())


def bring_over_with_rsync(source: Path, target: Path):
    """By contents: a file may have the size and time of the one whose name it took. rsync 3.5 makes a hard link in place of
    a directory and then asks that file for the access list that only a directory has: it ends with 23, and all is there. A
    second run has nothing to trip over, and must succeed."""
    command = ["rsync", "-aHAXc", "--modify-window=-1", "--delete", "--force", f"{source}/", f"{target}/"]
    first = subprocess.run(command, capture_output=True)
    if first.returncode == 23 and b"get_acl" in first.stderr:
        first = subprocess.run(command, capture_output=True)
    if first.returncode != 0:
        raise AssertionError(f"{command}: {first.returncode}, {first.stderr}")


def comparable(lines: list[str]) -> list[str]:
    """How odd bytes are written is each program's own business."""
    kept = []
    for line in lines:
        if "\\" not in line and not line.startswith("created directory"):
            kept.append(line)
    return sorted(kept)


@needs_root  # its trees have what their owner may not read
class Oracle(CopyTest):
    """Random changes of random trees, brought over by us and looked at by rsync, and the other way round."""

    def sync(self, *words) -> tuple[int, list[str], str]:
        """The exit status, the lines on standard output as a local run has them, and what stands on standard error."""
        *options, source, target = words
        done = self.rdcp("--sync", *options, source, f"{FAR}{target}")
        lines = done.out.decode().splitlines()
        return done.status, [">" + line[1:] if FAR and line.startswith("<") else line for line in lines], done.err

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
            tree.tell_apart(target)
            options = ["--delete", "--force"]
            if rng.random() < 0.3:
                options.append("-c")
            rsync_options = ["-c"] if "-c" in options else []
            wanted = rsync_lines(source, target, "--delete", *rsync_options) if target.exists() else None
            dry = self.sync("-n", *options, source, target)
            self.assertEqual((0, ""), (dry[0], dry[2]), where)
            if rng.random() < 0.3:  # where nothing is to be told, large files are compared in another way
                self.assertEqual((0, [], ""), self.sync(*options, source, target), where)
            else:
                run = self.sync("--itemize-changes", *options, source, target)
                self.assertEqual(dry, run, where)
                # Which of several names of a file is its first is each program's own business.
                if wanted is not None and not has_links(source, target):
                    self.assertEqual(comparable(wanted), comparable(run[1]), where)
            self.assert_mirrored(source, target, where)
            self.assertEqual((0, [], ""), self.sync("--itemize-changes", *options, source, target), where)
            tree.change(rng.randrange(1, 12))
        # What rsync has brought over is nothing new to us.
        bring_over_with_rsync(source, target)
        self.assertEqual((0, [], ""), self.sync("--itemize-changes", "--delete", "--force", "-c", source, target),
                         f"seed {seed}")
        shutil.rmtree(folder)

    def test_rsync_finds_nothing_to_do(self):
        print(f"seeds {SEED} to {SEED + SEQUENCES - 1}", flush=True)
        for seed in range(SEED, SEED + SEQUENCES):
            with self.subTest(seed=seed):
                self.run_sequence(seed)


class Mirrors(CopyTest):
    """What a mirror must do, and what it must never do."""

    def setUp(self):
        super().setUp()
        (self.source / "d").mkdir()
        for name in ("a", "b", "d/c"):
            (self.source / name).write_text(name)

    def sync(self, *words):
        return self.copy("--sync", *words).out.decode().splitlines()

    def test_a_mirror_never_nests(self):
        for source in (self.source, f"{self.source}/"):
            self.sync(source, self.target)
            self.assert_same_tree(self.source, self.target)

    def test_over_ssh_in_both_directions(self):
        self.assertIn("<f+++++++++ a", self.sync("-i", self.source, f"dest:{self.target}"))
        self.assert_same_tree(self.source, self.target)
        self.assertEqual([], self.sync("--itemize-changes", "--delete", self.source, f"dest:{self.target}"))
        (self.target / "a").write_text("new")
        (self.target / "extra").write_text("new")
        lines = self.sync("--itemize-changes", "--delete", f"dest:{self.target}", self.source)
        self.assertEqual({".d..t...... ./", ">f.st...... a", ">f+++++++++ extra"}, set(lines))
        self.assert_same_tree(self.target, self.source)

    def test_a_file_that_changes_keeps_its_other_name_as_it_was(self):
        self.sync(self.source, self.target)
        os.link(self.target / "a", self.memory / "kept")
        (self.source / "a").chmod(0o600)
        self.sync(self.source, self.target)
        self.assertEqual(0o600, (self.target / "a").stat().st_mode & 0o777)
        self.assertNotEqual(0o600, (self.memory / "kept").stat().st_mode & 0o777)

    def test_metadata_alone_is_set_without_a_new_file(self):
        self.sync(self.source, self.target)
        before = (self.target / "a").stat().st_ino
        (self.source / "a").chmod(0o640)
        self.assertEqual([".f...p..... a"], self.sync("--itemize-changes", self.source, self.target))
        self.assertEqual(before, (self.target / "a").stat().st_ino)
        self.assertEqual("a", (self.target / "a").read_text())

    def test_a_missing_or_empty_or_unreadable_source_deletes_nothing(self):
        self.sync(self.source, self.target)
        empty = self.disk / "empty"
        empty.mkdir()
        self.fails(1, "--sync", "--delete", self.disk / "missing", self.target)
        self.fails(1, "--sync", "--delete", empty, self.target, says=("delete at the target: nothing was deleted, because SRC is empty",))
        self.assert_same_tree(self.source, self.target, ignore=("mtime_ns",))
        (self.target / "extra").write_text("stays")
        # A directory in the way of a file is what cannot be copied here.
        shutil.rmtree(self.target / "d")
        (self.target / "a").unlink()
        (self.target / "a").mkdir()
        (self.target / "a" / "in it").write_text("")
        self.fails(1, "--sync", self.source, self.target, says=("--delete or --force",))
        self.assertTrue((self.target / "extra").exists())

    def test_a_link_at_the_target_is_never_followed(self):
        outside = self.disk / "outside"
        outside.mkdir()
        (outside / "precious").write_text("stays")
        (self.target / "d").symlink_to(outside)
        (self.target / "extra").symlink_to(outside)
        self.sync("--delete", self.source, self.target)
        self.assert_same_tree(self.source, self.target)
        self.assertEqual("stays", (outside / "precious").read_text())
        self.assertEqual(["precious"], os.listdir(outside))

    def test_a_source_within_the_target_is_not_deleted(self):
        (self.source / "extra").write_text("")
        self.fails(1, "--sync", "--delete", self.source / "d", self.source, says=("it is being copied",))
        self.assertEqual("d/c", (self.source / "d" / "c").read_text())
        self.assertFalse((self.source / "extra").exists())

    def test_what_is_in_the_way_goes_where_rsync_lets_it(self):
        def fill(folder: Path) -> list[Path]:
            source, target = folder / "source", folder / "target"
            for path in ("source/dir/in it", "source/file", "target/file/x", "target/file/sub/y", "target/dir"):
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(path)
            (source / "link").symlink_to("file")
            (target / "link").mkdir()
            return [source, target]

        def kinds(folder: Path) -> dict[str, int]:
            return {path.name: path.lstat().st_mode & 0o170000 for path in folder.iterdir()}

        for number, options in enumerate(([], ["--delete"], ["--force"], ["--delete", "--max-delete=0"],
                                          ["--delete", "--max-delete=2"], ["--delete", "--max-delete=3"],
                                          ["--delete", "--exclude=y"], ["--force", "--exclude=y"],
                                          ["--delete", "--ignore-existing"])):
            with self.subTest(options=options):
                theirs, ours = fill(self.memory / f"r{number}"), fill(self.memory / f"o{number}")
                judge = subprocess.run(["rsync", "-a", *options, f"{theirs[0]}/", theirs[1]],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                done = self.rdcp("--sync", *options, *ours)
                self.assertEqual((judge.returncode != 0, kinds(theirs[1])), (done.status == 1, kinds(ours[1])), done)
                if judge.returncode != 0 and "--ignore-existing" not in options:
                    self.assertTrue((ours[1] / "file" / "x").exists(), "nothing goes unless all may")

    def test_more_deletions_than_a_message_holds_are_all_told(self):
        self.sync(self.source, self.target)
        deep = self.target / "deep"
        deep.mkdir()
        lines = 22_000
        for number in range(lines):  # 5 MB of names
            (deep / f"{'x' * 220}{number}").touch()
        for words in (("-n",), ()):
            with self.subTest(words):
                told = self.sync("--delete", "-i", *words, self.source, self.target)
                self.assertEqual(len({line for line in told if line.startswith("*deleting")}), lines + 1)
        self.assert_same_tree(self.source, self.target)

    def test_max_delete_is_a_bound(self):
        self.sync(self.source, self.target)
        for i in range(10):
            (self.target / f"extra{i}").write_text("")
        self.fails(1, "--sync", "--delete", "--max-delete", "4", self.source, self.target, says=("--max-delete",))
        self.assertEqual(6, len(list(self.target.glob("extra*"))))

    def test_a_directory_of_many_names_is_pruned_in_parts(self):
        for i in range(3000):
            (self.source / "d" / f"{i:0100}").write_text("")
        self.sync("--chunk-size", "64K", self.source, self.target)
        for i in range(0, 3000, 3):
            (self.source / "d" / f"{i:0100}").unlink()
        (self.source / "new").write_text("")
        self.sync("--chunk-size", "64K", "--delete", self.source, self.target)
        self.assert_same_tree(self.source, self.target)

    def test_what_is_excluded_is_protected(self):
        (self.target / "kept.o").write_text("")
        (self.target / "gone").mkdir()
        (self.target / "gone" / "kept.o").write_text("")
        (self.target / "gone" / "extra").write_text("")
        self.sync("--delete", "--exclude", "*.o", self.source, self.target)
        self.assertTrue((self.target / "kept.o").exists() and (self.target / "gone" / "kept.o").exists())
        self.assertFalse((self.target / "gone" / "extra").exists())
        self.sync("--delete-excluded", "--exclude", "*.o", self.source, self.target)
        self.assert_same_tree(self.source, self.target)

    def test_choices_of_what_is_equal(self):
        self.sync(self.source, self.target)
        (self.source / "a").write_text("A")
        os.utime(self.source / "a", ns=(0, (self.target / "a").stat().st_mtime_ns))
        os.utime(self.source / "b", ns=(0, 10**18))
        for options, lines in (((), [">f..t...... b"]),
                               (("--size-only",), [".f..t...... b"]),
                               (("-c",), [".f..t...... b", ">fc........ a"]),
                               (("-I",), [">f......... a", ">f......... d/c", ">f..t...... b"]),
                               (("-u",), []),
                               (("--ignore-existing",), []),
                               (("--modify-window", "1000000000"), [])):
            found = [line for line in self.sync("-n", *options, self.source, self.target) if "/ " not in line + " "]
            self.assertEqual(lines, sorted(found), options)

    def test_large_files_by_content(self):
        names = ("equal", "time", "byte", "linked", "linked-time", "shorter")
        for number, name in enumerate(names):
            (self.source / name).write_bytes(random.Random(number).randbytes(2_000_000 + number))
        self.sync(self.source, self.target)
        inodes = {name: (self.target / name).stat().st_ino for name in names}
        for name in ("linked", "linked-time"):
            os.link(self.target / name, self.memory / name)
        for name in ("time", "linked-time"):
            os.utime(self.source / name, ns=(0, 10**18 + 1))
        times = (self.source / "byte").stat()
        content = bytearray((self.source / "byte").read_bytes())
        content[1_500_000] ^= 1
        (self.source / "byte").write_bytes(content)
        os.utime(self.source / "byte", ns=(0, times.st_mtime_ns))
        (self.source / "shorter").write_bytes(b"s" * 1_000_000)
        (self.source / "missing").write_bytes(bytes(1_000_000))
        self.sync("-c", "--existing", self.source, self.target)
        self.assertFalse((self.target / "missing").exists())
        self.sync("-c", self.source, self.target)
        self.assert_same_tree(self.source, self.target)
        kept = [name for name in names if (self.target / name).stat().st_ino == inodes[name]]
        self.assertEqual(["equal", "time", "linked"], kept)
        self.assertNotEqual(10**18 + 1, (self.memory / "linked-time").stat().st_mtime_ns)
        self.assertEqual([], rsync_lines(self.source, self.target, "-c"))

    def test_existing_makes_nothing(self):
        (self.target / "a").write_text("old")
        self.assertEqual([">f.st...... a"],
                         [line for line in self.sync("--itemize-changes", "--existing", self.source, self.target)
                          if line[1] == "f"])
        self.assertEqual(["a"], os.listdir(self.target))

    def test_json_lines(self):
        (self.source / "l").symlink_to("a")
        (self.source / "text").write_text("text " * 100_000)
        lines = [json.loads(line) for line in
                 self.sync("--itemize-changes", "--json", "--compress", self.source, f"dest:{self.memory / 'copy'}")]
        self.assertIn({"change": "cL+++++++++", "path": "l", "target": "a"}, lines)
        self.assertLessEqual({"files": 4, "directories": 2, "others": 1, "kept_bytes": 0}.items(), lines[-1].items())
        self.assertGreater(lines[-1]["ratio"], 10)
        self.assertLess(lines[-1]["sent_bytes"], 100_000)
        changes = [json.loads(line) for line in self.sync("-n", "--json", self.source, self.target)]
        self.assertIn({"change": "cL+++++++++", "path": "l", "target": "a"}, changes)

    def test_a_dry_run_changes_nothing(self):
        (self.target / "extra").write_text("")
        before = sorted((path, os.lstat(path).st_ctime_ns) for path in self.target.rglob("*"))
        self.sync("-n", "--delete", self.source, self.target)
        self.sync("-n", self.source, self.memory / "new")
        self.assertEqual(before, sorted((path, os.lstat(path).st_ctime_ns) for path in self.target.rglob("*")))
        self.assertFalse((self.memory / "new").exists())

    def test_a_dry_run_tells_the_same_of_hard_links(self):
        """Which name of a file is shown as sent, and which as a link to it, and when, is not a matter of threads."""
        rng = random.Random(7)
        folders = [self.source / f"{i % 5}/{i}" for i in range(60)]
        for folder in folders:
            folder.mkdir(parents=True)
        for i in range(400):
            name = rng.choice(folders) / f"f{i}"
            name.write_text(str(i))
            for j in range(rng.randrange(1, 6)):
                os.link(name, rng.choice(folders) / f"f{i}-{j}")
        for step in range(5):
            dry = self.sync("-n", "--delete", self.source, self.target)
            self.assertEqual(dry, self.sync("--itemize-changes", "--delete", self.source, self.target))
            self.assertGreater(sum(line.startswith("hf") for line in dry), 200)
            self.assert_same_tree(self.source, self.target)
            # Other bytes, other links, others gone: of files with other names yet, so that their inodes stay.
            names = sorted(path for path in self.source.rglob("f*") if path.is_file())
            for name in rng.sample(names, 200):
                if name.stat().st_nlink > 1 and rng.random() < 0.4:
                    name.unlink()
                elif rng.random() < 0.5:
                    name.write_text(f"{name} in step {step}")
                else:
                    os.link(name, rng.choice(folders) / f"{name.name}+{step}")

    def test_a_dry_run_removes_the_same_under_a_limit(self):
        for i in range(400):
            folder = self.target / f"{i % 7}" / f"{i}"
            folder.mkdir(parents=True)
            (folder / "extra").write_text("")
            (self.source / f"{i % 7}" / f"{i}").mkdir(parents=True)
        for _ in range(3):
            words = ("--sync", "--delete", "--max-delete", "101", self.source, self.target)
            dry = self.fails(1, "-n", *words, says=("--max-delete",)).out.decode().splitlines()
            run = self.fails(1, "--itemize-changes", *words, says=("--max-delete",)).out.decode().splitlines()
            self.assertEqual(101, sum(line.startswith("*deleting") for line in run))
            self.assertEqual(dry, run)

    def test_files(self):
        self.sync(self.source / "a", self.target)
        self.sync(self.source / "b", self.target / "other")
        self.assertEqual(["a", "other"], sorted(os.listdir(self.target)))
        self.assertEqual([], self.sync("--itemize-changes", self.source / "b", self.target / "other"))


def has_links(*roots: Path) -> bool:
    for root in roots:
        for folder, _, names in os.walk(root):
            if any(os.lstat(Path(folder, name)).st_nlink > 1 for name in names):
                return True
    return False


class Comparing(CopyTest):
    """A copy that is no mirror, but is told how to compare or what to leave alone: as rsync without --delete."""

    def make_trees(self) -> list[Path]:
        """Makes a source, and two equal targets in which some of it is."""
        for name in ("same", "newer there", "older there", "only here", "sub/touched"):
            path = self.source / "s" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("contents of " + name)
            os.utime(path, ns=(10**18, 10**18))
        there = self.disk / "there" / "s"
        (there / "sub").mkdir(parents=True)
        for name, seconds, text in (("same", 10**9, "contents of same"), ("newer there", 10**9 + 9, "other"),
                                    ("older there", 10**9 - 9, "contents of older_there"), ("only there", 5, "x"),
                                    ("sub/touched", 10**9 - 1, "contents of sub/touched")):
            (there / name).write_text(text)
            os.utime(there / name, (seconds, seconds))
        rsyncs = self.disk / "rsyncs"
        subprocess.run(["cp", "-a", there.parent, rsyncs], check=True)
        return [there.parent, rsyncs]

    def check(self, *options: str):
        ours, rsyncs = self.make_trees()
        command = ["rsync", "-aiHAX", "--modify-window=-1", *options, self.source / "s", rsyncs]
        dry = subprocess.run([command[0], "-n", *command[1:]], capture_output=True, check=True, text=True)
        before = snapshot(ours)
        said = self.rdcp("-a", "-n", *options, self.source / "s", f"dest:{ours}")
        self.assertEqual(said.status, 0, said.err)
        # rsync says ">" where it has no other host.
        self.assertEqual(sorted(line.replace("<", ">", 1) for line in said.out.decode().splitlines()),
                         sorted(dry.stdout.splitlines()))
        self.assertEqual(differences(before, snapshot(ours)), [], "a dry run has changed something")
        subprocess.run(command, check=True, capture_output=True)
        self.copy("-a", *options, self.source / "s", f"dest:{ours}")
        self.assert_same_tree(rsyncs, ours)
        self.assertTrue((ours / "s" / "only there").exists())

    def test_update(self):
        self.check("-u")

    def test_existing(self):
        self.check("--existing")

    def test_ignore_existing(self):
        self.check("--ignore-existing")

    def test_checksum(self):
        self.check("-c")

    def test_size_only(self):
        self.check("--size-only")

    def test_ignore_times(self):
        self.check("-I")

    def test_nothing_is_made_by_a_dry_run(self):
        self.make_trees()
        done = self.rdcp("-rn", self.source / "s", f"dest:{self.disk / 'new'}")
        self.assertEqual(done.status, 0, done.err)
        self.assertIn("<f+++++++++ only here", done.out.decode().splitlines())
        self.assertFalse((self.disk / "new").exists())

    def test_a_directory_is_not_replaced(self):
        """Only a mirror may remove what is in the way, and only with --force or --delete."""
        (self.source / "s").mkdir()
        (self.source / "s" / "f").write_text("a file here")
        (self.disk / "there" / "s" / "f" / "deep").mkdir(parents=True)
        self.fails(1, "-ru", self.source / "s", f"dest:{self.disk / 'there'}", says=("is a directory",))
        self.assertTrue((self.disk / "there" / "s" / "f" / "deep").is_dir())

    def test_what_is_no_file_is_refused(self):
        (self.source / "f").write_text("text")
        self.fails(1, "-rn", self.source / "f", "dest:/dev/null", says=("is neither a file nor a directory",))


if __name__ == "__main__":
    unittest.main()
