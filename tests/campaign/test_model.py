"""The campaign notices: trees that are made up, and programs that lie, must each be reported."""

import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

import model  # noqa: E402
import processes  # noqa: E402
import workplace  # noqa: E402
from harness import MEMORY, RDCP, preloaded  # noqa: E402
from faults import ERRORS, Fault, draw_fault  # noqa: E402
from model import Rules, judge_stderr, judge_success, judge_unfinished  # noqa: E402
from page import ACTIONS, ROLES, Page  # noqa: E402
from point import Point  # noqa: E402
from scenario import draw_scenario  # noqa: E402
from snapshot import Facts  # noqa: E402
from workplace import Workplace  # noqa: E402

OWN = b".rdcp-0123456789abcdef0123456789abcdef.part"


def file(content: str, mtime: int = 1, **more) -> Facts:
    return Facts("file", more.pop("mode", 0o644), 0, 0, mtime, size=len(content), content=content, **more)


def folder(mtime: int = 1, mode: int = 0o755) -> Facts:
    return Facts("directory", mode, 0, 0, mtime)


class Unfinished(unittest.TestCase):
    """A run that did not end with 0, over: an old file, an extra, and nothing where a new file is to be."""

    def setUp(self):
        self.old = {b"": folder(5), b"file": file("old"), b"extra": file("extra"), b"link": Facts("symlink", 0o777, 0, 0, 1,
                                                                                                  link_target=b"a")}
        self.final = {**self.old, b"": folder(9), b"file": file("new!", 2), b"fresh": file("fresh", 3), b"sub": folder(4),
                      b"sub/deep": file("deep", 5), b"link": Facts("symlink", 0o777, 0, 0, 1, link_target=b"b")}
        self.found = copy.deepcopy(self.old)

    def complaints(self, **rules) -> list[str]:
        return judge_unfinished(self.old, self.final, self.found, Rules(**rules))

    def assert_reported(self, name: bytes, words: str, **rules):
        lines = self.complaints(**rules)
        self.assertEqual(len(lines), 1, lines)
        self.assertIn(repr(name), lines[0])
        self.assertIn(words, lines[0])

    def test_nothing_done_and_all_done_are_right(self):
        self.assertEqual(self.complaints(), [])
        self.found = copy.deepcopy(self.final)
        self.assertEqual(self.complaints(), [])

    def test_half_done_is_right(self):
        self.found |= {b"": folder(7), b"fresh": self.final[b"fresh"], b"sub": folder(123, 0o700), b"link": self.final[b"link"]}
        self.assertEqual(self.complaints(), [])

    def test_a_torn_file(self):
        self.found[b"file"] = file("new")
        self.assert_reported(b"file", "is torn")

    def test_a_torn_new_file(self):
        self.found[b"fresh"] = file("fre", 3)
        self.assert_reported(b"fresh", "is torn")

    def test_a_mixture_is_right_only_in_place(self):
        self.found[b"file"] = file("newd")
        self.assertEqual(self.complaints(in_place=True), [])
        self.assert_reported(b"file", "is torn")

    def test_a_whole_file_without_its_metadata(self):
        for wrong in (file("new!", 1), file("new!", 2, mode=0o600), file("new!", 2, xattrs={"user.a": b"b"})):
            self.found[b"file"] = wrong
            self.assert_reported(b"file", "lacks metadata")

    def test_metadata_may_be_missing_where_stderr_names_the_file(self):
        self.found[b"fresh"] = file("fresh", 99)
        lines = "rdcp: keep the {} of /tmp/dst/{}: Read-only file system\n"
        for what, name, complaints in (("modification times", "fresh", 0), ("owner or group", "fresh", 1),
                                       ("modification times", "fish", 1)):
            found = judge_unfinished(self.old, self.final, self.found, Rules(), lines.format(what, name))
            self.assertEqual(len(found), complaints, found)

    def test_what_stderr_says_of_others_makes_nothing_wrong(self):
        name = b"new\nline"  # which a line of stderr may stand for in more ways than one
        self.old[name] = self.found[name] = Facts("symlink", 0o777, 0, 0, 1, link_target=b"c")
        self.final[name] = file("new!", 2)
        lines = "rdcp: keep the modification times of /tmp/dst: Input/output error\n"
        self.assertEqual(judge_unfinished(self.old, self.final, self.found, Rules(), lines), [])

    def test_a_lost_file(self):
        del self.found[b"file"]
        self.assert_reported(b"file", "was lost")

    def test_a_lost_extra(self):
        del self.found[b"extra"]
        self.assert_reported(b"extra", "was lost")

    def test_an_extra_that_was_changed(self):
        self.found[b"extra"] = file("extra", 2)
        self.assert_reported(b"extra", "neither old nor new")
        del self.final[b"extra"]
        self.assert_reported(b"extra", "was changed", deletes=True)

    def test_an_extra_that_was_deleted_too_early(self):
        del self.final[b"extra"]
        del self.found[b"extra"]
        self.assert_reported(b"extra", "is not there yet", deletes=True)
        self.found = copy.deepcopy(self.final)
        self.assertEqual(self.complaints(deletes=True), [])

    def test_a_name_from_nowhere(self):
        self.found[b"strange"] = file("x")
        self.assert_reported(b"strange", "appeared")

    def test_a_link_to_somewhere_else(self):
        self.found[b"link"] = Facts("symlink", 0o777, 0, 0, 1, link_target=b"c")
        self.assert_reported(b"link", "neither old nor new")

    def test_metadata_that_nobody_asked_for(self):
        self.final[b"file"] = file("old", 2, mode=0o600)
        self.found[b"file"] = file("old", 2)
        self.assertEqual(self.complaints(), [])
        self.found[b"file"] = file("old", 3)
        self.assert_reported(b"file", "neither old nor new")

    def test_litter_is_known_and_is_no_file_of_the_user(self):
        self.found |= {OWN: file("part"), b"sub": folder(), b"sub/.file.rdcp-0a1b2c3d": file("n")}
        self.assertEqual(self.complaints(), [])
        self.assertEqual(model.litter_in(self.old, self.final, self.found), [OWN, b"sub/.file.rdcp-0a1b2c3d"])
        self.old[OWN] = self.found[OWN]
        self.assertEqual(model.litter_in(self.old, self.final, self.found), [b"sub/.file.rdcp-0a1b2c3d"])


class Success(unittest.TestCase):
    def setUp(self):
        self.final = {b"": folder(), b"file": file("new", mode=0o4755), b"node": Facts("char device", 0o600, 0, 0, 1, device=259)}
        self.found = copy.deepcopy(self.final)

    def complaints(self, err: str = "", loss_allowed: bool = False, **rules) -> list[str]:
        return judge_success(self.final, self.found, err, Rules(**rules), loss_allowed)

    def test_the_same_tree_is_right(self):
        self.assertEqual(self.complaints(), [])

    def test_a_missing_file(self):
        del self.found[b"file"]
        self.assertEqual(len(self.complaints()), 1)

    def test_litter_counts(self):
        self.found[OWN] = file("part")
        self.assertEqual(len(self.complaints()), 1)

    def test_metadata_counts_unless_a_warning_says_it_is_lost(self):
        self.found[b"file"].uid = 7
        warning = "rdcp: warning: not kept: owner or group (1 entry; first file: Operation not permitted)\n"
        self.assertEqual(len(self.complaints()), 1)
        self.assertEqual(len(self.complaints(warning)), 1)
        self.assertEqual(self.complaints(warning, True), [])
        self.found[b"file"].mtime_ns = 8
        self.assertEqual(len(self.complaints(warning, True)), 1)

    def test_a_device_may_be_missing_only_if_it_is_said(self):
        del self.found[b"node"]
        warning = "rdcp: warning: not kept: device nodes (1 entry; first node: Operation not permitted)\n"
        self.assertEqual(len(self.complaints(loss_allowed=True)), 1)
        self.assertEqual(self.complaints(warning, True), [])

    def test_stderr(self):
        self.assertEqual(judge_stderr(1, "rdcp: open /a/b: Permission denied\n", ["/a"]), [])
        self.assertEqual(len(judge_stderr(1, "rdcp: something went wrong\n", ["/a"])), 1)
        self.assertEqual(len(judge_stderr(4, "", ["/a"])), 1)
        self.assertEqual(judge_stderr(-9, "", ["/a"]), [])


class Drawing(unittest.TestCase):
    COUNTS = {(role, call): 9 for role in ("near", "target") for call in ("any", *ERRORS)}

    def test_the_same_seed_is_the_same_point(self):
        for seed in range(50):
            self.assertEqual(draw_scenario(seed), draw_scenario(seed))
            one, other = (draw_fault(random.Random(seed), self.COUNTS, False) for _ in range(2))
            self.assertEqual(one, other)
            if one.is_in_calls:
                self.assertIn(one.nth, range(1, 10))

    def test_the_page_is_laid_out_as_the_library_has_it(self):
        """A program of the real build that counts, and the signal that it is told to send to itself."""
        with tempfile.TemporaryDirectory() as folder:
            page = Page(Path(folder) / "page")
            environment = {**os.environ, **preloaded("fault", RDCP_CAMPAIGN_PAGE=page.path, RDCP_CAMPAIGN_ROLE="near")}
            words = [RDCP, "-r", f"{folder}/nothing", f"{folder}/to"]
            done = subprocess.run(words, env=environment, capture_output=True, check=False)
            self.assertEqual(done.returncode, 1, done)
            counts = page.counts()
            self.assertGreater(counts["near", "any"], 10)
            self.assertGreater(counts["near", "thread"], 0)
            page.order("near", "any", "signal", 5, 1, 9)
            self.assertEqual(subprocess.run(words, env=environment, capture_output=True, check=False).returncode, -9)
            self.assertEqual(page.outcome()[0], 1)
            page.order("source", "any", "signal", 5, 1, 9)
            self.assertEqual(subprocess.run(words, env=environment, capture_output=True, check=False).returncode, 1)
            self.assertEqual(page.outcome()[0], 0)

    def test_each_fault_can_be_told(self):
        for role in ROLES:
            for action in ACTIONS[1:]:
                self.assertIn(role, str(Fault("", role, "read", action, 1, -1, 9)))


@unittest.skipUnless(sys.platform == "linux" and os.geteuid() == 0, "needs root: the trees have device nodes and owners")
class LyingPrograms(unittest.TestCase):
    """In place of rdcp: a script that copies like `cp -a`, and does one thing wrong."""

    SCRIPT = """#!/bin/sh
for word; do source=$target target=$word; done
[ "$1" = --clean ] && {{ {clean}; exit 0; }}
cp -aT "$source" "$target"
{wrong}
exit 0
"""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="rdcp-campaign-test-", dir=MEMORY))
        self.addCleanup(shutil.rmtree, self.folder)

    def verdict(self, wrong: str, clean: str = ":"):
        """Of the first point that copies a tree from here to here into nothing."""
        build = self.folder / "build"
        build.mkdir()
        (build / "rdcp").write_text(self.SCRIPT.format(wrong=wrong, clean=clean))
        (build / "rdcp").chmod(0o755)
        (self.folder / "shared").mkdir()
        place = Workplace(self.folder / "job", self.folder / "shared", [build])
        seed = 0
        while True:
            point = Point(place, seed, None)
            drawn = point.scenario
            if (drawn.kind, drawn.source_is_far, drawn.target_is_far, drawn.before) == ("tree", False, False, "nothing"):
                break
            seed += 1
        point.dry_run(place.facts[place.source(drawn)])
        return "\n".join(point.verdict.complaints)

    def test_an_honest_copy(self):
        self.assertEqual(self.verdict(":"), "")

    def test_a_file_is_missing(self):
        self.assertIn("'medium' is missing", self.verdict('rm "$target/medium"'))

    def test_a_byte_is_wrong(self):
        wrong = ('printf x | dd of="$target/medium" bs=1 seek=7 conv=notrunc 2>/dev/null; '
                 'touch -r "$source/medium" "$target/medium"')
        self.assertIn("content", self.verdict(wrong))

    def test_something_outside(self):
        self.assertIn("beside DST", self.verdict('echo more >> "$target/../outside/file"'))

    def test_litter(self):
        self.assertIn("should not be there", self.verdict(f'touch "$target/{OWN.decode()}"'))

    def test_a_status(self):
        self.assertIn("ends with 3", self.verdict("exit 3"))

    def test_a_process_that_lives_on(self):
        self.addCleanup(setattr, workplace, "GRACE", workplace.GRACE)
        workplace.GRACE = 0.3
        processes.adopt_orphans()
        self.assertIn("lives on", self.verdict("(exec sleep 60) &"))


if __name__ == "__main__":
    unittest.main()
