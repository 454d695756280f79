"""--check: what differs is named, what is alike is not, and nothing is written anywhere."""

import errno
import json
import os
import random
import re
import shlex
import shutil
import signal
import struct
import subprocess
import unittest
from pathlib import Path

from every_kind import PARTS
from harness import (EXIT_DATA, EXIT_FILES, EXIT_OK, EXIT_USAGE, KIB, MIB, RDCP, REPO, CopyTest, Running, is_root,
                     needs_root)


def flip_bit(path: Path, offset: int):
    """One bit, and nothing else: size and times stay."""
    status = path.stat()
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 0x10]))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


class CheckTest(CopyTest):
    def setUp(self):
        super().setUp()
        self.tree, self.other = self.source / "tree", self.disk / "other"

    def check(self, *words, **options) -> list[str]:
        """The lines of a check, sorted; its status fits them, and it says nothing else."""
        done = self.rdcp("--check", *words, **options)
        lines = sorted(done.out.decode("utf-8", "surrogateescape").splitlines())
        self.assertEqual(done.status, EXIT_FILES if lines else EXIT_OK, f"{lines} {done}")
        self.assertEqual(done.err, "")
        return lines

    LARGE = f"f{70 * MIB + 123}"  # compared in pieces

    def make_pair(self, large: bool = False):
        (self.tree / "dir/deep").mkdir(parents=True)
        for size in (0, 1, 63, 64, 65, 4096, 100 * KIB, MIB, MIB + 1, 3 * MIB + 5):
            self.make_file(self.tree / f"f{size}", size, seed=size + 1)
        if large:
            self.make_file(self.tree / self.LARGE, 70 * MIB + 123)
        for i in range(300):
            self.make_file(self.tree / f"dir/deep/s{i}", i * 7, seed=i)
        (self.tree / "dir/link").symlink_to("deep/s1")
        with open(self.tree / "sparse", "wb") as file:
            file.truncate(20 * MIB)
            file.seek(10 * MIB)
            file.write(b"in the middle")
        subprocess.run(["cp", "-a", "--sparse=always", self.tree, self.other], check=True)


    def make_every_kind(self):
        self.tree.mkdir()
        for name, make in PARTS.items():
            make(self.tree / name)


class Pair(CheckTest):
    def test_what_is_alike(self):
        self.make_pair()
        for source, target in ((self.tree, self.other), (f"dest:{self.tree}", self.other),
                               (self.tree, f"dest:{self.other}"), (f"dest:{self.tree}/", f"other:{self.other}/")):
            self.assertEqual(self.check("-r", "--metadata", source, target), [])

    def test_one_flipped_bit(self):
        self.make_pair(large=True)
        rng = random.Random(11)
        names = ("f1", "f65", "f4096", f"f{100 * KIB}", f"f{MIB}", f"f{MIB + 1}", self.LARGE, "sparse",
                 "dir/deep/s299")
        for name in names:
            path = self.other / name
            size = path.stat().st_size
            for offset in {0, size - 1, rng.randrange(size)}:
                with self.subTest(file=name, offset=offset):
                    flip_bit(path, offset)
                    self.assertEqual(self.check(self.tree / name, path), [f"content   .: first at offset {offset}"])
                    flip_bit(path, offset)
            flip_bit(path, size // 2)
        wanted = [f"content   {name}: first at offset {(self.other / name).stat().st_size // 2}" for name in names]
        self.assertEqual(self.check("--metadata", self.tree, f"dest:{self.other}"), sorted(wanted))
        self.assertEqual(self.check("--quick", self.tree, self.other), [])

    def test_the_first_of_several_places(self):
        self.make_pair(large=True)
        for offset in (5 * MIB + 77, 69 * MIB, 6 * MIB):
            flip_bit(self.other / self.LARGE, offset)
        self.assertEqual(self.check(f"dest:{self.tree}", self.other),
                         [f"content   {self.LARGE}: first at offset {5 * MIB + 77}"])

    def test_past_the_page_cache(self):
        self.make_pair()
        flip_bit(self.other / "sparse", 15 * MIB)
        for mode in ("bypass", "keep"):
            self.assertEqual(self.check("--cache", mode, self.tree, self.other),
                             [f"content   sparse: first at offset {15 * MIB}"])

    def test_every_kind_of_difference(self):
        self.make_pair()
        (self.tree / "was-file").write_bytes(b"x")
        (self.other / "was-file").mkdir()
        self.make_file(self.other / "was-file/in", 10)
        (self.tree / "was-dir/in").mkdir(parents=True)
        (self.other / "was-dir").write_bytes(b"x")
        (self.tree / "gone/in/here").mkdir(parents=True)
        self.make_file(self.tree / "gone.x", 10)
        (self.other / "dir/more").mkdir()
        self.make_file(self.other / "dir/more/x", 10)
        self.make_file(self.other / "dir/deep/s1a", 10)
        (self.other / "dir/link").unlink()
        (self.other / "dir/link").symlink_to("deep/s2")
        os.truncate(self.other / "f4096", 4095)
        (self.tree / "odd\n\x1b[m\\name").write_bytes(b"a")
        (self.other / "odd\n\x1b[m\\name").write_bytes(b"b")
        (self.tree / os.fsdecode(b"not-utf8-\xff")).write_bytes(b"a")
        wanted = sorted(["type      was-file: file, directory", "type      was-dir: directory, file",
                         "missing   gone/", "missing   gone.x", "extra     dir/more/", "extra     dir/deep/s1a",
                         "content   dir/link", "size      f4096: 4096, 4095", "missing   not-utf8-\\xff",
                         "content   odd\\n\\x1b[m\\\\name: first at offset 0"])
        for target in (self.other, f"dest:{self.other}"):
            self.assertEqual(self.check(self.tree, target), wanted)
        done = self.rdcp("--check", "--json", self.tree, self.other)
        *found, last = [json.loads(line) for line in done.out.splitlines()]
        self.assertEqual(len(found), len(wanted))
        self.assertEqual((last["status"], last["differences"], last["errors"]), (1, len(wanted), []))
        self.assertIn({"difference": "type", "path": "was-file", "source": "file", "target": "directory"}, found)
        self.assertIn({"difference": "content", "path": "odd\\n\\x1b[m\\\\name", "offset": 0}, found)

    def test_metadata(self):
        self.make_pair()
        os.chmod(self.other / "f1", 0o600)
        os.utime(self.other / "f64", ns=(0, 1_000_000_007))
        os.setxattr(self.other / "f65", "user.x", b"y")
        shutil.copystat(self.tree, self.other)
        wanted = ["metadata  f1: mode 0644, 0600", "metadata  f65: extended attributes or ACL"]
        if is_root:
            os.chown(self.other / "f63", 54321, 54322)
            wanted += ["metadata  f63: owner root, 54321", "metadata  f63: group root, 54322"]
        lines = self.check("--metadata", self.tree, self.other)
        times = [line for line in lines if line.startswith("metadata  f64: mtime ")]
        self.assertEqual(sorted(set(lines) - set(times)), sorted(wanted))
        self.assertEqual(len(times), 1)
        self.assertTrue(times[0].endswith(", 1.000000007"), times)
        self.assertEqual(self.check("--quick", self.tree, self.other), times)
        self.assertEqual(self.check(self.tree, self.other), [])

    def test_files_alone(self):
        self.tree.mkdir()
        self.other.mkdir()
        one, two = self.make_file(self.tree / "one", 100), self.make_file(self.other / "one", 100)
        self.assertEqual(self.check(one, two), [])
        self.assertEqual(self.check(one, f"dest:{self.other}"), [])
        flip_bit(two, 42)
        self.assertEqual(self.check(f"dest:{one}", self.other), ["content   .: first at offset 42"])
        self.assertEqual(self.check(self.tree, two), ["type      .: directory, file"])

    def test_what_is_not_there(self):
        self.tree.mkdir()
        for words in ((self.disk / "nowhere", self.tree), (self.tree, f"dest:{self.disk}/nowhere")):
            self.fails(EXIT_FILES, "--check", *words, says=("No such file or directory",))
        for words in (("--quick", "a", "b"), ("--check", "-", "b"), ("--check", "a", "b", "c"), ("--check", "a"),
                      ("--check", "--verify", "a", "b"), ("--check", "--manifest", "m", "a", "b"),
                      ("--check", "--manifest", "m", "--sums", "s", "a")):
            self.fails(EXIT_USAGE, *words)

    @needs_root  # who may read every kind
    def test_every_kind_of_entry(self):
        self.make_every_kind()
        self.copy("-r", f"{self.tree}/", f"dest:{self.other}")
        self.assertEqual(self.check("--metadata", self.tree, f"dest:{self.other}"), [])

    @unittest.skipIf(is_root, "root may read everything")
    def test_what_cannot_be_read(self):
        self.make_pair()
        os.chmod(self.other / "f64", 0)
        self.fails(EXIT_FILES, "--check", self.tree, self.other, says=("f64", "Permission denied"))

    def test_what_cannot_be_listed_is_no_difference(self):
        self.make_pair()
        (self.other / "f64").unlink()
        for folder in (self.tree, self.other):
            with self.subTest(folder):
                done = self.fails(EXIT_FILES, "--check", self.tree, self.other, says=("dir/deep: Input/output error",),
                                  env=self.failing("readdir", f"{folder}/dir/deep", errno.EIO))
                self.assertEqual(done.out, b"missing   f64\n", done)

    def test_deep_and_wide(self):
        for top in (self.tree, self.other):
            deep = top
            for _ in range(150):
                deep = deep / "d"
            deep.mkdir(parents=True)
            (deep / "end").write_bytes(b"x")
            wide = top / "wide"
            wide.mkdir()
            for i in range(9000):
                (wide / f"f{i}").write_bytes(b"%d" % i)
        (self.other / "wide/f8999").write_bytes(b"0000")
        (self.other / ("d/" * 150) / "end").write_bytes(b"y")
        self.assertEqual(self.check(f"dest:{self.tree}", self.other),
                         [f"content   {'d/' * 150}end: first at offset 0", "content   wide/f8999: first at offset 0"])


class NothingIsWritten(CheckTest):
    def snapshot(self):
        return {path: (path.lstat().st_mtime_ns, path.lstat().st_atime_ns, path.lstat().st_ctime_ns)
                for top in (self.tree, self.other) for path in (top, *sorted(top.rglob("*")))}

    def test_no_time_moves(self):
        self.make_pair()
        flip_bit(self.other / "f4096", 5)
        for top in (self.tree, self.other):
            for path in top.rglob("*"):  # so old that a read would move it (relatime)
                os.utime(path, ns=(1, 2), follow_symlinks=False)
            os.utime(top, ns=(1, 2))
        links = {top / "dir/link" for top in (self.tree, self.other)}  # there is no readlink without atime
        before = self.snapshot()
        for words in ((), ("--metadata",), ("--cache", "bypass")):
            self.check(*words, self.tree, f"dest:{self.other}")
        after = self.snapshot()
        moved = {path for path in before if before[path] != after[path]}
        self.assertLessEqual(moved, links)

    @needs_root
    def test_on_read_only_mounts(self):
        self.make_pair()
        mounted = self.disk / "mounted"
        mounted.mkdir()
        done = subprocess.run(["mount", "--bind", self.other, mounted], capture_output=True, check=False)
        if done.returncode != 0:
            self.skipTest("no mounts here")
        self.addCleanup(subprocess.run, ["umount", "-l", mounted], check=False)
        subprocess.run(["mount", "-o", "remount,bind,ro", mounted], check=True)
        self.assertEqual(self.check("--metadata", self.tree, mounted), [])


class HostileAgent(CheckTest):
    """An agent that says what no agent says: the check ends with an error, and shows nothing of it as a difference."""

    AGENT = """#!/usr/bin/env python3
import json, struct, sys
case = json.load(open({case!r}))
def say(kind, body):
    sys.stdout.buffer.write(struct.pack("<BI", kind, len(body)) + body)
    sys.stdout.buffer.flush()
sys.stdout.buffer.write(bytes.fromhex(case["hello"]))
sys.stdout.buffer.flush()
sys.stdin.buffer.read(14)
job = b""
while header := sys.stdin.buffer.read(5):
    kind, length = struct.unpack("<BI", header)
    body = sys.stdin.buffer.read(length)
    if kind == case["list_job"]:
        job = body[:4]
    if kind == case["list_more"] and case["pages"]:
        say(case["listed"], job + bytes.fromhex(case["pages"].pop(0)))
    if kind == case["sum_ask"]:
        say(case["sum_told"], bytes.fromhex(case["told"]) if case["told"] else body[:4] + bytes.fromhex(case["found"]))
"""

    @staticmethod
    def text(data: bytes) -> bytes:
        return struct.pack("<I", len(data)) + data

    def entry(self, path: bytes, kind: int = 0, size: int = 0) -> bytes:
        return (bytes([kind]) + self.text(path) + struct.pack("<III", 0o644, 0, 0) + self.text(b"") * 2 +
                struct.pack("<qIQ", 0, 0, size) + self.text(b"") + struct.pack("<Q", 0) + bytes(16) + bytes(1 + 16))

    def page(self, *entries: bytes, over: int = 1) -> bytes:
        return struct.pack("<I", len(entries)) + b"".join(entries) + bytes([over])

    def hello(self) -> bytes:
        """What a real agent begins with: greeting and hello."""
        said = subprocess.run([RDCP, "--agent"], stdin=subprocess.DEVNULL, capture_output=True, check=False).stdout
        return said[:14 + 5 + struct.unpack_from("<I", said, 15)[0]]

    def run_case(self, pages: list[bytes], told: bytes = b"", found: bytes = b""):
        names = re.search(r"enum class MessageType[^{]*\{([^}]*)\}", (REPO / "src/tree/messages/message_type.h").read_text())[1]
        numbers = {name.split()[0]: 1 + at for at, name in enumerate(names.replace("= 1", "").split(",")) if name.strip()}
        case = {"hello": self.hello().hex(), "pages": [page.hex() for page in pages], "told": told.hex(),
                "found": found.hex()} | {name: numbers[name] for name in ("list_job", "list_more", "listed", "sum_ask",
                                                                         "sum_told")}
        (self.disk / "case").write_text(json.dumps(case))
        script = self.disk / "agent"
        script.write_text(self.AGENT.format(case=str(self.disk / "case")))
        script.chmod(0o755)
        return Running([RDCP, "--rsh", script, "--check", self.tree, "far:tree"]).finish(30)

    def setUp(self):
        super().setUp()
        self.tree.mkdir()
        self.make_file(self.tree / "f", 5)
        self.make_file(self.tree / "large", 3 * MIB)

    def test_an_honest_one(self):
        done = self.run_case([self.page(self.entry(b"", 1), over=0), self.page(self.entry(b"f", 0, 6))])
        self.assertEqual((done.status, sorted(done.out.split(b"\n"))), (EXIT_FILES, [b"", b"missing   large",
                                                                                    b"size      f: 5, 6"]), done)

    def test_lists(self):
        top = self.entry(b"", 1)
        for page in (self.page(self.entry(b"f")), self.page(top, self.entry(b"b"), self.entry(b"a")),
                     self.page(top, self.entry(b"a"), self.entry(b"a")), self.page(top, self.entry(b"../x")),
                     self.page(top, self.entry(b"/x")), self.page(top, self.entry(b"a//b")), self.page(top, top),
                     self.page(top, self.entry(b"a", 200)), self.page(top, self.entry(b"a\0b")), self.page(top)[:-1],
                     b"\xff" * 40, b"", self.page(top, over=2)):
            with self.subTest(page=page):
                done = self.run_case([page])
                self.assertEqual(done.status, EXIT_DATA, done)
                self.assertNotIn(b"extra", done.out)

    def test_answers(self):
        pages = [self.page(self.entry(b"", 1), self.entry(b"f", 0, 5), self.entry(b"large", 0, 3 * MIB))]
        for told in (struct.pack("<II", 999, 0), b"", b"\0" * 3, struct.pack("<II", 1, 1 << 31)):
            with self.subTest(told=told):
                self.assertEqual(self.run_case(pages, told or b"\0").status, EXIT_DATA)
        self.assertEqual(self.run_case(pages, found=struct.pack("<I", 0)).status, EXIT_DATA)

        def found(state: int, kind: int, size: int, digests: int) -> bytes:
            return bytes([state, kind]) + struct.pack("<QqI", size, 0, 0) + struct.pack("<I", digests) + bytes(16) * digests
        for large in (found(0, 0, 3 * MIB, 0), found(0, 0, 3 * MIB, 70), found(9, 200, 1, 1), found(1, 0, 0, 0)):
            for small in (found(0, 0, 5, 0), found(0, 0, 5, 90), found(1, 0, 0, 0)):
                done = self.run_case(pages, found=struct.pack("<I", 2) + small + large)
                self.assertIn(done.status, (EXIT_FILES, EXIT_DATA), done)


class Lists(CheckTest):
    def sums_of(self, tree: Path) -> dict[str, str]:
        """By xxh128sum, name by name, so that no name can confuse it."""
        found = {}
        for path in sorted(tree.rglob("*")):
            if path.is_file() and not path.is_symlink():
                with open(path, "rb") as file:
                    words = subprocess.run(["xxh128sum"], stdin=file, capture_output=True, check=True).stdout.split()
                found[str(path.relative_to(tree))] = words[0].decode()
        return found

    def copy_with_lists(self, *words):
        self.manifest, self.sums = self.disk / "list.manifest", self.disk / "list.sums"
        return self.copy("-r", "--manifest", self.manifest, "--sums", self.sums, *words)

    def test_a_dry_run_leaves_them(self):
        self.make_pair()
        self.copy_with_lists(f"{self.tree}/", f"dest:{self.disk}/remote")
        before = [path.read_bytes() for path in (self.manifest, self.sums)]
        self.copy_with_lists("-n", f"{self.tree}/", f"dest:{self.disk}/another")
        self.assertEqual([path.read_bytes() for path in (self.manifest, self.sums)], before)

    def test_xxh128sum_agrees_with_us(self):
        self.make_pair()
        os.link(self.tree / "f4096", self.tree / "hard")
        os.link(self.tree / f"f{3 * MIB + 5}", self.tree / "dir/large-hard")
        (self.tree / "back\\slash").write_bytes(b"b")
        (self.tree / " blanks  in it ").write_bytes(b"c")
        for name, target in (("remote", f"dest:{self.disk}/remote"), ("local", self.disk / "local")):
            self.copy_with_lists(f"{self.tree}/", target)
            to = self.disk / name
            done = subprocess.run(["xxh128sum", "-c", "--quiet", self.sums], cwd=to, capture_output=True, text=True,
                                  check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            ours = dict(reversed(line.split("  ", 1)) for line in self.sums.read_text().splitlines())
            self.assertEqual(ours, self.sums_of(self.tree))
            flip_bit(to / "dir/deep/s200", 7)
            done = subprocess.run(["xxh128sum", "-c", self.sums], cwd=to, capture_output=True, text=True, check=False)
            self.assertIn("dir/deep/s200: FAILED", done.stdout)

    def test_we_agree_with_xxh128sum(self):
        self.make_pair()
        (self.other / "back\\slash").write_bytes(b"b")
        names = sorted(str(path.relative_to(self.other)) for path in self.other.rglob("*")
                       if path.is_file() and not path.is_symlink())
        sums = self.disk / "sums"
        with open(sums, "wb") as file:
            subprocess.run(["xxh128sum", *names], cwd=self.other, stdout=file, check=True)
        for place in (self.other, f"dest:{self.other}"):
            self.assertEqual(self.check("--sums", sums, place), [])
        (self.other / "extra").write_bytes(b"x")  # a list of sums need not be complete
        flip_bit(self.other / "f4096", 1)
        flip_bit(self.other / "sparse", 15 * MIB)
        (self.other / "f65").unlink()
        wanted = ["content   f4096", "content   sparse", "missing   f65"]
        for place in (self.other, f"dest:{self.other}"):
            self.assertEqual(self.check("--sums", sums, place), wanted)

    def test_what_nothing_can_be_read_of_is_not_equal(self):
        self.make_pair()
        self.copy_with_lists(f"{self.tree}/", self.disk / "third")
        for name in ("f4096", f"f{3 * MIB + 5}"):
            unreadable = {"env": self.failing("pread", f"/{name}", 0)}
            for words in (("--sums", self.sums), ("--manifest", self.manifest)):
                with self.subTest(name, words=words):
                    self.assertEqual(self.check(*words, self.other, **unreadable), [f"content   {name}"])
            with self.subTest(name, words="trees"):
                [line] = self.check(f"{self.tree}/", self.other, **unreadable)
                self.assertRegex(line, f"^content   {name}(: .*)?$")

    def test_escaped_names(self):
        self.tree.mkdir()
        (self.tree / "new\nline\\").write_bytes(b"a")
        self.copy_with_lists(f"{self.tree}/", self.other)
        digest = subprocess.run(["xxh128sum"], input=b"a", capture_output=True, check=True).stdout[:32]
        self.assertEqual(self.sums.read_bytes(), b"\\" + digest + b"  new\\nline\\\\\n")
        self.assertEqual(self.check("--sums", self.sums, self.other), [])
        self.assertEqual(self.check("--manifest", self.manifest, self.other), [])
        flip_bit(self.other / "new\nline\\", 0)
        self.assertEqual(self.check("--sums", self.sums, self.other), ["content   new\\nline\\\\"])

    @needs_root  # who may read every kind
    def test_a_manifest_of_every_kind(self):
        self.make_every_kind()
        for landing in ("new", "there"):
            to = self.disk / landing
            if landing == "there":
                to.mkdir()
            self.copy_with_lists(self.tree, f"dest:{to}")
            self.assertEqual(self.check("--metadata", "--manifest", self.manifest, f"dest:{to}"), [])

    def test_what_a_manifest_finds(self):
        self.make_pair(large=True)
        shutil.rmtree(self.other)
        self.copy_with_lists("--verify", f"{self.tree}/", f"dest:{self.other}")
        self.assertEqual(self.check("--metadata", "--manifest", self.manifest, self.other), [])
        flip_bit(self.other / self.LARGE, 9)
        flip_bit(self.other / "dir/deep/s5", 9)
        os.truncate(self.other / "f64", 63)
        (self.other / "f65").unlink()
        (self.other / "dir/deep/s6").unlink()
        (self.other / "dir/deep/s6").mkdir()
        (self.other / "more/in").mkdir(parents=True)
        (self.other / "dir/link").unlink()
        (self.other / "dir/link").symlink_to("elsewhere")
        os.utime(self.other / "f1", ns=(0, 5))
        wanted = sorted([f"content   {self.LARGE}", "content   dir/deep/s5", "size      f64: 64, 63",
                         "missing   f65", "type      dir/deep/s6: file, directory", "extra     more/",
                         "content   dir/link"])
        for place in (self.other, f"dest:{self.other}"):
            self.assertEqual(self.check("--manifest", self.manifest, place), wanted)
        quick = self.check("--quick", "--manifest", self.manifest, self.other)
        self.assertNotIn("content   dir/deep/s5", quick)
        self.assertTrue([line for line in quick if line.startswith("metadata  f1: mtime")], quick)

    def test_lists_that_make_no_sense(self):
        self.other.mkdir()
        secret = "root:secret"
        digest, time = "0" * 32, "1.000000000"
        head = "rdcp-manifest 1\n"
        cases = {"manifest": (secret, head + secret, head + f"f 1 {time} {digest} ../up", head + f"f 1 {time} - x",
                              head + f"f -1 {time} {digest} x", head + f"f 1 1.5 {digest} x",
                              head + f"x 1 {time} {digest} x", head + f"f 1 {time} {digest} /abs",
                              head + f"f 1 {time} {digest} a\\q", head + "f" * 20_000, head + f"f 1 {time} {digest} "),
                 "sums": (secret, f"{digest} x", f"{digest}  ../up", f"{digest}  /abs", f"\\{digest}  a\\", "0" * 20_000)}
        file = self.disk / "list"
        for kind, texts in cases.items():
            for text in texts:
                with self.subTest(kind=kind, text=text[:60]):
                    file.write_text(text + "\n")
                    done = self.fails(EXIT_FILES, "--check", f"--{kind}", file, self.other, says=(str(file),))
                    self.assertNotIn(secret, done.err + done.out.decode())
        for place in (self.disk, "/dev/zero"):
            self.fails(EXIT_FILES, "--check", "--manifest", place, self.other, says=("not a regular file",))

    def test_a_signal_ends_the_wait_for_a_list(self):
        self.other.mkdir()
        os.mkfifo(self.disk / "list")
        running = self.start("--check", "--manifest", self.disk / "list", self.other)
        writer = os.open(self.disk / "list", os.O_WRONLY)  # waits until it is read
        self.addCleanup(os.close, writer)
        running.process.terminate()
        done = running.finish(20)
        self.assertEqual(done.status, 128 + signal.SIGTERM, done)

    @needs_root
    def test_nobody_leads_root_to_another_list(self):
        self.other.mkdir()
        real = self.disk / "real"
        real.write_text("rdcp-manifest 1\n")
        theirs = self.disk / "theirs"
        theirs.symlink_to(real)
        self.assertEqual(self.check("--manifest", theirs, self.other), [])
        os.chown(theirs, 54321, 54321, follow_symlinks=False)
        self.fails(EXIT_FILES, "--check", "--manifest", theirs, self.other, says=("belongs to another user",))

    def test_a_list_comes_through_a_pipe(self):
        self.make_pair()
        shutil.rmtree(self.other)
        self.copy_with_lists(f"{self.tree}/", f"dest:{self.other}")
        (self.other / "f65").unlink()
        for option, file in (("--manifest", self.manifest), ("--sums", self.sums)):
            for name in ("-", "/dev/stdin"):
                done = self.rdcp("--check", option, name, f"dest:{self.other}", stdin=file.read_bytes())
                self.assertEqual((done.status, os.fsdecode(done.out).split()[:2]), (EXIT_FILES, ["missing", "f65"]), done)
            words = [os.fspath(word) for word in self.command("--check", option, "LIST", self.other)]
            script = shlex.join(words).replace("LIST", f"<(cat {shlex.quote(str(file))})")
            done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stdout.split()[:2]), (EXIT_FILES, ["missing", "f65"]), done)
        for text, says in ((b"", "is not a manifest"), (b"rdcp-manifest 1\nnonsense\n", "line 2")):
            done = self.rdcp("--check", "--manifest", "-", self.other, stdin=text)
            self.assertEqual(done.status, EXIT_FILES, done)
            self.assertIn(says, done.err)
        self.assertEqual(self.rdcp("--check", "--sums", "-", self.other, stdin=b"").status, 0)

    def test_a_list_comes_whole_or_not_at_all(self):
        self.make_pair()
        shutil.rmtree(self.other)
        manifest = self.disk / "m"
        manifest.write_text("old")
        self.fails(EXIT_FILES, "-r", "--manifest", manifest, f"{self.tree}/", f"dest:{self.disk}/no/such/place")
        self.assert_no_litter(self.disk)
        self.fails(EXIT_FILES, "-r", "--manifest", self.disk / "no/where", self.tree, f"dest:{self.other}")
        self.assertFalse(self.other.exists())


if __name__ == "__main__":
    unittest.main()
