"""Something on the way takes the connections to the other host's data port itself, as some firewalls do, and nothing goes the
other way. So a knock is answered, and then nothing comes through."""

import contextlib
import json
import socket
import struct
import subprocess
import unittest
from concurrent.futures import ThreadPoolExecutor

from harness import EXIT_DATA, EXIT_OK

from network import FAR, second_network, set_firewall  # in scripts/lib, as harness has it
from test_any_network import SSH_PORT, NetworkTest


class AnsweredInItsPlace(NetworkTest):
    BOX = 9999

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        address, cls.inside = cls.enterClassContext(second_network())
        cls.sshd = cls.sshd_in(address, cls.inside)
        set_firewall(cls.inside, SSH_PORT, outward=("meta l4proto tcp drop",))
        rules = f"""table ip box {{
 chain out {{
  type nat hook output priority -100
  ip daddr {FAR} tcp dport != {SSH_PORT} redirect to :{cls.BOX}
 }}
}}
"""
        subprocess.run(["nft", "-f", "-"], input=rules, text=True, check=True)

    @contextlib.contextmanager
    def box(self, take):
        """take: what it does with each connection, which it closes afterwards."""
        with socket.create_server(("", self.BOX), backlog=100) as listener, ThreadPoolExecutor() as pool:
            def serve():
                with contextlib.suppress(OSError):
                    while True:
                        connection, _ = listener.accept()
                        pool.submit(self.end_one, connection, take)
            serving = pool.submit(serve)
            try:
                yield
            finally:
                listener.shutdown(socket.SHUT_RDWR)
                serving.result()

    @staticmethod
    def end_one(connection: socket.socket, take):
        with connection, contextlib.suppress(OSError):
            connection.settimeout(60)
            take(connection)

    @staticmethod
    def reset(connection: socket.socket):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    @staticmethod
    def hear(connection: socket.socket):
        """A knock says nothing, so it has been answered."""
        connection.recv(1)

    @staticmethod
    def hear_all(connection: socket.socket):
        while connection.recv(1 << 16):
            pass

    def assert_through_ssh(self, said: str):
        self.assertIn("although a port there answered: a firewall may answer in its place", said)
        self.assertNotIn(" over tcp ", said)

    def test_it_resets_them(self):
        """Some before the knock has been heard to be answered, and then it was not."""
        with self.box(self.reset):
            said = self.there_and_back()
        self.assertEqual(said.count("rdcp: the data goes through ssh, which is slower"), 2, said)
        self.assertNotIn(" over tcp ", said)

    def test_it_closes_them(self):
        with self.box(self.hear):
            said = self.there_and_back()
        self.assert_through_ssh(said)
        self.assertEqual(said.count("rdcp: the data goes through ssh, which is slower"), 2, said)

    def test_it_says_nothing(self):
        with self.box(self.hear_all):
            done = self.copy("-r", "-v", f"{self.tree}/", f"dest:{self.target}/there")
        self.assert_through_ssh(done.err)
        self.assert_same_tree(self.tree, self.target / "there")

    def assert_no_other_try(self, *options, stdin=None):
        with self.box(self.hear):
            done = self.start(*options, f"dest:{self.target}/there", stdin=stdin).finish(100)
        self.assertEqual(done.status, EXIT_DATA, done)
        self.assertNotIn("through ssh", done.err)
        self.assertFalse((self.target / "there").exists())

    def test_where_ssh_must_not_carry_it(self):
        self.assert_no_other_try("--no-ssh-data", "-r", self.tree)

    def test_where_nobody_could_tell_that_nothing_came_through(self):
        self.assert_no_other_try("--retry-time=0", "-r", self.tree)

    def test_what_is_read_once_is_not_copied_again(self):
        self.assert_no_other_try("-", stdin=subprocess.DEVNULL)

    def test_json_tells_of_both_tries(self):
        with self.box(self.hear):
            done = self.copy("--json=events", "-r", f"{self.tree}/", f"dest:{self.target}/there")
        lines = [json.loads(line) for line in done.out.splitlines()]
        self.assertEqual([line["after_seconds"] for line in lines if line.get("event") == "retry"], [0], done)
        self.assertEqual(lines[-1]["status"], EXIT_OK, done)


del NetworkTest  # its module has it


if __name__ == "__main__":
    unittest.main()
