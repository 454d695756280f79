"""Streams that are added to a copy that takes long, and what becomes of it."""

import signal
import unittest

from harness import CHUNK, EXIT_OK, CopyTest, connections_of, local_agent, wait_for

CHUNKS = 1500


class AddedStreams(CopyTest):
    """Both sides are held to a rate that more streams do not change, so they are tried, and rest again."""

    def start_slowly(self, *words):
        return self.start("--bwlimit", "4M", "--chunk-size", "64K", *words)

    def check_added(self, source: str, target: str):
        file = self.make_file(self.source / "file", CHUNKS * CHUNK + 17)
        running = self.start_slowly(f"{source}{file}", f"{target}{self.target / 'file'}")
        connections = lambda: len(connections_of(local_agent(running.pid)))
        self.assertTrue(wait_for(lambda: connections() >= 2, 30), running.where())
        first = connections()
        self.assertTrue(wait_for(lambda: connections() > first, 60), f"still {first}; {running.where()}")
        running.process.terminate()
        done = running.finish(30)
        self.assertEqual(done.status, 128 + signal.SIGTERM, done)
        # The part that has come over all of them is what it should be.
        self.copy("--chunk-size", "64K", f"{source}{file}", f"{target}{self.target / 'file'}")
        self.assert_same_file(file, self.target / "file")

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
        done = self.start_slowly("-v", file, f"dest:{self.target / 'file'}").finish(90)
        self.assertEqual(done.status, EXIT_OK, done)
        self.assertRegex(done.err, r"more streams than \d+ were not faster|\d+ streams were faster than \d+")
        self.assert_same_file(file, self.target / "file")


if __name__ == "__main__":
    unittest.main()
