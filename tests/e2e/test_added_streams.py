"""Streams that are added to a copy that takes long, and what becomes of it."""

import os
import re
import signal
import unittest

from harness import CHUNK, EXIT_OK, CopyTest, Finished, Running, connections_of, local_agent, wait_for

CHUNKS = 2400
TRIES = 5


def first_streams() -> int:
    """How many streams a copy over a short path has at first (choose_data_path())."""
    return min(max(len(os.sched_getaffinity(0)), 2), 8)


def streams_of(running: Running) -> int:
    return len(connections_of(local_agent(running.pid)))


class AddedStreams(CopyTest):
    """Both sides are held to a rate that more streams do not change, so they are tried, and rest again."""

    def start_slowly(self, *words) -> Running:
        return self.start("--bwlimit", "4M", "--chunk-size", "64K", *words)

    def over_a_short_path(self, copy):
        """What copy() returns, which is nothing where a starved machine took over 10 ms to answer: such a path looks long,
        gets more streams at once, and their chunks take all the memory there is for them. Then it begins again."""
        for _ in range(TRIES):
            if (made := copy()) is not None:
                return made
        self.skipTest(f"in {TRIES} copies this machine was so busy that its loopback looked like a long path")

    def start_with_few(self, target, *words) -> Running | None:
        running = self.start_slowly(*words)
        self.assertTrue(wait_for(lambda: self.has_data(target), 30), running.where())
        if streams_of(running) <= first_streams() * 3 // 2:
            return running
        running.process.terminate()
        running.finish(30)
        return None

    def finish_with_few(self, *words) -> Finished | None:
        done = self.start_slowly("-v", *words).finish(90)
        self.assertEqual(done.status, EXIT_OK, done)
        count = re.search(r"^rdcp: (\d+) streams", done.err, re.MULTILINE)
        return done if int(count[1]) <= 2 * first_streams() else None

    def has_data(self, target) -> bool:
        return any(each.stat().st_blocks > 0 for each in target.parent.glob(".rdcp-*.part"))

    def check_added(self, source: str, target: str):
        file = self.make_file(self.source / "file", CHUNKS * CHUNK + 17)
        copied = self.target / "file"
        running = self.over_a_short_path(lambda: self.start_with_few(copied, f"{source}{file}", f"{target}{copied}"))
        more = wait_for(lambda: streams_of(running) > first_streams(), 60)
        self.assertTrue(more, f"still {streams_of(running)}; {running.where()}")
        running.process.terminate()
        done = running.finish(30)
        self.assertEqual(done.status, 128 + signal.SIGTERM, done)
        # The part that has come over all of them is what it should be.
        self.copy("--chunk-size", "64K", f"{source}{file}", f"{target}{copied}")
        self.assert_same_file(file, copied)

    def test_where_the_source_connects(self):
        self.check_added("", "dest:")

    def test_where_the_target_connects(self):
        self.check_added("dest:", "")

    def test_none_where_their_number_is_fixed(self):
        file = self.make_file(self.source / "file", 160 * CHUNK)
        done = self.start_slowly("--streams", "2", "-v", file, f"dest:{self.target / 'file'}").finish(60)
        self.assertEqual(done.status, EXIT_OK, done)
        self.assertNotIn("streams than", done.err)
        self.assert_same_file(file, self.target / "file")

    def test_what_came_of_it_is_told(self):
        file = self.make_file(self.source / "file", 600 * CHUNK)
        copied = self.target / "file"
        done = self.over_a_short_path(lambda: self.finish_with_few(file, f"dest:{copied}"))
        self.assertRegex(done.err, r"more streams than \d+ were not faster|\d+ streams were faster than \d+")
        self.assert_same_file(file, copied)


if __name__ == "__main__":
    unittest.main()
