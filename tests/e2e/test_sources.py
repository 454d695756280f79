"""Which files a SRC stands for: patterns that another host expands, symbolic links that are followed (-L)."""

import errno
import json
import os
import shutil
import stat
import subprocess
import unittest
from pathlib import Path

from harness import EXIT_FILES, EXIT_USAGE, RDCP, CopyTest, needs_root, wait_for

from test_sandbox import landlock_abi

LANDLOCK = landlock_abi() > 0


class Patterns(CopyTest):
    def setUp(self):
        super().setUp()
        for name in ("a.txt", "b.txt", "c.bin", ".hidden.txt", "w[1].bin", "w1.bin", "-n.txt", "with blank.txt"):
            self.make_file(self.source / name, 10 + len(name))
        (self.source / "d1").mkdir()
        (self.source / "d2").mkdir()
        self.make_file(self.source / "d1/x", 3)
        self.make_file(self.source / "d2/y", 4)

    def copied(self, *words, **options) -> list[str]:
        shutil.rmtree(self.target)
        self.target.mkdir()
        self.copy(*words, self.target, **options)
        return sorted(str(path.relative_to(self.target)) for path in self.target.rglob("*") if not path.is_dir())

    def test_the_agent_expands_them(self):
        at = f"dest:{self.source}"
        self.assertEqual(self.copied(f"{at}/*.txt"), ["-n.txt", "a.txt", "b.txt", "with blank.txt"])
        self.assertEqual(self.copied(f"{at}/[ab].txt", f"{at}/c.???"), ["a.txt", "b.txt", "c.bin"])
        self.assertEqual(self.copied("-r", f"{at}/d?"), ["d1/x", "d2/y"])
        self.assertEqual(self.copied("-r", f"{at}/d?/"), ["x", "y"])
        self.assertEqual(self.copied("--sync", f"{at}/d1*"), ["x"])
        self.assert_same_file(self.source / "d1/x", self.target / "x")

    def test_a_name_is_itself_and_a_hidden_one_needs_its_dot(self):
        at = f"dest:{self.source}"
        self.assertEqual(self.copied(f"{at}/w[1].bin"), ["w[1].bin"])
        self.assertEqual(self.copied(f"{at}/.*"), [".hidden.txt"])
        self.assertEqual(self.copied("scp://dest/" + str(self.source).replace("/", "%2F") + "/%61*"), ["a.txt"])

    def test_one_that_is_found_may_get_another_name(self):
        self.copy(f"dest:{self.source}/a*", self.target / "new")
        self.assert_same_file(self.source / "a.txt", self.target / "new")

    def test_several_need_a_directory(self):
        self.fails(EXIT_FILES, f"dest:{self.source}/*.txt", self.target / "new", says=("no such directory",))
        self.assertEqual(list(self.target.iterdir()), [])
        self.copy("--mkpath", f"dest:{self.source}/*.txt", self.target / "new")
        self.assertTrue((self.target / "new/a.txt").is_file())

    def test_nothing_that_matches_is_an_error(self):
        missing = f"dest:{self.source}/*.none"
        done = self.fails(EXIT_FILES, "--json", missing, self.target, says=("no file matches", "*.none", "dest: "))
        error = json.loads(done.out)["errors"][0]
        self.assertEqual((error["host"], error["path"]), ("dest", f"{self.source}/*.none"))
        self.fails(EXIT_FILES, missing, f"dest:{self.source}/c*", self.target, says=("no file matches",))
        self.assertEqual([path.name for path in self.target.iterdir()], ["c.bin"])

    def test_between_hosts_and_twice(self):
        for _ in range(2):
            self.copy("-r", f"dest:{self.source}/*.txt", f"dest:{self.source}/d*", f"other:{self.target}")
        self.assert_same_file(self.source / "b.txt", self.target / "b.txt")
        self.assert_same_file(self.source / "d2/y", self.target / "d2/y")

    def test_one_source_must_be_one(self):
        at = f"dest:{self.source}/d*"
        self.fails(EXIT_USAGE, "--sync", at, self.target, says=("--sync", "d*", "stands for 2"))
        self.fails(EXIT_USAGE, "--files-from=-", at, self.target, says=("--files-from",), stdin=b"x\n")
        self.assertEqual(list(self.target.iterdir()), [])

    def test_here_they_are_names(self):
        self.fails(EXIT_FILES, self.source / "*.txt", self.target, says=("No such file",))


class Completion(CopyTest):
    """Of paths on another host."""

    def setUp(self):
        super().setUp()
        for name in ("alpha", "also here", "beta", "w[1].bin", "line\nbreak"):
            self.make_file(self.source / name, 1)
        (self.source / "all").mkdir()

    def test_what_begins_so_is_printed(self):
        for begin, names in (("al", ["all/", "alpha", "also here"]), ("w[", ["w[1].bin"]), ("none", []), ("l", []),
                             ("", ["all/", "alpha", "also here", "beta", "w[1].bin"])):
            done = self.copy("--complete", f"dest:{self.source}/{begin}")
            self.assertEqual(os.fsdecode(done.out).splitlines(), [f"{self.source}/{name}" for name in names])
            self.assertEqual(done.err, "")
        self.fails(EXIT_USAGE, "--complete", self.source, says=("HOST:PATH",))

    @unittest.skipUnless(shutil.which("bash"), "no bash")
    def test_bash_asks_for_it(self):
        script = Path(__file__).parents[2] / "src/cli/completions/rdcp.bash"
        for words, names in ((f"dest : {self.source}/al", ["all/", "alpha", "also here"]),
                             (f"dest : '{self.source}/also\\ '", ["also here"]), (f"dest : {self.source}/none", [])):
            line = (f"source {script}; COMP_WORDS=({RDCP} -F {self.sshd.config} --rdcp-path {RDCP} -o Compression = no {words}); "
                    "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _rdcp; printf '%s\\n' \"${COMPREPLY[@]}\"")
            done = subprocess.run(["bash", "--norc", "-c", line], capture_output=True, text=True, check=True)
            self.assertEqual([name for name in done.stdout.splitlines() if name], [f"{self.source}/{name}" for name in names])


    @unittest.skipUnless(shutil.which("fish"), "no fish")
    def test_fish_asks_for_it(self):
        program = self.disk / "rdcp"  # what the completions are for
        program.symlink_to(RDCP)
        script = Path(__file__).parents[2] / "src/cli/completions/rdcp.fish"
        line = f"{program} -F {self.sshd.config} --rdcp-path {RDCP} dest:{self.source}/al"
        done = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"], capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual([name.split("\t")[0] for name in done.stdout.splitlines()],
                         [f"dest:{self.source}/{name}" for name in ("all/", "alpha", "also here")], done)


class Causes(CopyTest):
    def test_json_has_path_and_errno_of_what_happened_elsewhere(self):
        self.make_file(self.source / "a", 10)
        (self.target / "a").mkdir()
        for words in ((self.source / "none", f"dest:{self.target}"), (f"dest:{self.source}/none", self.target)):
            end = json.loads(self.fails(EXIT_FILES, "--json", *words).out)
            error = end["errors"][0]
            self.assertEqual((error["path"], error["errno"]), (f"{self.source}/none", "ENOENT"), end)
            self.assertEqual(error.get("host"), "dest" if str(words[0]).startswith("dest:") else None)
        end = json.loads(self.fails(EXIT_FILES, "--json", "--check", f"dest:{self.source}/none", self.target).out)
        self.assertEqual(end["errors"][0]["errno"], "ENOENT")


class Links(CopyTest):
    def setUp(self):
        super().setUp()
        self.outside = self.disk / "outside"
        self.outside.mkdir()
        self.make_file(self.outside / "large", 3 << 20)
        self.make_file(self.outside / "small", 100)
        os.setxattr(self.outside / "small", "user.note", b"kept")
        (self.source / "to-directory").symlink_to(self.outside)
        (self.source / "to-file").symlink_to("../outside/small")
        (self.source / "to-large").symlink_to(self.outside / "large")
        (self.source / "there").mkdir()
        self.make_file(self.source / "there/own", 50)
        (self.source / "there/to-link").symlink_to("../to-file")

    def as_cp(self):
        like = self.disk / "like"
        subprocess.run(["cp", "-rL", "--preserve=mode,ownership,timestamps,xattr", f"{self.source}/.", like], check=True)
        return like

    def test_what_they_lead_to_is_copied(self):
        like = self.as_cp()
        for option, source, target in (("-L", "", "dest:"), ("--copy-links", "dest:", ""), ("--dereference", "", "")):
            with self.subTest(option):
                shutil.rmtree(self.target, ignore_errors=True)
                self.copy("-r", option, f"{source}{self.source}/", f"{target}{self.target}")
                self.assert_same_tree(like, self.target)
        self.copy("-rL", self.source / "to-directory", self.disk / "one")
        self.assert_same_tree(self.outside, self.disk / "one")

    def test_a_mirror_and_a_check(self):
        like = self.as_cp()
        self.copy("-r", f"{self.source}/", f"dest:{self.target}")  # links, to begin with
        extra = self.make_file(self.target / "there/extra", 5)
        for options in (("--sync", "-L", "--delete"), ("--sync", "-L", "-c", "--delete")):
            self.copy(*options, f"{self.source}/", f"dest:{self.target}")
            self.assert_same_tree(like, self.target)
            self.assertFalse(extra.exists())
            again = self.copy("-n", "-i", *options, f"{self.source}/", f"dest:{self.target}")
            self.assertFalse(again.out)
        self.copy("--check", "-L", "--metadata", "-r", f"{self.source}/", f"dest:{self.target}")
        (self.outside / "small").write_bytes(b"other")
        for source, target in (("", "dest:"), ("dest:", "")):
            done = self.fails(EXIT_FILES, "--check", "-L", f"{source}{self.source}", f"{target}{self.target}")
            for name in ("to-directory/small", "to-file", "there/to-link"):
                self.assertIn(name, os.fsdecode(done.out) + done.err)
        self.fails(EXIT_FILES, "--check", self.source, f"dest:{self.target}")  # those are links

    def test_one_that_leads_back_or_nowhere(self):
        (self.source / "there/up").symlink_to("..")
        (self.source / "nowhere").symlink_to("missing")
        says = ("there/up: a symbolic link leads back", "nowhere: No such file")
        for words in (("-rL", f"{self.source}/", f"dest:{self.target}"), ("-rL", f"dest:{self.source}/", self.target),
                      ("--sync", "-L", "--delete", f"{self.source}/", f"dest:{self.target}"),
                      ("--check", "-L", self.source, f"dest:{self.target}")):
            self.fails(EXIT_FILES, *words, says=says)
        self.assert_same_file(self.outside / "large", self.target / "to-directory/large")
        self.assertFalse((self.target / "there/up").exists())

    def test_a_list_of_paths_goes_through_them(self):
        self.rdcp("-L", "--files-from=-", self.source, f"dest:{self.target}", stdin=b"to-directory/small\nto-file\n")
        self.assert_same_file(self.outside / "small", self.target / "to-directory/small")
        self.assertFalse((self.target / "to-file").is_symlink())

    def test_rules_see_what_they_lead_to(self):
        self.copy("-rL", "--exclude", "to-directory/", "--max-size", "1M", f"{self.source}/", f"dest:{self.target}")
        self.assertEqual(sorted(path.name for path in self.target.iterdir()), ["there", "to-file"])

    def test_it_is_for_copies_of_trees(self):
        self.fails(EXIT_USAGE, "--check", "-L", "--sums", self.disk / "sums", self.target, says=("--copy-links",))
        self.fails(EXIT_USAGE, "--clean", "-L", self.target, says=("--copy-links",))


class Removal(CopyTest):
    """--remove-source-files: what was copied, and nothing else."""

    def setUp(self):
        super().setUp()
        self.tree = self.source / "tree"
        (self.tree / "sub").mkdir(parents=True)
        self.make_file(self.tree / "large", 3 << 20)
        self.make_file(self.tree / "sub/small", 1000)
        self.make_file(self.tree / "sub/one", 2000)
        os.link(self.tree / "sub/one", self.tree / "two")
        (self.tree / "link").symlink_to("large")
        os.mkfifo(self.tree / "fifo")
        self.like = self.disk / "like"
        subprocess.run(["cp", "-a", self.tree, self.like], check=True)

    def left(self) -> list[str]:
        return sorted(str(path.relative_to(self.tree)) for path in self.tree.rglob("*") if path.is_symlink() or not path.is_dir())

    def test_what_was_copied_is_gone_and_directories_stay(self):
        for source, target, options in (("", "dest:", ("-r",)), ("dest:", "", ("-r", "--verify")), ("", "", ("-r",)),
                                        ("dest:", "other:", ("--sync",))):
            with self.subTest(f"{source} to {target}"):
                shutil.rmtree(self.tree)
                subprocess.run(["cp", "-a", self.like, self.tree], check=True)
                shutil.rmtree(self.target)
                done = self.copy(*options, "-v", "--remove-source-files", f"{source}{self.tree}/", f"{target}{self.target}")
                self.assert_same_tree(self.like, self.target)
                self.assertEqual(self.left(), [])
                self.assertTrue((self.tree / "sub").is_dir())
                if LANDLOCK and source + target:
                    self.assertIn(f"remove files beneath {self.tree}", done.err)

    @needs_root
    def test_a_node_that_may_not_be_made_there_stays(self):
        os.mknod(self.tree / "node", stat.S_IFCHR | 0o600, os.makedev(1, 3))
        if not shutil.which("setpriv"):
            self.skipTest("no setpriv")
        without = ["setpriv", "--bounding-set=-mknod", "--"]
        done = subprocess.run([*without, *map(os.fspath, self.command("-r", "--remove-source-files", f"{self.tree}/", self.target))],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, EXIT_FILES, done)
        self.assertIn("node", done.stderr)
        self.assertIn("node", self.left())
        self.assertTrue(stat.S_ISCHR((self.tree / "node").lstat().st_mode))

    def test_what_cannot_be_read_whole_stays(self):
        for name in ("large", "sub/small", "link"):
            os.setxattr(self.tree / name, "trusted.note" if name == "link" else "user.note", b"kept", follow_symlinks=False)
        environment = self.failing("flistxattr", "small", errno.EIO)
        done = self.fails(EXIT_FILES, "-r", "--remove-source-files", f"{self.tree}/", self.target, env=environment)
        self.assertIn("sub/small", done.err)
        self.assertIn("sub/small", self.left())
        self.assertNotIn("large", self.left())

    def test_a_single_file(self):
        self.copy("--remove-source-files", self.tree / "large", f"dest:{self.target}/new")
        self.assert_same_file(self.like / "large", self.target / "new")
        self.assertNotIn("large", self.left())
        self.assertIn("two", self.left())

    def test_what_could_not_be_written_stays(self):
        (self.target / "sub/small").mkdir(parents=True)  # a directory stands where a file would
        (self.target / "sub/small/x").mkdir()
        (self.target / "large").mkdir()
        (self.target / "large/x").mkdir()
        for options in ((), ("--verify",)):
            done = self.fails(EXIT_FILES, "-r", *options, "--remove-source-files", f"{self.tree}/", f"dest:{self.target}")
            self.assertIn("sub/small", done.err)
            self.assertIn("large", self.left())
            self.assertIn("sub/small", self.left())
            self.assert_same_file(self.like / "sub/small", self.tree / "sub/small")

    def test_an_interrupted_run_is_gone_on_with(self):
        running = self.start("-r", "--remove-source-files", "--chunk-size", "64K", "--bwlimit", "1MiB", f"{self.tree}/",
                             f"dest:{self.target}")
        self.assertTrue(wait_for(lambda: "sub/small" not in self.left(), 30), running.where())
        self.assertTrue((self.target / "sub/small").exists())
        running.process.terminate()
        running.finish(30)
        self.assertTrue((self.tree / "large").exists())
        self.copy("-r", "--remove-source-files", f"{self.tree}/", f"dest:{self.target}")
        self.assertEqual(self.left(), [])
        self.assert_same_file(self.like / "large", self.target / "large")
        self.assert_same_file(self.like / "sub/small", self.target / "sub/small")

    def test_what_is_there_already_is_sent_and_removed(self):
        subprocess.run(["cp", "-a", f"{self.like}/.", self.target], check=True)
        before = (self.target / "sub/small").stat().st_ino
        self.copy("--sync", "--remove-source-files", f"{self.tree}/", f"dest:{self.target}")
        self.assertNotEqual((self.target / "sub/small").stat().st_ino, before)
        self.assertNotIn("sub/small", self.left())
        self.assertNotIn("large", self.left())
        self.assert_same_tree(self.like, self.target)

    def test_nothing_is_lost_where_both_names_lead_to_one_tree(self):
        """As where a server has the same directory mounted under two names."""
        other = self.disk / "other-name"
        other.mkdir()
        if os.geteuid() != 0 or subprocess.run(["mount", "--bind", self.tree, other], capture_output=True, check=False).returncode:
            self.skipTest("no bind mounts for this user")
        self.addCleanup(subprocess.run, ["umount", other], check=False)
        for options in (("-r",), ("--sync",), ("--sync", "-c"), ("-r", "--chmod=a+r")):
            for name in ("large", "sub/small", "two"):
                self.rdcp(*options, "--remove-source-files", f"dest:{self.tree}/", f"other:{other}")
                self.assert_same_file(self.like / name, self.tree / name)

    def test_a_dry_run_and_refusals(self):
        self.copy("-r", "-n", "--remove-source-files", f"{self.tree}/", f"dest:{self.target}")
        self.assertEqual(len(self.left()), 6)
        for words in (("--sync", "--delete"), ("-r", "--inplace"), ("-rL",), ("--check",)):
            self.fails(EXIT_USAGE, *words, "--remove-source-files", self.tree, self.target, says=("--remove-source-files",))
        self.fails(EXIT_USAGE, "--remove-source-files", "-", self.target / "x", says=("--remove-source-files",))
        for place in ("dest:/dev/null", "/dev/null", "-"):
            self.fails(EXIT_FILES, "--remove-source-files", self.tree / "large", place, says=("neither a file nor a directory",))
        self.assertEqual(len(self.left()), 6)

    def test_no_name_of_two_sources_is_removed(self):
        before = self.left()
        (self.source / "more/sub").mkdir(parents=True)
        self.make_file(self.source / "more/sub/small", 1000)
        for sources in ((f"{self.tree}/", f"{self.source}/more/"), (self.source / "more/sub/small", f"{self.tree}/")):
            self.fails(EXIT_USAGE, "-r", "--remove-source-files", *sources, f"dest:{self.target}", says=("one SRC after the other",))
        self.assertEqual(self.left(), before)
        self.assertTrue((self.source / "more/sub/small").exists())
        self.assertEqual(list(self.target.iterdir()), [])

    def test_a_link_that_would_be_followed_is_refused(self):
        before = self.left()
        for target in (self.target, f"dest:{self.target}/new"):
            self.fails(EXIT_FILES, "--remove-source-files", self.tree / "link", target, says=("symbolic link", "-r"))
        self.assertEqual(self.left(), before)
        self.assertEqual(list(self.target.iterdir()), [])
        self.copy("-r", "--remove-source-files", self.tree / "link", self.target)
        self.assertEqual(os.readlink(self.target / "link"), "large")
        self.assertEqual(self.left(), [name for name in before if name != "link"])


class SharedNames(CopyTest):
    """Names that several SRC have."""

    def setUp(self):
        super().setUp()
        for tree in ("p", "q"):
            (self.source / tree / "sub").mkdir(parents=True)
            (self.source / tree / "sub/both").write_text(tree)
            (self.source / tree / f"only-{tree}").write_text(tree)
        (self.source / "q/file-or-directory").mkdir()
        (self.source / "q/file-or-directory/x").write_text("q")
        (self.source / "p/file-or-directory").write_text("p")

    def test_the_first_wins_and_the_other_is_told(self):
        done = self.fails(EXIT_FILES, "-r", f"{self.source}/p/", f"{self.source}/q/", f"dest:{self.target}",
                          says=(f"{self.source}/q/sub/both", f"SRC {self.source}/p puts", "q/file-or-directory"))
        self.assertNotIn("only-", done.err)
        self.assertEqual((self.target / "sub/both").read_text(), "p")
        self.assertEqual((self.target / "file-or-directory").read_text(), "p")
        self.assertTrue((self.target / "only-p").exists() and (self.target / "only-q").exists())
        self.fails(EXIT_FILES, "-r", f"{self.source}/q/", self.source / "p/sub", f"{self.target}", says=("p/sub/both",))
        self.assertEqual((self.target / "sub/both").read_text(), "q")

    def test_a_file_named_twice_is_no_error(self):
        self.copy("-r", f"{self.source}/p/", self.source / "p/only-p", f"dest:{self.target}")
        self.assertEqual((self.target / "only-p").read_text(), "p")

    def test_what_is_not_copied_takes_no_name(self):
        (self.source / "p/sub/both").write_text("longer than the other")
        self.copy("-r", "--max-size", "5", "--exclude", "file-or-directory", f"{self.source}/p/", f"{self.source}/q/",
                  f"dest:{self.target}")
        self.assertEqual((self.target / "sub/both").read_text(), "q")


if __name__ == "__main__":
    unittest.main()
