"""An sshd of our own on a port of its own, with throw-away keys: for the demo, the tests and the benchmark alike."""

import contextlib
import os
import pwd
import shlex
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

HOST_ALIASES = "dest other"  # names that ssh_config knows; two, so that remote to remote has two hosts

# SHLVL: bash that thinks itself the first shell of a session reads ~/.bashrc, whose cost and locks are not ours.
SSHD_CONFIG = """\
Port {port}
{listen}HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PidFile none
StrictModes no
UsePAM {use_pam}
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
MaxStartups 100
MaxSessions 100
Subsystem sftp internal-sftp
SetEnv SHLVL=1
LogLevel VERBOSE
"""

SSH_CONFIG = """\
Host {aliases}
  HostName {address}
  Port {port}
  User {user}
  IdentityFile {folder}/client_key
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile {folder}/known_hosts
  GlobalKnownHostsFile /dev/null
  HostKeyAlias rdcp
  StrictHostKeyChecking yes
  ControlMaster no
  ControlPath none
  LogLevel ERROR
"""

# What ssh prefers to these, a key exchange against quantum computers, is half of what it takes to start.
QUICK_EXCHANGE = "  KexAlgorithms curve25519-sha256,ecdh-sha2-nistp256\n"


def ssh_config(quick: bool, **words) -> str:
    """One host's part of a configuration. `quick`: with key exchanges that take less time than those that ssh prefers."""
    return SSH_CONFIG.format(**words) + (QUICK_EXCHANGE if quick else "")


def children_of(pid: int) -> list[int]:
    """All living descendants of a process, parents first."""
    parents: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError, ValueError):
                stat = Path(f"/proc/{entry}/stat").read_text(errors="replace")
                fields = stat.rpartition(")")[2].split()
                if fields[0] != "Z":
                    parents.setdefault(int(fields[1]), []).append(int(entry))
    found = list(parents.get(pid, []))
    for child in found:  # grows while it is walked
        found.extend(parents.get(child, []))
    return found


def make_key(path: Path) -> str:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "rdcp throw-away key", "-f", path], check=True)
    return path.with_suffix(".pub").read_text()


def account_is_locked(user: str) -> bool:
    """Without PAM, sshd refuses accounts whose password field starts with '!'; only root can see that."""
    with contextlib.suppress(OSError):
        for line in Path("/etc/shadow").read_text().splitlines():
            name, password = line.split(":")[:2]
            if name == user:
                return password.startswith("!")
    return False


def _free_port(address: str) -> int:
    with socket.socket() as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]


class LocalSshd:
    """Use as a context manager. `folder` must exist and be empty; it is the caller's to remove.

    `inside`: a command prefix that sshd is started with, e.g. ["ip", "netns", "exec", NAME]. `also`: a second address.
    `quick`: see ssh_config(); a benchmark has what users have."""

    def __init__(self, folder: Path, address: str = "127.0.0.1", port: int = 0, inside: list[str] | None = None,
                 also: str = "", quick: bool = True):
        self.folder = Path(folder)
        self.address = address
        self.also = also
        self.port = port
        self.inside = inside or []
        self.quick = quick
        self.config = self.folder / "ssh_config"
        self.log = self.folder / "sshd.log"
        self._process: subprocess.Popen | None = None

    def __enter__(self) -> "LocalSshd":
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd's empty chroot; no init script has made it here
        self._host_key = make_key(self.folder / "host_key")
        (self.folder / "authorized_keys").write_text(make_key(self.folder / "client_key"))
        wanted_port = self.port
        for _ in range(10):  # a port that was free a moment ago may be taken by now
            self.port = wanted_port or _free_port(self.address)
            self._write_configs()
            if self._start():
                return self
        raise RuntimeError(f"sshd does not start: {self.log.read_text(errors='replace')}")

    def __exit__(self, *_):
        if self._process is None:
            return
        family = children_of(self._process.pid)
        for pid in [self._process.pid, *family]:  # sessions are in groups of their own, and outlive sshd
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        self._process = None

    def _write_configs(self):
        user = pwd.getpwuid(os.geteuid()).pw_name
        words = {"port": self.port, "address": self.address, "folder": self.folder, "user": user,
                 "aliases": HOST_ALIASES,
                 "listen": "".join(f"ListenAddress {each}\n" for each in (self.address, self.also) if each),
                 "use_pam": "yes" if account_is_locked(user) else "no"}
        (self.folder / "sshd_config").write_text(SSHD_CONFIG.format(**words))
        self.config.write_text(ssh_config(self.quick, **words))
        (self.folder / "known_hosts").write_text(f"rdcp {self._host_key}")

    def _start(self) -> bool:
        sshd = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin")
        if sshd is None:
            raise RuntimeError("no sshd here: run scripts/setup")
        command = [*self.inside, sshd, "-D", "-e", "-f", str(self.folder / "sshd_config")]
        with open(self.log, "wb") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and self._process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection((self.address, self.port), timeout=1) as peer:
                if peer.recv(4) == b"SSH-":
                    return True
            time.sleep(0.02)
        self._process.kill()
        self._process.wait()
        return False

    def restart(self):
        """Has sshd read its configuration again; sessions go on. Returns when it listens again."""
        listens = self.log.read_text(errors="replace").count("Server listening on")
        os.kill(self.pid, signal.SIGHUP)
        deadline = time.monotonic() + 10
        while self.log.read_text(errors="replace").count("Server listening on") == listens:
            if time.monotonic() > deadline:
                raise RuntimeError("sshd does not start again")
            time.sleep(0.02)

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    def descendants(self) -> list[int]:
        """Sessions of this sshd and all that they run."""
        return children_of(self.pid) if self._process else []

    def ssh(self, *options: str) -> list[str]:
        """The words of an ssh command line up to the host's name."""
        return ["ssh", "-F", str(self.config), *options]

    def ssh_text(self, *options: str) -> str:
        return shlex.join(self.ssh(*options))
