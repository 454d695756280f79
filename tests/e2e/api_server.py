"""As much of a Kubernetes API server as the real `kubectl exec` asks for: it knows the pods, which are hosts of a fleet, and
runs commands in them over a WebSocket (v5.channel.k8s.io, from kubectl 1.31 on)."""

import base64
import contextlib
import hashlib
import http.server
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import threading
import urllib.parse
from pathlib import Path

from fleet import Fleet

STDIN, STDOUT, STDERR, ERROR, CLOSE = 0, 1, 2, 3, 255
BINARY, END, PING, PONG = 2, 8, 9, 10
DEFAULT_CONTAINER = "only"
CONTAINERS = (DEFAULT_CONTAINER,)
PROTOCOL = "v5.channel.k8s.io"
PODS = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "v1", "resources": [
    {"name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": ["get", "list"], "shortNames": ["po"]}]}


class WebSocket:
    """RFC 6455, a server's side. Whole messages; sends may come from several threads."""

    def __init__(self, stream, connection: socket.socket, key: str):
        self.stream, self.connection = stream, connection
        self.lock = threading.Lock()
        accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
        connection.sendall(("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            f"Sec-WebSocket-Accept: {accept}\r\nSec-WebSocket-Protocol: {PROTOCOL}\r\n\r\n").encode())

    def receive(self) -> bytes | None:
        """The next binary message; None at the end."""
        whole = b""
        while True:
            head = self.stream.read(2)
            if len(head) < 2:
                return None
            last, kind, length = head[0] & 0x80, head[0] & 0x0f, head[1] & 0x7f
            if length >= 126:
                length = int.from_bytes(self.stream.read(2 if length == 126 else 8), "big")
            mask = self.stream.read(4)
            masked = self.stream.read(length)
            size = len(masked)
            key = int.from_bytes((mask * (size // 4 + 1))[:size], "big")
            data = (int.from_bytes(masked, "big") ^ key).to_bytes(size, "big")
            if kind == END:
                return None
            if kind == PING:
                self.send(data, PONG)
                continue
            whole += data
            if last:
                return whole

    def send(self, data: bytes, kind: int = BINARY):
        size = len(data)
        if size < 126:
            length = bytes([size])
        else:
            length = b"\x7e" + struct.pack(">H", size) if size < 65536 else b"\x7f" + struct.pack(">Q", size)
        with self.lock, contextlib.suppress(OSError):  # the other side may be gone
            self.connection.sendall(bytes([0x80 | kind]) + length + data)


def status_of(code: int) -> dict:
    """How the API server tells a command's exit status, which is 128 + N where signal N has ended it."""
    code = code if code >= 0 else 128 - code
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    return {"metadata": {}, "status": "Failure", "reason": "NonZeroExitCode",
            "message": f"command terminated with non-zero exit code: exit status {code}",
            "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Nothing is printed."""

    def answer(self, body: dict, status: int = 200):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        words = url.path.strip("/").split("/")
        if url.path == "/api":
            self.answer({"kind": "APIVersions", "versions": ["v1"]})
        elif url.path == "/apis":
            self.answer({"kind": "APIGroupList", "apiVersion": "v1", "groups": []})
        elif url.path == "/api/v1":
            self.answer(PODS)
        elif words[:3] == ["api", "v1", "namespaces"] and words[4:5] == ["pods"] and words[5] in self.server.pods:
            self.pod(words[3], words[5], words[6:], urllib.parse.parse_qs(url.query))
        else:
            name = words[-1]
            self.answer({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404,
                         "message": f'pods "{name}" not found', "details": {"name": name, "kind": "pods"}}, 404)

    def pod(self, namespace: str, name: str, rest: list[str], query: dict):
        if rest == ["exec"]:
            container = query["container"][0]
            self.server.calls.append(f"{namespace}/{name}/{'' if container == DEFAULT_CONTAINER else container}")
            self.run(name, query)
            return
        self.answer({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name, "namespace": namespace},
                     "spec": {"containers": [{"name": container, "image": "none"} for container in CONTAINERS]}, "status": {"phase": "Running"}})

    def run(self, name: str, query: dict):
        """The command's words come one by one, and nothing splits them."""
        self.close_connection = True
        if PROTOCOL not in self.headers.get("Sec-WebSocket-Protocol", ""):
            self.answer({"kind": "Status", "status": "Failure", "code": 400, "message": "no such protocol"}, 400)
            return
        host, home = self.server.pods[name]
        websocket = WebSocket(self.rfile, self.connection, self.headers["Sec-WebSocket-Key"])
        process = subprocess.Popen([*host.inside, "env", "-i", "PATH=/usr/bin:/bin", f"HOME={home}", *query["command"]],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        senders = [threading.Thread(target=self.pass_on, args=(websocket, channel, pipe))
                   for channel, pipe in ((STDOUT, process.stdout), (STDERR, process.stderr))]
        receiver = threading.Thread(target=self.feed, args=(websocket, process.stdin))
        for thread in (*senders, receiver):
            thread.start()
        for thread in senders:
            thread.join()
        websocket.send(bytes([ERROR]) + json.dumps(status_of(process.wait())).encode())
        websocket.send(struct.pack(">H", 1000), END)
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        receiver.join()
        for pipe in (process.stdout, process.stderr):
            pipe.close()

    @staticmethod
    def pass_on(websocket: WebSocket, channel: int, pipe):
        while data := os.read(pipe.fileno(), 32768):
            websocket.send(bytes([channel]) + data)

    @staticmethod
    def feed(websocket: WebSocket, pipe):
        """The command's input ends with that of kubectl, or with kubectl."""
        with contextlib.suppress(OSError):
            while (message := websocket.receive()) is not None and message != bytes([CLOSE, STDIN]):
                left = memoryview(message)[1:]
                while message[0] == STDIN and left:
                    left = left[pipe.write(left):]
        pipe.close()


def why_no_kubectl() -> str:
    """Empty if a real kubectl is here that speaks this server's protocol."""
    if shutil.which("kubectl") is None:
        return "no kubectl here"
    words = ["kubectl", "version", "--client", "--output=json"]
    said = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout
    version = json.loads(said)["clientVersion"]
    found = int(version["major"]), int(re.match(r"\d+", version["minor"]).group())
    return "" if found >= (1, 31) else f"this kubectl is {found[0]}.{found[1]}; from 1.31 on it speaks over WebSockets"


class ApiServer:
    """Use as a context manager. `folder`: empty, the caller's to remove. Pod number N is the fleet's host N, with a HOME in
    `homes`. `env`: what has a kubectl talk to this server."""

    def __init__(self, folder: Path, fleet: Fleet, pods: list[str]):
        self.folder = Path(folder)
        self.homes = self.folder / "homes"
        self.config = self.folder / "config"
        # kubectl has a cache in the home directory.
        self.env = {**os.environ, "HOME": str(self.folder), "KUBECONFIG": str(self.config)}
        for pod in pods:
            (self.homes / pod).mkdir(parents=True)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.calls = []
        self.server.pods = {pod: (host, self.homes / pod) for pod, host in zip(pods, fleet.hosts, strict=True)}
        self.thread = threading.Thread(target=self.server.serve_forever)

    def __enter__(self) -> "ApiServer":
        at = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.config.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": at}}], "users": [{"name": "test", "user": {}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}]}))
        self.thread.start()
        return self

    def calls(self) -> list[str]:
        """What was run so far, each as NAMESPACE/POD/CONTAINER."""
        return list(self.server.calls)

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
