"""--encrypt: nothing shows on the wire. In a network of its own, so that only these copies are heard."""

import socket
import threading
import unittest

from harness import TRANSPORT, CopyTest, needs_root

from network import own_network, why_no_network  # in scripts/lib, as harness has it
from test_encryption import CONTENT, NAME, make_tree


def setUpModule():
    if why := why_no_network("true"):
        raise unittest.SkipTest(why)
    unittest.enterModuleContext(own_network())


class Listener:
    """All that goes over the loopback device while it lives, as root may see it."""

    def __enter__(self):
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))  # ETH_P_ALL
        self._socket.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
        self._socket.bind(("lo", 0))
        self._socket.settimeout(0.2)
        self._over = False
        self._parts = []
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()
        return self

    def _listen(self):
        while True:
            try:
                self._parts.append(self._socket.recv(1 << 17))
            except TimeoutError:  # all is quiet
                if self._over:
                    return

    def __exit__(self, *_):
        self._over = True
        self._thread.join()
        self._socket.close()
        self.seen = b"".join(self._parts)


class Wiretap(CopyTest):
    def listen(self, *options):
        with Listener() as listener:
            self.copy("-r", "--transport", "tcp", *options, self.tree_, f"dest:{self.target}/{len(options)}")
            self.copy("-r", "--transport", "tcp", *options, f"dest:{self.tree_}", f"{self.target}/back{len(options)}")
        self.assert_same_tree(self.tree_, self.target / str(len(options)))
        return listener.seen

    @needs_root
    def test_neither_names_nor_content_show(self):
        if TRANSPORT:
            self.skipTest("listens to TCP")
        self.tree_ = make_tree(self.source)
        plain = self.listen()
        self.assertIn(NAME.encode(), plain)
        self.assertIn(CONTENT, plain)
        for options in (("--encrypt",), ("--encrypt", "--compress=1")):
            sealed = self.listen(*options)
            self.assertGreater(len(sealed), 10_000)
            for text in (NAME.encode(), CONTENT, b"RDFR", b"ustar"):
                self.assertNotIn(text, sealed, options)


if __name__ == "__main__":
    unittest.main()
