"""Options that ask the target for more than a copy, compared with rsync where it has them."""

import os
import unittest

from harness import CHUNK, EXIT_FILES, EXIT_USAGE, CopyTest


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


if __name__ == "__main__":
    unittest.main()
