"""Which part of a tree is copied: rsync, given the same options, says what is right.

RDCP_FILTER_SEED=N repeats a run, RDCP_FILTER_TREES=N makes it longer."""

import os
import random
import shlex
import shutil
import signal
import subprocess
import unittest
from pathlib import Path

from harness import EXIT_FILES, EXIT_OK, EXIT_USAGE, RDCP, CopyTest, held_by, needs_root, wait_for
from snapshot import differences, snapshot

SEED = int(os.environ.get("RDCP_FILTER_SEED", random.randrange(1 << 32)))
TREES = int(os.environ.get("RDCP_FILTER_TREES", "40"))
LISTS_A_TREE = 10
RSYNC_OK, RSYNC_SYNTAX, RSYNC_PARTIAL = 0, 1, 23

NAMES = ("a", "b", "ab", "abc", "foo", "bar", "a.o", "b.o", "foo.c", ".hid", "x y", "-d", "[a]", "a*", "Z9", "b\\", "é")


def paths_beneath(root: Path) -> list[str]:
    return sorted(os.path.relpath(os.path.join(folder, name), root)
                  for folder, folders, files in os.walk(root) for name in folders + files)


class Trees:
    """Random trees with few names, so that patterns meet something; and patterns made of what is in them."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)

    def make(self, root: Path):
        root.mkdir()
        self.fill(root, 0)
        self.paths = paths_beneath(root)
        for path in (*reversed(self.paths), "."):  # long ago: rsync leaves a time alone that is in the same second
            second = self.random.randrange(10**9)
            os.utime(root / path, ns=(second * 10**9, second * 10**9 + 5), follow_symlinks=False)

    def fill(self, folder: Path, depth: int):
        for name in self.random.sample(NAMES, self.random.randint(2, 6)):
            path = folder / name
            kind = self.random.random()
            if depth < 4 and kind < 0.5:
                path.mkdir()
                self.fill(path, depth + 1)
            elif kind < 0.6:
                path.symlink_to("nowhere")
            else:
                path.write_bytes(b"x" * self.random.choice((0, 1, 99, 1000, 1024, 5000)))

    def path(self) -> str:
        return self.random.choice(self.paths)

    def letters(self, most: int) -> str:
        """Anything: also brackets that are not closed and backslashes at the end."""
        return "".join(self.random.choice("aabbfo./*?[]!^-\\:") for _ in range(self.random.randint(1, most)))

    def wild_name(self, name: str) -> str:
        choice = self.random.randrange(9)
        at = self.random.randrange(len(name))
        letter = name[at]
        if choice == 0:
            return "*"
        if choice == 1:
            return name[:at] + "*"
        if choice == 2:
            return "*" + name[at:]
        if choice == 3:
            return name[:at] + "?" + name[at + 1:]
        if choice == 4:
            return name[:at] + self.random.choice((f"[{letter}x]", f"[!{letter}]", f"[^{letter}-z]", "[a-f]", "[]a]",
                                                   "[[:alpha:]]", "[![:digit:][:upper:]]", "[[:punct:]a]",
                                                   "[a-", "[[:foo:]]", "[\\]a-b]")) + name[at + 1:]
        if choice == 5:
            return name[:at] + "\\" + name[at:]
        if choice == 6:
            return name[:at] + "**" + name[at:]
        if choice == 7:
            return self.random.choice(("**", "***", "*?*", "?*", ".*"))
        return name

    def pattern(self) -> str:
        if self.random.random() < 0.1:
            return self.letters(8).lstrip("!") or "a"
        names = self.path().split("/")
        begin = 0 if self.random.random() < 0.5 else self.random.randrange(len(names))
        names = names[begin:self.random.randint(begin + 1, len(names))]
        names = [self.wild_name(name) if self.random.random() < 0.4 else name for name in names]
        pattern = "/".join(names)
        if self.random.random() < 0.3:
            pattern = "/" + pattern
        return pattern + self.random.choice(("", "", "", "", "/", "/", "/*", "/**", "/***"))

    def filter_rule(self) -> str:
        kind = self.random.choice(("-", "-", "+", "+", "exclude", "include", "H", "S", "P", "R", "hide", "show",
                                   "protect", "risk"))
        modifiers = ""
        if self.random.random() < 0.3:
            modifiers = self.random.choice(("!", "s", "r", "sr", "!s") if kind in ("-", "+", "exclude", "include")
                                           else ("!",))
        comma = "," if modifiers and (len(kind) > 1 or self.random.random() < 0.5) else ""
        return kind + comma + modifiers + self.random.choice(" _") + self.pattern()

    def line(self) -> str:
        """Tests the lines of a file for --exclude-from and --include-from."""
        return self.random.choice(("", "", "- ", "+ ", "# ", ";")) + self.pattern()

    def options(self, folder: Path) -> list[str]:
        """In both programs' words. Files of rules are written into the folder."""
        words = []
        for number in range(self.random.randint(1, 7)):
            choice = self.random.random()
            file = folder / f"rules{number}"
            end = self.random.choice(("\n", "\r\n", "\r"))
            if choice < 0.3:
                words.append(f"--exclude={self.pattern()}")
            elif choice < 0.5:
                words.append(f"--include={self.pattern()}")
            elif choice < 0.8:
                words.append(f"--filter={self.filter_rule()}")
            elif choice < 0.88:
                file.write_text(end.join(self.line() for _ in range(self.random.randint(0, 4))), newline="")
                words.append(f"--{self.random.choice(('exclude', 'include'))}-from={file}")
            elif choice < 0.94:
                file.write_text(end.join(self.filter_rule() for _ in range(self.random.randint(1, 4))), newline="")
                words.append(f"--filter={self.random.choice(('merge', '.'))} {file}")
            elif choice < 0.98:
                file.write_text(end.join(self.pattern() for _ in range(self.random.randint(1, 4))), newline="")
                words.append(f"--filter={self.random.choice(('merge,-', '.+', '.-', 'merge,+s', '.-r'))} {file}")
            else:
                words.append(self.random.choice(("--filter=!", "--filter=clear", "--exclude=!")))
        if self.random.random() < 0.2:
            words.append(f"--max-size={self.random.choice(('1', '99', '1K', '1KB', '1KiB', '4K'))}")
        if self.random.random() < 0.1:
            words.append(f"--min-size={self.random.choice(('1', '100', '1K'))}")
        return words

    def named(self) -> str:
        """A line for --files-from."""
        path = self.path()
        return self.random.choice(("", "", "", "/", "./", "b/../", "../", ".//")) + path + self.random.choice(
            ("", "", "", "/", "/.", "//"))


class AsRsync(CopyTest):
    """The same options for both; what arrives must be the same."""

    def setUp(self):
        super().setUp()
        self.tree = self.memory / "tree"
        self.ours, self.theirs = self.memory / "ours", self.memory / "theirs"

    def run_both(self, recursive: tuple, options: list, source: str, stdin: bytes = b"") -> tuple[int, int]:
        statuses = []
        for program, target in (((RDCP, *recursive), self.ours), (("rsync", "-a", *recursive), self.theirs)):
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir()
            done = subprocess.run([*program, *options, source, f"{target}/"], input=stdin, capture_output=True,
                                  check=False, timeout=60)
            statuses.append(done.returncode)
            self.said = done.stderr
        return statuses[0], statuses[1]

    def assert_both_same(self, recursive: tuple, options: list, source: str, stdin: bytes = b""):
        ours, theirs = self.run_both(recursive, options, source, stdin)
        described = f"seed {SEED}; {shlex.join(options)} {source}\n{stdin!r}"
        wanted_status = {RSYNC_OK: EXIT_OK, RSYNC_SYNTAX: EXIT_USAGE, RSYNC_PARTIAL: EXIT_FILES}[theirs]
        self.assertEqual(ours, wanted_status, described)
        lines = differences(snapshot(self.theirs), snapshot(self.ours), ())
        lines = [line for line in lines if not line.startswith("b'': ")]  # the target itself
        if lines:
            self.fail("\n".join((described, *lines[:20])))
        return sum(len(files) for _, _, files in os.walk(self.ours))

    def test_random_rules(self):
        print(f"RDCP_FILTER_SEED={SEED}")
        arrived = whole = empty = 0
        for number in range(TREES):
            made = Trees(SEED + number)
            self.tree = self.memory / f"tree{number}"
            made.make(self.tree)
            files = sum(len(files) for _, _, files in os.walk(self.tree))
            for _ in range(LISTS_A_TREE):
                count = self.assert_both_same(("-r",), made.options(self.memory),
                                              made.random.choice((f"{self.tree}/", f"{self.tree}/", str(self.tree))))
                arrived += 1
                whole += count == files
                empty += count == 0
            shutil.rmtree(self.tree)
        self.assertEqual(arrived, TREES * LISTS_A_TREE)
        self.assertLess(whole + empty, 0.6 * arrived, "most lists chose all or nothing, which shows little")

    def test_random_names(self):
        """--files-from. Only names that rsync finds: what it says of others is a test of its own."""
        print(f"RDCP_FILTER_SEED={SEED}")
        for number in range(TREES // 4):
            made = Trees(SEED + number)
            self.tree = self.memory / f"tree{number}"
            made.make(self.tree)
            for _ in range(LISTS_A_TREE):
                # No path goes through a symlink: rsync follows it, we do not.
                names = [made.named() for _ in range(made.random.randint(1, 8))]
                by_nul = made.random.random() < 0.3
                end = b"\0" if by_nul else made.random.choice((b"\n", b"\r\n"))
                stdin = b"".join(name.encode() + end for name in names)
                options = ["--files-from=-", *(["-0"] if by_nul else [])]
                if made.random.random() < 0.3:
                    options += [f"--exclude={made.pattern()}"]
                self.assert_both_same(("-r",) if made.random.random() < 0.4 else (), options,
                                      made.random.choice((str(self.tree), f"{self.tree}/")), stdin)
            shutil.rmtree(self.tree)


class Selection(CopyTest):
    def setUp(self):
        super().setUp()
        self.tree = self.disk / "tree"
        for path in ("top", "d/f", "d/e/g", "d/e/h", "x/y/z"):
            (self.tree / path).parent.mkdir(parents=True, exist_ok=True)
            (self.tree / path).write_text(path)
        (self.tree / "link").symlink_to("d")

    def arrived(self) -> list[str]:
        return paths_beneath(self.target)

    def test_rules_go_to_a_remote_source(self):
        self.copy("-r", "--include=d/", "--exclude=/*", f"dest:{self.tree}/", self.target)
        self.assertEqual(self.arrived(), ["d", "d/e", "d/e/g", "d/e/h", "d/f"])

    def test_the_order_on_the_command_line_counts(self):
        self.copy("-r", "--exclude=d", "--include=d", f"{self.tree}/", self.target)
        self.assertEqual(self.arrived(), ["link", "top", "x", "x/y", "x/y/z"])
        self.copy("-r", "--include=d", "--exclude=d", f"{self.tree}/", self.target)
        self.assertIn("d", self.arrived())

    def test_files_given_one_by_one_are_excluded_too(self):
        self.copy("--exclude=top", self.tree / "top", self.tree / "d" / "f", self.target)
        self.assertEqual(self.arrived(), ["f"])

    @needs_root
    def test_an_excluded_directory_is_not_even_opened(self):
        """By a user who could not: without the rule that is an error."""
        (self.tree / "locked").mkdir(mode=0o700)
        self.disk.chmod(0o755)
        self.memory.chmod(0o755)
        os.chown(self.target, 65534, 65534)

        def status(*words) -> int:
            as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", RDCP, *words]
            return subprocess.run(as_nobody, capture_output=True, timeout=60, check=False).returncode
        self.assertEqual(status("-r", f"{self.tree}/", self.target / "all"), EXIT_FILES)
        self.assertEqual(status("-r", "--exclude=locked", f"{self.tree}/", self.target / "some"), EXIT_OK)
        self.assertFalse((self.target / "some/locked").exists())

    def test_a_mistake_in_a_rule_names_the_rule(self):
        self.fails(EXIT_USAGE, "-r", "--filter=nonsense x", self.tree, self.target, says=("--filter", "nonsense x"))
        self.fails(EXIT_USAGE, "-r", "--filter=: .rsync-filter", self.tree, self.target, says=("dir-merge",))

    def test_a_mistake_in_a_file_names_its_line_and_not_what_it_holds(self):
        rules = self.disk / "rules"
        rules.write_text("# first\n\n- ok\r\ns3cret word\n")
        done = self.fails(EXIT_USAGE, "-r", f"--filter=merge {rules}", self.tree, self.target,
                          says=(f"line 4 of {rules}",))
        self.assertNotIn("s3cret", done.err)
        self.assertEqual(self.arrived(), [])

    def test_files_of_rules_that_name_each_other_end(self):
        rules = self.disk / "rules"
        rules.write_text(f". {rules}\n")
        self.fails(EXIT_USAGE, "-r", f"--filter=. {rules}", self.tree, self.target, says=("circle",))

    def test_neither_devices_nor_directories_are_read(self):
        for path in ("/dev/zero", self.disk):
            self.fails(EXIT_USAGE, "-r", "--exclude-from", path, self.tree, self.target, says=("neither a regular file",))
        self.fails(EXIT_USAGE, "-r", "--exclude-from", "none", self.tree, self.target, says=("open none",))

    @needs_root
    def test_root_follows_no_link_of_somebody_else(self):
        (self.disk / "rules").write_text("d\n")
        link = self.disk / "link"
        link.symlink_to("rules")
        self.copy("-r", "--exclude-from", link, f"{self.tree}/", self.target)
        self.assertNotIn("d", self.arrived())
        os.lchown(link, 65534, 65534)
        self.fails(EXIT_USAGE, "-r", "--exclude-from", link, self.tree, self.target, says=("another user",))
        folder = self.disk / "folder"
        folder.symlink_to(self.disk)
        os.lchown(folder, 65534, 65534)
        self.fails(EXIT_USAGE, "-r", "--files-from", folder / "rules", self.tree, self.target, says=("another user",))

    def test_lists_come_from_wherever_a_shell_has_them(self):
        self.copy("-r", "--exclude-from=/dev/null", f"{self.tree}/", self.target)
        everything = self.arrived()
        for word in ("<(printf 'top\\n')", "/dev/stdin <<< top", "<(echo top) --exclude-from <(echo nothing)"):
            with self.subTest(word):
                target = self.disk / "listed"
                target.mkdir()
                command = shlex.join(self.command("-r", f"{self.tree}/", f"{target}")) + f" --exclude-from {word}"
                done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(set(everything) - {str(p.relative_to(target)) for p in target.rglob("*")}, {"top"})
                shutil.rmtree(target)
        self.fails(EXIT_USAGE, "-r", "--exclude-from=/dev/stdin", "--include-from=-", self.tree, self.target,
                   says=("standard input can be read for one option only",))

    def test_a_fifo_that_nobody_writes_to_ends_with_a_signal(self):
        fifo = self.disk / "fifo"
        os.mkfifo(fifo)
        running = self.start("-r", "--exclude-from", fifo, self.tree, self.target)
        self.assertTrue(wait_for(lambda: os.path.realpath(fifo) in held_by(running.pid).values()))
        running.process.send_signal(signal.SIGINT)
        self.assertEqual(running.finish(20).status, 128 + signal.SIGINT)

    def test_missing_names_are_told_and_the_rest_is_copied(self):
        names = b"top\nnope/a\nnope/b\ntop/x\nd/e/g\nx/nope\nnope\x1b\n"
        done = self.fails(EXIT_FILES, "--files-from=-", self.tree, self.target, stdin=names,
                          says=("tree/nope/a: No such file", "tree/nope/b: No such", "tree/top/x: Not a directory",
                                "tree/x/nope: No such"))
        self.assertNotIn("\x1b", done.err)
        self.assertEqual(self.arrived(), ["d", "d/e", "d/e/g", "top"])

    def test_names_lead_through_no_symlink(self):
        self.fails(EXIT_FILES, "--files-from=-", self.tree, self.target, stdin=b"link/f\n",
                   says=("tree/link/f: a symbolic link",))
        self.assertEqual(self.arrived(), [])
        self.copy("--files-from=-", self.tree, self.target, stdin=b"link\n")
        self.assertTrue((self.target / "link").is_symlink())

    def test_names_do_not_leave_the_source(self):
        (self.disk / "outside").write_text("outside")
        self.fails(EXIT_FILES, "--files-from=-", self.tree, self.target, stdin=b"../outside\nd/../../outside\n")
        self.assertEqual(self.arrived(), [])

    def test_what_is_before_the_cut_does_not_count(self):
        for source in (self.tree, f"{self.tree}/", f"dest:{self.tree}"):
            with self.subTest(source):
                self.copy("--files-from=-", source, self.target, stdin=b"d/./e/g\n./d/./f\n//d/./\n")
                self.assertEqual(self.arrived(), ["e", "e/g", "f"])
                shutil.rmtree(self.target)
                self.target.mkdir()
        for names, why in ((b"d/./f\ntop\n", "line 2 of -: has its /./ elsewhere"), (b"top\nd/./f\n", "line 2 of -: has its /./"),
                           (b"d/../../x/./f\n", "line 1 of -: has a .. before its /./")):
            self.fails(EXIT_USAGE, "--files-from=-", self.tree, self.target, stdin=names, says=(why,))

    def test_parents_have_their_metadata_and_an_existing_target_keeps_its_own(self):
        os.chmod(self.tree / "d", 0o751)
        os.utime(self.tree / "d", ns=(7, 7))
        os.chmod(self.target, 0o703)
        self.copy("--files-from=-", self.tree, self.target, stdin=b"d/e/g\n")
        self.assertEqual((self.target / "d").stat().st_mode & 0o7777, 0o751)
        self.assertEqual((self.target / "d").stat().st_mtime_ns, 7)
        self.assertEqual(self.target.stat().st_mode & 0o7777, 0o703)
        self.copy("--files-from=-", self.tree, self.target / "new", stdin=b"d/e/g\n")
        self.assertEqual((self.target / "new").stat().st_mode, self.tree.stat().st_mode)

    def test_a_long_list_goes_to_a_remote_source(self):
        many = self.tree / "many"
        many.mkdir()
        names = [f"many/{'n' * 100}{i:05}" for i in range(25_000)]  # 2.7 MB: several messages
        for name in names[::50]:
            (self.tree / name).touch()
        done = self.fails(EXIT_FILES, "--files-from=-", f"dest:{self.tree}", self.target, timeout=120,
                          stdin="\n".join(names).encode())
        self.assertEqual(len(self.arrived()), 1 + len(names) // 50)
        self.assertEqual(done.err.count("No such file"), len(names) - len(names) // 50)

    def test_what_makes_no_sense_together(self):
        for words in (("--files-from=-", "a", "b", self.target), ("--exclude=x", "-", self.target),
                      ("--max-size=1", self.tree / "top", "-"),
                      ("--files-from=-", "--exclude-from=-", self.tree, self.target)):
            self.fails(EXIT_USAGE, *words)

    @needs_root
    def test_one_file_system(self):
        mounted = self.tree / "d" / "e"
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=700", "none", mounted], check=True)
        self.addCleanup(subprocess.run, ["umount", mounted], check=True)
        (mounted / "other").touch()
        self.copy("-r", f"{self.tree}/", self.target / "all")
        self.copy("-rx", f"{self.tree}/", self.target / "one")
        self.assertTrue((self.target / "all/d/e/other").exists())
        self.assertEqual(os.listdir(self.target / "one/d/e"), [])
        self.assertEqual((self.target / "one/d/e").stat().st_mode & 0o777, 0o700)
        self.assertEqual((self.target / "one/d/f").read_text(), "d/f")
        subprocess.run(["rsync", "-ax", f"{self.tree}/", self.target / "rsync"], check=True)
        self.assertEqual(paths_beneath(self.target / "one"), paths_beneath(self.target / "rsync"))


if __name__ == "__main__":
    unittest.main()
