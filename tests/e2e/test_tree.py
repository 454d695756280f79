"""Trees with every kind of entry: what arrives is the same, in each direction, also the second time."""

import os
import stat
import subprocess
import unittest

from every_kind import PARTS
from harness import CHUNK, EXIT_FILES, RDCP, TRANSPORT, CopyTest, is_root, needs_root
from snapshot import differences, snapshot
from trees import make_node_modules

NOBODY = 65534


class EveryKind(CopyTest):
    """One part of PARTS at a time, there and back."""

    def check(self, part: str):
        tree = self.source / part
        PARTS[part](tree)
        there, back = self.disk / "there", self.disk / "back"
        self.copy("-r", "--chunk-size", "64K", tree, f"dest:{there}")
        self.assert_same_tree(tree, there)
        with self.subTest("and back"):
            self.copy("-r", "--ring", "threads", f"dest:{there}", back)
            self.assert_same_tree(tree, back)
        with self.subTest("again over the copy"):
            self.copy("-r", "--chunk-size", "64K", f"{tree}/", f"dest:{there}")
            self.assert_same_tree(tree, there)
        with self.subTest("locally"):
            self.copy("-r", tree, self.disk / "local")
            self.assert_same_tree(tree, self.disk / "local")

    def test_names(self):
        self.check("names")

    def test_deep(self):
        self.check("deep")

    def test_links(self):
        self.check("links")

    def test_sparse(self):
        self.check("sparse")

    def test_sparse_behind_a_long_name(self):
        """Paths around the lengths that headers of tar have room for."""
        source, target = self.source / "long", self.target / "long"
        for length in (60, 70, 80, 90, 99, 101, 150, 156, 200, 254):
            folder = source / ("x" * length)
            folder.mkdir(parents=True)
            with open(folder / "b", "wb") as file:
                file.truncate(60_000)
        self.copy("-r", f"{source}/", target)
        self.assertEqual(sorted(path.relative_to(source) for path in source.rglob("*")),
                         sorted(path.relative_to(target) for path in target.rglob("*")))

    def test_specials(self):
        self.check("specials")

    def test_modes(self):
        if not is_root:
            self.skipTest("files of mode 0000 can be read by root only")
        self.check("modes")

    def test_xattrs(self):
        self.check("xattrs")

    def test_acls(self):
        self.check("acls")

    def test_times(self):
        self.check("times")

    @needs_root
    def test_owners(self):
        self.check("owners")

    @needs_root
    def test_all_at_once_between_two_hosts(self):
        for part, make in PARTS.items():
            make(self.source / part)
        self.copy("-r", f"dest:{self.source}", f"other:{self.disk}/copy")
        self.assert_same_tree(self.source, self.disk / "copy")

    @unittest.skipIf(TRANSPORT, "the VM would take minutes for so many files; the rest of these tests has small ones, too")
    def test_node_modules(self):
        """Thousands of directories: the order in which they are finished differs from run to run."""
        tree = make_node_modules(self.memory, 20_000)
        wanted = snapshot(tree)
        for run in range(4):
            landing = self.memory / f"copy-{run}"
            self.copy("-r", tree, f"{'dest:' if run % 2 else ''}{landing}")
            self.assertEqual(differences(wanted, snapshot(landing)), [])

    def test_tmpfs(self):
        for part in ("names", "links", "sparse", "specials", "times"):
            PARTS[part](self.source / part)
        self.copy("-r", f"{self.source}/", f"dest:{self.target}")
        self.assert_same_tree(self.source, self.target, ignore=("holes",))  # tmpfs has holes of whole pages, too


class Options(CopyTest):
    @needs_root
    def test_no_owner(self):
        PARTS["owners"](self.source / "owners")
        self.copy("-r", "--no-owner", self.source / "owners", f"dest:{self.target}")
        self.assert_same_tree(self.source / "owners", self.target / "owners", ignore=("uid", "gid"))
        self.assertEqual({facts.uid for facts in snapshot(self.target / "owners").values()}, {0})

    @needs_root
    def test_numeric_ids(self):
        PARTS["owners"](self.source / "owners")
        self.copy("-r", "--numeric-ids", self.source / "owners", f"dest:{self.target}")
        self.assert_same_tree(self.source / "owners", self.target / "owners")

    @needs_root
    def test_owners_are_mapped_by_name(self):
        """A remote shell that runs rdcp with another passwd: daemon is 4001 there."""
        if subprocess.run(["unshare", "-m", "true"], check=False).returncode:
            self.skipTest("no mount namespaces here")
        passwd, group = self.disk / "passwd", self.disk / "group"
        passwd.write_text("root:x:0:0::/root:/bin/sh\ndaemon:x:4001:4001::/:/bin/false\n")
        group.write_text("root:x:0:\ndaemon:x:4001:\n")
        wrapper = self.disk / "rdcp-there"
        wrapper.write_text(f"#!/bin/sh\nexec unshare -m sh -c 'mount --bind {passwd} /etc/passwd && "
                           f"mount --bind {group} /etc/group && exec \"$0\" \"$@\"' {RDCP} \"$@\"\n")
        wrapper.chmod(0o755)
        file = self.make_file(self.source / "file", 10)
        os.chown(file, 1, 1)
        self.copy("--rdcp-path", wrapper, file, f"dest:{self.target}/by-name")
        self.copy("--rdcp-path", wrapper, "--numeric-ids", file, f"dest:{self.target}/by-number")
        self.assertEqual((self.target / "by-name").stat().st_uid, 4001)
        self.assertEqual((self.target / "by-name").stat().st_gid, 4001)
        self.assertEqual((self.target / "by-number").stat().st_uid, 1)

    def test_no_xattrs(self):
        PARTS["xattrs"](self.source / "xattrs")
        PARTS["acls"](self.source / "acls")
        self.copy("-r", "--no-xattrs", f"{self.source}/", f"dest:{self.disk}/copy")
        for path, facts in snapshot(self.disk / "copy").items():
            self.assertEqual(facts.xattrs, {}, path)

    def test_p_is_accepted(self):
        file = self.make_file(self.source / "file", 10)
        os.utime(file, ns=(5, 5))
        self.copy("-p", file, f"dest:{self.target}")
        self.assertEqual((self.target / "file").stat().st_mtime_ns, 5)


class OverAnotherTree(CopyTest):
    """What stands at the target already."""

    def setUp(self):
        super().setUp()
        self.tree = self.source / "tree"
        self.tree.mkdir()

    def test_a_file_replaces_a_symlink_and_leaves_what_it_points_to(self):
        outside = self.make_file(self.disk / "outside", 500)
        before = outside.read_bytes()
        for name, size in (("small", 10), ("large", 3 * CHUNK)):
            self.make_file(self.tree / name, size)
            (self.target / name).symlink_to(outside)
        self.copy("-r", "--chunk-size", "64K", f"{self.tree}/", f"dest:{self.target}")
        self.assert_same_tree(self.tree, self.target)
        self.assertEqual(outside.read_bytes(), before)

    def test_a_symlink_to_a_directory_is_not_followed(self):
        outside = self.disk / "outside"
        outside.mkdir()
        (self.tree / "sub").mkdir()
        self.make_file(self.tree / "sub" / "file", 10)
        (self.target / "sub").symlink_to(outside)
        self.rdcp("-r", f"{self.tree}/", f"dest:{self.target}")
        self.assertEqual(list(outside.iterdir()), [], "written through a symlink")

    def test_what_the_source_lacks_stays(self):
        self.make_file(self.tree / "new", 10)
        self.make_file(self.target / "mine", 20)
        self.copy("-r", f"{self.tree}/", f"dest:{self.target}")
        self.assertEqual((self.target / "mine").stat().st_size, 20)

    def test_a_hard_link_at_the_target_is_broken_not_written_through(self):
        self.make_file(self.tree / "file", 10)
        self.make_file(self.disk / "precious", 300)
        other = self.disk / "target"
        other.mkdir()
        os.link(self.disk / "precious", other / "file")
        self.copy("-r", f"{self.tree}/", f"dest:{other}")
        self.assertEqual((self.disk / "precious").stat().st_size, 300)
        self.assert_same_file(self.tree / "file", other / "file")


@needs_root
class WithoutPrivilege(CopyTest):
    """Root's tree copied by nobody: what cannot be kept is a warning with a count."""

    def as_nobody(self, *words):
        prefix = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        return subprocess.run([*prefix, RDCP, *words], capture_output=True, text=True, errors="replace", timeout=60,
                              check=False)

    def setUp(self):
        super().setUp()
        if self.as_nobody("--version").returncode:
            self.skipTest(f"nobody cannot execute {RDCP}")
        for folder in (self.disk, self.memory, self.source):
            folder.chmod(0o755)
        os.chown(self.target, NOBODY, NOBODY)

    def test_owner_and_nodes_are_warnings(self):
        tree = self.source / "tree"
        tree.mkdir()
        for i in range(20):
            self.make_file(tree / f"file-{i}", 10)
            (tree / f"file-{i}").chmod(0o644)
        os.mknod(tree / "node", stat.S_IFCHR | 0o644, os.makedev(1, 3))
        done = self.as_nobody("-r", tree, self.target)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse((self.target / "tree" / "node").exists())
        warnings = [line for line in done.stderr.splitlines() if "warning" in line]
        self.assertLessEqual(len(warnings), 2, done.stderr)
        self.assertTrue(any("device" in line for line in warnings), done.stderr)
        self.assertEqual(len(list((self.target / "tree").iterdir())), 20)

    def test_read_only_directories_are_filled(self):
        tree = self.source / "tree"
        (tree / "closed" / "sub").mkdir(parents=True)
        self.make_file(tree / "closed" / "file", 10)
        self.make_file(tree / "closed" / "sub" / "file", 3 * CHUNK)
        for path in (tree / "closed" / "sub", tree / "closed"):
            path.chmod(0o555)
        done = self.as_nobody("-r", "--chunk-size", "64K", tree, self.target)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_same_tree(tree, self.target / "tree", ignore=("uid", "gid"))

    def test_unreadable_ones_are_named_and_the_rest_is_copied(self):
        tree = self.source / "tree"
        (tree / "locked").mkdir(parents=True)
        self.make_file(tree / "locked" / "inside", 10)
        for name, size in (("secret", 10), ("large-secret", 3 * CHUNK), ("open", 10)):
            self.make_file(tree / name, size).chmod(0o600 if "secret" in name else 0o644)
        (tree / "locked").chmod(0o700)
        done = self.as_nobody("-r", "--chunk-size", "64K", tree, self.target)
        self.assertEqual(done.returncode, EXIT_FILES, done.stderr)
        for name in ("/secret", "large-secret", "locked"):
            self.assertIn(name, done.stderr)
        self.assert_same_file(tree / "open", self.target / "tree" / "open")
        self.assertFalse((self.target / "tree" / "secret").exists())
        self.assert_no_litter(self.target)


if __name__ == "__main__":
    unittest.main()
