"""Options by which a copy differs from its source, compared with what rsync makes of the same words."""

import os
import shutil
import subprocess
import unittest

from harness import CopyTest, is_root, needs_root

# Without root, rsync cannot work in directories that it must not enter.
WORDS = ["D755,F644", "u+rwX,go-w", "ug=rwX,o=", "D2770,F0660", "a-x" if is_root else "Fa-x", "+w", "go=u", "o=g,g-w", "Fu+s", "Da+t,F-x", "u=rwx,g=s",
         "Fa+s,Fu=g", "a=rs", "Fug+s,Fg=u", "D+t,Dgo=u"]


def modes(tree) -> dict[str, int]:
    found = {".": tree.stat().st_mode}
    for path in tree.rglob("*"):
        found[str(path.relative_to(tree))] = path.lstat().st_mode
    return found


class Modes(CopyTest):
    def setUp(self):
        super().setUp()
        self.tree = self.source / "tree"
        (self.tree / "sub" / "empty").mkdir(parents=True)
        self.make_file(self.tree / "sub" / "plain", 10)
        self.make_file(self.tree / "program", 5000)
        self.make_file(self.tree / "large", 1 << 20)
        os.link(self.tree / "program", self.tree / "sub" / "again")
        os.symlink("program", self.tree / "link")
        os.mkfifo(self.tree / "fifo", 0o640)
        for name, mode in (("program", 0o751), ("large", 0o604), ("sub/plain", 0o666), ("sub", 0o775), ("sub/empty", 0o700)):
            (self.tree / name).chmod(mode)

    def make_with_rsync(self, *words):
        other = self.disk / "other"
        shutil.rmtree(other, ignore_errors=True)
        subprocess.run(["rsync", "-aH", *words, f"{self.tree}/", f"{other}/"], check=True, timeout=60)
        return other

    def test_as_rsync_sets_them(self):
        for words in WORDS:
            with self.subTest(words):
                shutil.rmtree(self.target, ignore_errors=True)
                self.copy("-r", f"--chmod={words}", f"{self.tree}/", f"dest:{self.target}")
                self.assertEqual(modes(self.make_with_rsync(f"--chmod={words}")), modes(self.target))

    def test_from_a_host_and_locally(self):
        other = modes(self.make_with_rsync("--chmod=D700,F600"))
        self.copy("-r", "--chmod=D700", "--chmod", "F600", f"dest:{self.tree}/", self.disk / "back")
        self.assertEqual(other, modes(self.disk / "back"))
        self.copy("-r", "--chmod=D700,F600", f"{self.tree}/", self.disk / "local")
        self.assertEqual(other, modes(self.disk / "local"))

    def test_a_file_and_a_stream(self):
        self.copy("--chmod=600", self.tree / "program", f"dest:{self.disk}/file")
        self.assertEqual((self.disk / "file").stat().st_mode & 0o7777, 0o600)
        self.copy("--chmod=640", "-", f"dest:{self.disk}/stream", stdin=b"bytes")
        self.assertEqual((self.disk / "stream").stat().st_mode & 0o7777, 0o640)

    def test_a_mirror_compares_with_what_it_would_set(self):
        words = ["--sync", "--itemize-changes", "--chmod=D755,F640", f"{self.tree}/", f"dest:{self.target}"]
        self.copy(*words)
        self.assertEqual(modes(self.make_with_rsync("--chmod=D755,F640")), modes(self.target))
        self.assertEqual(self.copy(*words).out, b"", "nothing is left to do")
        self.assertIn(b"p", self.copy("--sync", "--itemize-changes", f"{self.tree}/", f"dest:{self.target}").out)
        self.assert_same_tree(self.tree, self.target)

    def test_an_acl_follows_its_mode(self):
        if shutil.which("setfacl") is None:
            self.skipTest("no setfacl here")
        subprocess.run(["setfacl", "-m", "u:1234:rwx,g::r", self.tree / "program"], check=True)
        self.copy("-r", "--chmod=F640", f"{self.tree}/", f"dest:{self.target}")
        shown = subprocess.run(["getfacl", "-cn", self.target / "program"], check=True, capture_output=True, text=True).stdout
        self.assertIn("user:1234:rwx", shown)
        self.assertIn("mask::r--", shown)
        self.assertIn("other::---", shown)

    def test_what_makes_no_sense_does_nothing(self):
        for words in ("888", "D", "u+q", "DF755", "", "g=ux", "u755", "77777"):
            done = self.rdcp("-r", f"--chmod={words}", f"{self.tree}/", f"dest:{self.target}/new")
            self.assertEqual(done.status, 2, done)
            self.assertIn("--chmod", done.err)
        self.assertFalse((self.target / "new").exists())


@needs_root
class Owners(CopyTest):
    def setUp(self):
        super().setUp()
        self.tree = self.source / "tree"
        (self.tree / "sub").mkdir(parents=True)
        self.make_file(self.tree / "sub" / "file", 10)
        self.make_file(self.tree / "large", 1 << 20)
        os.symlink("large", self.tree / "link")
        os.chown(self.tree / "large", 12, 34)
        os.chmod(self.tree / "large", 0o4755)

    def owners(self, tree) -> set:
        return {(path.lstat().st_uid, path.lstat().st_gid) for path in (tree, *tree.rglob("*"))}

    def test_as_rsync_gives_them(self):
        for words in ("1234:5678", "daemon:adm", "1234:", "daemon", ":adm", ":0"):
            with self.subTest(words):
                other = self.disk / "other"
                for folder in (self.target, other):
                    shutil.rmtree(folder, ignore_errors=True)
                self.copy("-r", f"--chown={words}", f"{self.tree}/", f"dest:{self.target}")
                subprocess.run(["rsync", "-a", f"--chown={words}", f"{self.tree}/", f"{other}/"], check=True, timeout=60)
                self.assertEqual(self.owners(other), self.owners(self.target))
                self.assertEqual(modes(other), modes(self.target))

    def test_a_mirror_compares_with_whom_it_would_give_it_to(self):
        words = ["--sync", "--itemize-changes", "--chown=daemon:5678", f"{self.tree}/", f"dest:{self.target}"]
        self.copy(*words)
        self.assertEqual(self.owners(self.target), {(1, 5678)})
        self.assertEqual(self.copy(*words).out, b"", "nothing is left to do")

    def test_a_name_that_is_not_known_does_nothing(self):
        for words, named in (("no-such-user:adm", "user"), ("daemon:no-such-group", "group")):
            for target in (f"dest:{self.target}/new", f"{self.target}/new"):
                done = self.rdcp("-r", f"--chown={words}", f"{self.tree}/", target)
                self.assertEqual(done.status, 2, done)
                self.assertIn(f"--chown: {named}", done.err)
                self.assertIn("not known at the target", done.err)
        self.assertFalse((self.target / "new").exists())

    def test_what_makes_no_sense_does_nothing(self):
        for words in ("", ":", "a b", "*:1", "4294967295", "u:g:h", "\n"):
            done = self.rdcp("-r", f"--chown={words}", f"{self.tree}/", f"dest:{self.target}/new")
            self.assertEqual(done.status, 2, done)
            self.assertIn("--chown", done.err)
        self.assertFalse((self.target / "new").exists())


if __name__ == "__main__":
    unittest.main()
