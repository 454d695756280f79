"""Options that ask the target for more than a copy, compared with rsync where it has them."""

import os
import shutil
import signal
import struct
import subprocess
import unittest
from pathlib import Path

from harness import CHUNK, EXIT_FILES, EXIT_USAGE, MIB, RDCP, CopyTest, Running, make_file, needs_root, wait_for


class Mkpath(CopyTest):
    def setUp(self):
        super().setUp()
        self.tree = self.source / "tree"
        (self.tree / "sub").mkdir(parents=True)
        self.file = self.make_file(self.tree / "one", 3 * CHUNK)
        self.make_file(self.tree / "sub" / "two", 5000)

    def test_without_it_nothing_is_made(self):
        for host in ("", "dest:"):
            done = self.rdcp("-r", f"{self.tree}/", f"{host}{self.target}/a/b")
            self.assertEqual(done.status, EXIT_FILES, done)
            self.assertIn(f"{self.target}/a: No such file or directory (--mkpath makes it)", done.err)
            self.assertEqual(os.listdir(self.target), [])

    def test_a_tree(self):
        for number, host in enumerate(("", "dest:")):
            for _ in range(2):
                self.copy("--mkpath", "-r", f"{self.tree}/", f"{host}{self.target}/{number}/b/c")
                self.assert_same_tree(self.tree, self.target / str(number) / "b" / "c")
            self.copy("--mkpath", "-r", self.tree, f"{host}{self.target}/{number}/b/d")
            self.assert_same_tree(self.tree, self.target / str(number) / "b" / "d")
        self.assert_no_litter(self.target)

    def test_a_mirror(self):
        self.copy("--mkpath", "--sync", "--delete", self.tree, f"dest:{self.target}/a/b")
        self.assert_same_tree(self.tree, self.target / "a" / "b")

    def test_a_file_gets_the_last_name_and_with_a_slash_goes_into_a_directory(self):
        self.copy("--mkpath", self.file, f"dest:{self.target}/a/b")
        self.assert_same_file(self.file, self.target / "a" / "b")
        for _ in range(2):
            self.copy("--mkpath", self.file, f"dest:{self.target}/c/d/")
            self.assert_same_file(self.file, self.target / "c" / "d" / "one")

    def test_several_go_into_a_directory(self):
        self.copy("--mkpath", "-r", self.file, self.tree / "sub", f"dest:{self.target}/a/b")
        self.assert_same_file(self.file, self.target / "a" / "b" / "one")
        self.assert_same_tree(self.tree / "sub", self.target / "a" / "b" / "sub")

    def test_standard_input(self):
        self.copy("--mkpath", "-", f"dest:{self.target}/a/b", stdin=b"words")
        self.assertEqual((self.target / "a" / "b").read_bytes(), b"words")

    def test_nothing_is_made_without_a_source_or_in_a_dry_run(self):
        done = self.rdcp("--mkpath", self.source / "missing", f"dest:{self.target}/a/b")
        self.assertEqual(done.status, EXIT_FILES, done)
        done = self.rdcp("--mkpath", "-rn", f"{self.tree}/", f"dest:{self.target}/a/b")
        self.assertEqual(done.status, EXIT_FILES, done)
        self.assertEqual(os.listdir(self.target), [])

    def test_a_file_in_the_way_stays(self):
        self.make_file(self.target / "a", 10)
        done = self.rdcp("--mkpath", "-r", self.tree, f"dest:{self.target}/a/b")
        self.assertEqual(done.status, EXIT_FILES, done)
        self.assertIn(f"dest: make directory {self.target}/a: Not a directory", done.err)
        self.assertTrue((self.target / "a").is_file())

    def test_only_with_a_copy(self):
        for words in (["--check", self.tree, self.target], ["--doctor"], ["--clean", self.target], [self.file, "-"]):
            done = self.rdcp("--mkpath", *words)
            self.assertEqual(done.status, EXIT_USAGE, done)
            self.assertIn("--mkpath: ", done.err)


class Backup(CopyTest):
    """--backup, as rsync has it."""

    def setUp(self):
        super().setUp()
        self.tree = self.source / "tree"
        self.old = self.disk / "old"
        for top, seed in ((self.tree, 1), (self.old, 2)):
            (top / "sub" / "deep").mkdir(parents=True)
            for name, size in (("small", 100), ("sub/large", 9 * CHUNK + seed), ("sub/deep/other", 300)):
                self.make_file(top / name, size + seed, seed=seed)
            os.symlink(f"to-{seed}", top / "sub" / "link")
        for top in (self.tree, self.old):
            self.make_file(top / "same", 50)
            os.utime(top / "same", (1e9, 1e9))
        (self.old / "gone" / "deep").mkdir(parents=True)
        self.make_file(self.old / "gone" / "file", 40)
        self.make_file(self.old / "gone" / "deep" / "file", 41)
        self.make_file(self.old / "extra", 42)

    def contents(self, top):
        found = {}
        for path in sorted(top.rglob("*")):
            name = str(path.relative_to(top))
            found[name] = os.readlink(path) if path.is_symlink() else None if path.is_dir() else path.read_bytes()
        return found

    def renew(self):
        shutil.rmtree(self.target)
        subprocess.run(["cp", "-a", self.old, self.target], check=True)

    def assert_as_rsync(self, *words):
        self.renew()
        theirs = subprocess.run(["rsync", "-a", *words, f"{self.tree}/", f"{self.target}/"], capture_output=True, text=True,
                                check=False)
        self.assertEqual(theirs.returncode, 0, f"rsync: {theirs.stderr}")
        wanted = self.contents(self.target)
        for host in ("", "dest:"):
            self.renew()
            self.copy("--sync", *words, f"{self.tree}/", f"{host}{self.target}")
            self.assertEqual(self.contents(self.target), wanted, (words, host))
            self.assert_no_litter(self.target)
            self.copy("--sync", *words, f"{self.tree}/", f"{host}{self.target}")
            self.assertEqual(self.contents(self.target), wanted, (words, host, "once more"))
        return wanted

    def test_beside(self):
        self.assertIn("sub/large~", self.assert_as_rsync("--backup"))
        self.assertIn("small.old", self.assert_as_rsync("-b", "--suffix=.old"))

    def test_in_a_directory(self):
        self.assertIn("kept/2024/sub/link", self.assert_as_rsync("--backup-dir=kept/2024"))
        self.assertIn("kept/sub/large.old", self.assert_as_rsync("-b", "--backup-dir=kept", "--suffix=.old"))

    def test_an_equal_file_takes_no_backups_place(self):
        """A copy of one file compares nothing, and so sends it again."""
        for name in ("small", "sub/large"):
            copy = self.target / Path(name).name
            copy.write_bytes(b"old")
            for _ in range(2):
                self.copy("--backup", self.tree / name, f"dest:{self.target}/")
                self.assertEqual(Path(f"{copy}~").read_bytes(), b"old")
            os.utime(copy, (5, 5))
            self.copy("--backup", self.tree / name, f"dest:{self.target}/")
            self.assert_same_file(Path(f"{copy}~"), copy)

    def test_what_is_deleted(self):
        self.assertIn("gone/deep/file~", self.assert_as_rsync("-b", "--delete"))
        self.assertIn("kept/gone/file", self.assert_as_rsync("--delete", "--backup-dir=kept", "--exclude=/kept"))
        self.renew()  # it need not be excluded here
        for _ in range(2):
            self.copy("--sync", "--delete", "--backup-dir=kept", self.tree, f"dest:{self.target}")
            self.assertEqual((self.target / "kept" / "gone" / "file").read_bytes(), (self.old / "gone" / "file").read_bytes())
            self.assertFalse((self.target / "gone").exists())

    def test_a_backup_has_its_metadata_and_its_directory_those_of_the_old_one(self):
        (self.old / "sub").chmod(0o751)
        (self.old / "small").chmod(0o640)
        self.renew()
        self.copy("-r", "--backup-dir=kept", f"{self.tree}/", self.target)
        self.assertEqual((self.target / "kept" / "sub").stat().st_mode & 0o777, 0o751)
        kept, old = (self.target / "kept" / "small").stat(), (self.old / "small").stat()
        self.assertEqual((kept.st_mode, kept.st_mtime_ns, kept.st_nlink), (old.st_mode, old.st_mtime_ns, 1))

    def test_a_single_file_and_standard_input(self):
        for words in (("--backup",), ("--backup-dir=kept",)):
            for name in ("small", "sub/large"):
                self.renew()
                self.copy(*words, self.tree / name, f"dest:{self.target}/{name}")
                self.assert_same_file(self.tree / name, self.target / name)
                where = f"{name}~" if words == ("--backup",) else f"{os.path.dirname(name)}/kept/{os.path.basename(name)}"
                self.assert_same_file(self.old / name, self.target / where.lstrip("/"))
        before = (self.target / "small").read_bytes()
        self.copy("-b", "-", f"dest:{self.target}/small", stdin=b"words")
        self.assertEqual((self.target / "small~").read_bytes(), before)

    def test_things_of_another_type(self):
        for name in ("small", "extra"):
            (self.tree / name).unlink(missing_ok=True)
        (self.tree / "small").mkdir()
        self.make_file(self.tree / "small" / "file", 10)
        self.make_file(self.tree / "gone", 20)
        self.renew()
        self.copy("--sync", "--force", "--backup-dir=kept", f"{self.tree}/", f"dest:{self.target}")
        self.assert_same_file(self.old / "small", self.target / "kept" / "small")
        self.assert_same_file(self.old / "gone" / "deep" / "file", self.target / "kept" / "gone" / "deep" / "file")
        self.assert_same_file(self.tree / "gone", self.target / "gone")
        self.renew()
        done = self.rdcp("--sync", "--force", "-b", f"{self.tree}/", f"dest:{self.target}")
        self.assertEqual(done.status, EXIT_FILES, done)
        self.assertIn("--backup-dir", done.err)
        self.assert_same_tree(self.old / "gone", self.target / "gone")
        self.assert_same_file(self.old / "small", self.target / "small~")

    def test_symlinks_lead_no_backup_out_of_dst(self):
        outside = self.disk / "outside"
        outside.mkdir()
        for link in ("kept", "kept/sub"):
            self.renew()
            (self.target / link).parent.mkdir(exist_ok=True)
            os.symlink(outside, self.target / link)
            done = self.rdcp("-r", "--backup-dir=kept", f"{self.tree}/", f"dest:{self.target}")
            self.assertEqual(done.status, EXIT_FILES, done)
            self.assertIn(f"replace {self.target}/sub/large: its backup kept/sub/large cannot be made: Not a directory", done.err)
            self.assert_same_file(self.old / "sub" / "large", self.target / "sub" / "large")
            self.assertEqual(os.listdir(outside), [])
        self.renew()
        os.symlink(outside / "file", self.target / "small~")
        self.copy("-rb", f"{self.tree}/", f"dest:{self.target}")
        self.assert_same_file(self.old / "small", self.target / "small~")
        self.assertEqual(os.listdir(outside), [])

    def test_what_cannot_be_kept_stays(self):
        self.renew()
        (self.target / "small~").mkdir()
        done = self.rdcp("-rb", f"{self.tree}/", f"dest:{self.target}")
        self.assertEqual(done.status, EXIT_FILES, done)
        self.assertIn(f"dest: replace {self.target}/small: its backup small~ cannot be made: Is a directory", done.err)
        self.assert_same_file(self.old / "small", self.target / "small")
        self.assert_same_file(self.tree / "sub" / "large", self.target / "sub" / "large")

    def test_names_of_any_bytes_and_the_longest(self):
        for top, seed in ((self.tree, 1), (self.old, 2)):
            for name in (b"new\nline", b"\xff\x80", b"x" * 254, b"-b"):
                path = os.fsencode(top) + b"/" + name
                with open(path, "wb") as file:
                    file.write(bytes(seed))
        self.renew()
        self.copy("-rb", f"{self.tree}/", f"dest:{self.target}")
        for name in (b"new\nline", b"\xff\x80", b"x" * 254, b"-b"):
            self.assertTrue(os.path.exists(os.fsencode(self.target) + b"/" + name + b"~"), name)
        done = self.rdcp("-rb", "--suffix=.old", "--checksum", f"{self.old}/", f"dest:{self.target}")
        self.assertIn("File name too long", done.err)

    def test_there_is_no_moment_without_either(self):
        self.renew()
        names = {"small": "small~", "sub/large": "sub/large~"}
        running = self.start("-rb", "--bwlimit", "300K", f"{self.tree}/", f"dest:{self.target}")
        rounds = 0
        while running.process.poll() is None:
            for name, backup in names.items():
                self.assertTrue((self.target / name).exists(), name)
                if (self.target / name).stat().st_size == (self.tree / name).stat().st_size:
                    self.assertTrue((self.target / backup).exists(), backup)
            rounds += 1
        done = running.finish(10)
        self.assertEqual(done.status, 0, done)
        self.assertGreater(rounds, 10)
        for name, backup in names.items():
            self.assert_same_file(self.old / name, self.target / backup)



class LinkDest(CopyTest):
    """--link-dest: snapshots that share what has not changed."""

    def setUp(self):
        super().setUp()
        self.tree = self.source / "tree"
        (self.tree / "sub" / "deep").mkdir(parents=True)
        for number in range(30):
            self.make_file(self.tree / "sub" / f"small-{number}", 100 + number, seed=number)
        self.make_file(self.tree / "sub" / "large", 9 * CHUNK + 5)
        self.make_file(self.tree / "sub" / "deep" / "other", 300)
        os.link(self.tree / "sub" / "large", self.tree / "twin")
        os.symlink("large", self.tree / "sub" / "link")
        self.copy("-r", f"{self.tree}/", self.target / "first")

    def linked(self, snapshot, earlier="first"):
        """The files of a snapshot that are one with an earlier one."""
        found = set()
        for path in (self.target / snapshot).rglob("*"):
            other = self.target / earlier / path.relative_to(self.target / snapshot)
            if path.is_file() and not path.is_symlink() and other.exists() and path.samefile(other):
                found.add(str(path.relative_to(self.target / snapshot)))
        return found

    def files(self):
        return {str(path.relative_to(self.tree)) for path in self.tree.rglob("*") if path.is_file() and not path.is_symlink()}

    def test_what_is_unchanged_is_linked_as_rsync_links_it(self):
        self.make_file(self.tree / "sub" / "small-3", 77, seed=99)
        (self.tree / "sub" / "small-4").chmod(0o600)
        os.utime(self.tree / "sub" / "deep" / "other", (1e9, 1e9))
        self.make_file(self.tree / "new", 20)
        subprocess.run(["rsync", "-aH", "--link-dest=../first", f"{self.tree}/", f"{self.target}/by-rsync"], check=True)
        wanted = self.linked("by-rsync")
        self.assertEqual(wanted, self.files() - {"sub/small-3", "sub/small-4", "sub/deep/other", "new"})
        for number, host in enumerate(("", "dest:")):
            for words in (["-r"], ["--sync", "--delete"]):
                snapshot = f"{number}{words[0]}"
                for _ in range(2):
                    self.copy(*words, "--link-dest=../first", f"{self.tree}/", f"{host}{self.target}/{snapshot}")
                    self.assert_same_tree(self.tree, self.target / snapshot)
                    self.assertEqual(self.linked(snapshot), wanted)
        self.assert_no_litter(self.target)

    def test_several_and_absolute_ones_and_into_an_existing_directory(self):
        self.make_file(self.tree / "new", 20)
        self.copy("-r", "--link-dest=../first", f"{self.tree}/", f"dest:{self.target}/second")
        (self.target / "third").mkdir()
        self.copy("-r", "--link-dest=../second", f"--link-dest={self.target}/first", f"{self.tree}/", f"dest:{self.target}/third")
        self.assertEqual(self.linked("third", "second"), self.files())
        self.assert_same_tree(self.tree, self.target / "third")

    def test_what_is_missing_in_an_equal_directory_is_linked_and_its_times_stay(self):
        self.copy("-r", "--link-dest=../first", f"{self.tree}/", f"dest:{self.target}/second")
        for number in range(20):
            (self.target / "second" / "sub" / f"small-{number}").unlink()
        shutil.copystat(self.tree / "sub", self.target / "second" / "sub")
        self.copy("-r", "--link-dest=../first", f"{self.tree}/", f"dest:{self.target}/second")
        self.assertEqual(self.linked("second"), self.files())
        self.assert_same_tree(self.tree, self.target / "second")

    def test_a_dry_run_makes_nothing(self):
        self.make_file(self.tree / "new", 20)
        (self.target / "second").mkdir()
        done = self.copy("-rn", "--link-dest=../first", f"{self.tree}/", f"dest:{self.target}/second")
        self.assertIn(b"new", done.out)
        self.assertNotIn(b"small-1", done.out)
        self.assertEqual(os.listdir(self.target / "second"), [])

    def test_a_missing_one_is_a_warning(self):
        done = self.copy("-r", "--link-dest=../none", f"{self.tree}/", f"dest:{self.target}/second")
        self.assertIn(f"nothing is linked to {self.target}/none: No such file or directory", done.err)
        self.assert_same_tree(self.tree, self.target / "second")

    def test_another_filesystem_is_copied(self):
        elsewhere = self.disk / "elsewhere"
        subprocess.run(["cp", "-a", self.target / "first", elsewhere], check=True)
        self.copy("-r", f"--link-dest={elsewhere}", f"{self.tree}/", f"dest:{self.target}/second")
        self.assert_same_tree(self.tree, self.target / "second")

    def test_a_later_copy_into_a_snapshot_leaves_the_earlier_one(self):
        self.copy("-r", "--link-dest=../first", f"{self.tree}/", f"dest:{self.target}/second")
        before = (self.target / "first" / "sub" / "small-5").stat()
        (self.tree / "sub" / "small-5").chmod(0o604)
        self.make_file(self.tree / "sub" / "large", 9 * CHUNK + 5, seed=3)
        old = (self.target / "first" / "sub" / "large").read_bytes()
        self.copy("--sync", "--delete", f"{self.tree}/", f"dest:{self.target}/second")
        self.assert_same_tree(self.tree, self.target / "second")
        self.assertEqual((self.target / "first" / "sub" / "small-5").stat().st_mode, before.st_mode)
        self.assertEqual((self.target / "first" / "sub" / "large").read_bytes(), old)

    def test_symlinks_in_it_lead_nowhere(self):
        outside = self.disk / "outside"
        subprocess.run(["cp", "-a", self.tree, outside], check=True)
        shutil.rmtree(self.target / "first" / "sub")
        os.symlink(outside / "sub", self.target / "first" / "sub")
        (self.target / "first" / "twin").unlink()
        os.symlink(outside / "twin", self.target / "first" / "twin")
        self.copy("-r", "--link-dest=../first", f"{self.tree}/", f"dest:{self.target}/second")
        self.assert_same_tree(self.tree, self.target / "second")
        self.assertEqual((outside / "sub" / "large").stat().st_nlink, 2)
        self.assertFalse((self.target / "second" / "twin").is_symlink())


class BackupDirectory(CopyTest):
    """What becomes of DST's own directories where backups are kept in one beneath it."""

    def test_dst_keeps_the_times_of_src(self):
        tree, mirror = self.source / "tree", self.target / "tree"
        (tree / "sub").mkdir(parents=True)
        (tree / "same").write_text("same")
        (tree / "sub/file").write_text("new")
        self.copy("-r", f"{tree}/", mirror)
        for change in ("differs", "extra"):
            with self.subTest(change):
                (mirror / ("sub/file" if change == "differs" else "sub/extra")).write_text(change)
                shutil.copystat(tree / "sub", mirror / "sub")
                self.copy("--sync", "--delete", "--backup-dir", f"kept-{change}", "--exclude", "/kept-*", f"{tree}/", mirror)
                self.assertEqual(len(list((mirror / f"kept-{change}").rglob("*"))), 2)
                for name in (".", "sub"):
                    self.assertEqual((mirror / name).stat().st_mtime_ns, (tree / name).stat().st_mtime_ns, name)


class OldModes(CopyTest):
    """What the permissions of DST are after a copy."""

    @needs_root
    def test_a_closed_directory_is_closed_again(self):
        tree = self.source / "tree"
        (tree / "sub").mkdir(parents=True)
        (tree / "sub/file").write_text("x")
        for path in (self.disk, self.memory, self.source, tree, tree / "sub"):
            path.chmod(0o755)
        os.chown(self.target, 65534, 65534)
        for words, last, status in (((tree / "sub/file",), "", 0), (("-r", tree), "", 0), (("--sync", tree / "sub/file"), "new", 0),
                                    (("-r", f"{tree}/"), "", 0), (("-r", f"{tree}/sub", self.source / "missing"), "", EXIT_FILES)):
            self.target.chmod(0o555)
            as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", RDCP, *words, self.target / last]
            done = subprocess.run(as_nobody, capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, status, done)
            wanted = 0o755 if words[-1] == f"{tree}/" else 0o555  # the source's own, where its contents land
            self.assertEqual(self.target.stat().st_mode & 0o7777, wanted, done)

    @needs_root
    def test_a_directory_that_cannot_be_made_is_said_once(self):
        tree = self.source / "tree"
        (tree / "sub").mkdir(parents=True)
        for name in "abc":
            (tree / "sub" / name).write_text(name)
        for path in (self.disk, self.memory, self.source, tree, tree / "sub"):
            path.chmod(0o755)
        self.target.chmod(0o755)
        for words in (("-r",), ("--sync",), ("-r", "-v")):
            as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", RDCP, *words, tree, self.target / "new"]
            done = subprocess.run(as_nobody, capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, EXIT_FILES, done)
            self.assertEqual(done.stderr.count("Permission denied"), 1, done)
            self.assertIn(f"create {self.target}/new: Permission denied", done.stderr)
            self.assertNotIn("rdcp: copied", done.stderr)

    @needs_root
    def test_a_mirror_looks_into_directories_that_must_not_be_searched(self):
        tree, mirror = self.source / "tree", self.target / "tree"
        (tree / "sub/deep").mkdir(parents=True)
        for name in ("sub/file", "sub/deep/file", "sub/deep/other"):
            (tree / name).write_text(name)
        shutil.copytree(tree, mirror)
        (mirror / "sub/deep/other").write_text("differs")
        (mirror / "sub/deep/extra").write_text("extra")
        for path in (self.disk, self.memory, self.source, self.target, tree, tree / "sub", tree / "sub/deep"):
            path.chmod(0o755)
        for path in (mirror, *mirror.rglob("*")):
            os.chown(path, 65534, 65534)
        for path in (mirror / "sub/deep", mirror / "sub"):
            path.chmod(0o644)
        mirrored = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", RDCP, "--sync", "--delete", f"{tree}/", mirror]
        dry = subprocess.run([*mirrored, "-n"], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(dry.returncode, EXIT_FILES, dry)
        self.assertEqual((mirror / "sub").stat().st_mode & 0o7777, 0o644)
        done = subprocess.run(mirrored, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done)
        self.assert_same_tree(tree, mirror, ignore=("uid", "gid"))

    @needs_root
    def test_a_file_is_written_in_place_where_its_directory_must_not_be_searched(self):
        tree, old = self.source / "tree", self.target / "tree"
        (tree / "sub/deep").mkdir(parents=True)
        large = make_file(tree / "sub/deep/large", 3 * CHUNK)
        shutil.copytree(tree, old)
        make_file(large, 3 * CHUNK + 5, seed=8)
        for path in (self.disk, self.memory, self.source, self.target, tree, tree / "sub", tree / "sub/deep"):
            path.chmod(0o755)
        for path in (old, *old.rglob("*")):
            os.chown(path, 65534, 65534)
        inode = (old / "sub/deep/large").stat().st_ino
        for path in (old / "sub/deep", old / "sub"):
            path.chmod(0o644)
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", RDCP, "-r", "--inplace", f"{tree}/", old],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done)
        self.assert_same_tree(tree, old, ignore=("uid", "gid"))
        self.assertEqual((old / "sub/deep/large").stat().st_ino, inode)

    @needs_root
    def test_directories_below_are_closed_again_when_a_copy_ends_early(self):
        tree = self.source / "tree"
        (tree / "sub/deep").mkdir(parents=True)
        make_file(tree / "sub/deep/file", 8 * MIB)
        old = self.target / "tree/sub/deep"
        as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", RDCP]
        for path in (self.disk, self.memory, self.source, self.target, tree, tree / "sub", tree / "sub/deep", tree / "sub/deep/file"):
            path.chmod(0o755)
        for number in (signal.SIGINT, signal.SIGTERM):
            old.mkdir(parents=True)
            for path, mode in ((old, 0), (old.parent, 0o2555), (old.parent.parent, 0o511)):
                os.chown(path, 65534, 65534)
                path.chmod(mode)
            running = Running([*as_nobody, "-r", "--bwlimit=1MiB", f"{tree}/", self.target / "tree"])
            self.addCleanup(running.kill)
            self.assertTrue(wait_for(lambda: old.stat().st_mode & 0o200))
            self.assertEqual(old.stat().st_mode & 0o7777, 0o700)
            running.process.send_signal(number)
            done = running.finish(20)
            self.assertEqual(done.status, 128 + number, done)
            modes = [path.stat().st_mode & 0o7777 for path in (old, old.parent, old.parent.parent)]
            self.assertEqual(modes, [0, 0o2555, 0o511])
            if number == signal.SIGTERM:
                done = subprocess.run([*as_nobody, "--clean", self.target / "tree"], capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 0, done)
                self.assertEqual(list(old.iterdir()), [])
                modes = [path.stat().st_mode & 0o7777 for path in (old, old.parent, old.parent.parent)]
                self.assertEqual(modes, [0, 0o2555, 0o511])
            done = subprocess.run([*as_nobody, "-r", f"{tree}/", self.target / "tree"], capture_output=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done)
            self.assert_same_tree(tree, self.target / "tree", ignore=("uid", "gid"))
            shutil.rmtree(self.target / "tree")

    def test_bytes_into_a_file_with_an_acl_let_nobody_else_in(self):
        old = self.target / "old"
        old.write_text("old")
        lines = ((1, 6, 0xffffffff), (2, 6, 65534), (4, 0, 0xffffffff), (16, 6, 0xffffffff), (32, 0, 0xffffffff))
        acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *line) for line in lines)
        os.setxattr(old, "system.posix_acl_access", acl)
        self.assertEqual(old.stat().st_mode & 0o777, 0o660)
        command = [os.fspath(word) for word in self.command("-", old)]
        done = subprocess.run(command, input=b"new", capture_output=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(old.read_text(), "new")
        self.assertEqual(old.stat().st_mode & 0o777, 0o600)


if __name__ == "__main__":
    unittest.main()
