"""Somebody between two ends of TCP connections: keeps what goes by, and changes it where he is told to."""

import socket
import struct
import threading


class Meddler:
    """Listens on self.port of 127.0.0.1 and passes all connections on to `port` there, a number or what gives one.

    change: (connection, to_listener, at): that byte of the connection with this index (in the order in which they
    begin to speak) in that direction gets another last bit. seen: all bytes of all connections, both ways.
    reset: (connection, to_listener, after, listener): after so many bytes of that connection in that direction, its end
    which listens, or the one that connects, is reset; the other end is held open, and what it sends is swallowed."""

    def __init__(self, port, change: tuple | None = None, reset: tuple | None = None):
        self.to, self.change, self.reset = port, change, reset
        self.changed = self.was_reset = False
        self._seen, self._connections, self._lock = [], 0, threading.Lock()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listening.close()

    @property
    def seen(self) -> bytes:
        with self._lock:
            return b"".join(bytes(part) for part in self._seen)

    def _accept(self):
        while True:
            try:
                near, _ = self._listening.accept()
                far = socket.create_connection(("127.0.0.1", self.to() if callable(self.to) else self.to))
            except OSError:
                return
            threading.Thread(target=self._serve, args=(near, far), daemon=True).start()

    def _serve(self, near, far):
        if not near.recv(1, socket.MSG_PEEK):  # a knock, which says nothing
            near.close()
            far.close()
            return
        with self._lock:
            index, self._connections = self._connections, self._connections + 1
        threads = []
        for from_, to, to_listener in ((near, far, True), (far, near, False)):
            with self._lock:
                self._seen.append(bytearray())
                seen = self._seen[-1]
            threads.append(threading.Thread(target=self._carry, args=(from_, to, index, to_listener, seen), daemon=True))
            threads[-1].start()
        for thread in threads:
            thread.join()
        near.close()
        far.close()

    def _carry(self, from_, to, index: int, to_listener: bool, seen: bytearray):
        try:
            while data := from_.recv(1 << 16):
                if self.change and self.change[:2] == (index, to_listener):
                    at = self.change[2] - len(seen)
                    if 0 <= at < len(data):
                        data = data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]
                        self.changed = True
                with self._lock:
                    seen += data
                if self._resets(index, to_listener, len(seen)):
                    self._reset_one(to if self.reset[3] == to_listener else from_)
                elif not self._is_reset(index):
                    to.sendall(data)
            if not self._is_reset(index):
                to.shutdown(socket.SHUT_WR)
        except OSError:
            if self._is_reset(index):
                return
            for end in (from_, to):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def _is_reset(self, index: int) -> bool:
        return self.was_reset and self.reset[0] == index

    def _resets(self, index: int, to_listener: bool, carried: int) -> bool:
        if self.was_reset or self.reset is None or self.reset[:2] != (index, to_listener) or carried <= self.reset[2]:
            return False
        self.was_reset = True
        return True

    @staticmethod
    def _reset_one(end):
        """Whoever reads from it is woken first, or its descriptor would not be closed."""
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        end.shutdown(socket.SHUT_RD)
        end.close()
