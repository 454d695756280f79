"""ssh that asks its user something: once for each host, and never two at once."""

import shutil
import tempfile
import unittest
from pathlib import Path

from harness import BUILD, EXIT_HOST, CopyTest, LocalSshd

RDPIPE = BUILD / "rdpipe"


class LoginsTest(CopyTest):
    SECONDS = 0.5

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = Path(tempfile.mkdtemp(prefix="rdcp-logins-"))
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.sshd = cls.enterClassContext(LocalSshd(folder))

    def setUp(self):
        super().setUp()
        self.environment, self.asked = self.key_with_a_passphrase(self.SECONDS)
        self.file = self.make_file(self.source / "file", 100_000)
        self.key = ["-i", self.disk / "key"]

    def times_asked(self) -> str:
        text = self.asked.read_text()
        self.asked.unlink()
        return text


class Logins(LoginsTest):
    def test_one_host(self):
        self.copy(*self.key, self.file, f"dest:{self.target}/there", env=self.environment)
        self.assertEqual(self.times_asked(), "asked\n")

    def test_two_hosts(self):
        there, back = f"dest:{self.file}", f"other:{self.target}/copy"
        self.copy(*self.key, there, back, env=self.environment)
        self.assertEqual(self.times_asked(), 2 * "asked\n")
        self.copy(*self.key, "--check", there, back, env=self.environment)
        self.assertEqual(self.times_asked(), 2 * "asked\n")

    def test_a_pipeline(self):
        command = self.command  # of CopyTest; rdpipe takes the same options
        self.command = lambda *words: [RDPIPE, *command(*words)[1:]]
        done = self.rdcp(*self.key, f"dest:cat {self.file}", "other:wc -c", "dest:cat", env=self.environment)
        self.assertEqual((done.status, done.out), (0, b"100000\n"), done)
        self.assertEqual(self.times_asked(), 3 * "asked\n")

    def test_where_the_first_lets_nobody_in_the_second_does_not_ask(self):
        for words in ((), ("--check",)):
            done = self.rdcp(*self.key, *words, f"nowhere.invalid:{self.file}", f"other:{self.target}/copy",
                             env=self.environment)
            self.assertEqual(done.status, EXIT_HOST, done)
            self.assertFalse(self.asked.exists(), done)


class SlowLogins(LoginsTest):
    SECONDS = 12  # for one prompt; a host that is late by ten seconds is not waited for

    def test_whose_user_still_types_is_not_late(self):
        shutil.copy2(self.file, self.target / "there")
        for words in (["--check", self.file, f"dest,other:{self.target}/there"], ["--doctor", "dest,other"]):
            with self.subTest(words):
                done = self.rdcp(*self.key, *words, env=self.environment)
                self.assertEqual(self.times_asked(), 2 * "asked\n")
                self.assertNotIn("no answer", done.err + done.out.decode())


if __name__ == "__main__":
    unittest.main()
