"""Several hosts on one machine, for a session or for commands that are to run as a README has them: each host has an
sshd, a name that ssh knows, and a home, /data, /var/tmp and /tmp of its own. A host is a chroot in a mount namespace, with
the programs of this machine read-only in it. Needs root. All of it is gone with the processes."""

import contextlib
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from sshd import LocalSshd

SHARED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "etc", "dev", "proc", "sys")
OWN = {"root": 0o700, "home": 0o755, "data": 0o755, "run/sshd": 0o755, "tmp": 0o1777, "var/tmp": 0o1777,
       "opt/rdcp": 0o755}
PROGRAMS = ("rdcp", "rdsend", "rdrecv", "rdpipe")
USERS = ("alice", "bob")  # further names of root, for commands that name users
PATH = "/opt/rdcp:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"


def _mounts(root: Path, build: Path) -> list[str]:
    """The shell commands that make a host's root, to be run in a mount namespace of its own."""
    commands = []
    for name in SHARED:
        here, there = Path("/") / name, root / name
        if here.is_symlink():
            there.symlink_to(os.readlink(here))
        elif here.is_dir():
            there.mkdir()
            commands.append(shlex.join(["mount", "--rbind", str(here), str(there)]))
            if name in ("usr", "etc"):
                commands.append(shlex.join(["mount", "-o", "remount,bind,ro", str(there)]))
    for name in PROGRAMS:
        (root / "opt/rdcp" / name).touch()
        commands.append(shlex.join(["mount", "--bind", str(build / name), str(root / "opt/rdcp" / name)]))
    for name in ("hosts", "passwd"):
        commands.append(shlex.join(["mount", "--bind", str(root / name), str(root / "etc" / name)]))
    return commands


def why_no_mounts() -> str:
    """Empty if processes may have mounts of their own, which hosts on this machine need."""
    tried = subprocess.run(["unshare", "--mount", "--propagation", "private", "true"], capture_output=True, text=True, check=False)
    return f"no mounts of one's own here ({tried.stderr.strip()})" if tried.returncode else ""


class Host:
    """One host. `folder` is its root, seen from outside."""

    def __init__(self, name: str, folder: Path, build: Path, hosts_file: str):
        self.name, self.folder = name, folder
        for path, mode in OWN.items():
            (folder / path).mkdir(parents=True)
            (folder / path).chmod(mode)
        (folder / "hosts").write_text(hosts_file)
        names = "".join(f"{user}:x:0:0::/root:/bin/bash\n" for user in ("root", *USERS))
        (folder / "passwd").write_text(names + "sshd:x:100:65534::/run/sshd:/usr/sbin/nologin\nnobody:x:65534:65534::/:/bin/sh\n")
        self._commands = _mounts(folder, build)
        self.sshd: LocalSshd | None = None

    @property
    def home(self) -> Path:
        return self.folder / "root"

    def start(self, keys: Path) -> LocalSshd:
        """An sshd in this host; `keys` is a folder outside of it, which it sees at the same path."""
        seen = self.folder / keys.relative_to("/")
        seen.mkdir(parents=True)
        inside = " && ".join([*self._commands, shlex.join(["mount", "--bind", str(keys), str(seen)]),
                              f'exec chroot {shlex.quote(str(self.folder))} env -i PATH={PATH} "$@"'])
        return HostSshd(keys, inside=["unshare", "--mount", "--propagation", "private", "bash", "-c", inside, "host"])

    def command(self, text: str) -> list[str]:
        """The words that run a shell command in this host, in its home, with nothing of our environment."""
        return ["nsenter", f"--mount=/proc/{self.sshd.pid}/ns/mnt", f"--root=/proc/{self.sshd.pid}/root", "--",
                "env", "-C", "/root", "-i", f"PATH={PATH}", "HOME=/root", "USER=root", "LANG=C.UTF-8", "TERM=xterm-256color",
                "bash", "-o", "pipefail", "-c", text]


class HostSshd(LocalSshd):
    def _write_configs(self):
        super()._write_configs()
        with open(self.folder / "sshd_config", "a") as config:
            config.write(f"SetEnv SHLVL=1 PATH={PATH}\n")
        text = (self.folder / "sshd_config").read_text().replace("SetEnv SHLVL=1\n", "", 1)
        (self.folder / "sshd_config").write_text(text)


def _remove(folder: Path):
    """Removes a stage's folder, unless a file system is mounted beneath it here: that would be removed with it."""
    if str(folder) in Path("/proc/self/mountinfo").read_text():
        raise RuntimeError(f"something is mounted beneath {folder}: it is left as it is")
    shutil.rmtree(folder)


class Stage(contextlib.ExitStack):
    """Hosts by their names, the first of which can log in to all: `with Stage(where, build, "here", "gpu7") as stage`.
    Makes a folder of its own beneath `where`, and removes it."""

    def __init__(self, where: Path, build: Path, *names: str):
        super().__init__()
        if os.geteuid() != 0:
            raise RuntimeError("hosts of their own in chroots need root")
        folder = Path(tempfile.mkdtemp(prefix="rdcp-stage-", dir=where))
        self.callback(_remove, folder)
        listed = "".join(f"127.0.0.1 {name}\n" for name in ("localhost", *names))
        self.hosts = {name: Host(name, folder / name, build, listed) for name in names}
        self.keys = folder / "keys"
        self.near = self.hosts[names[0]]

    def __enter__(self):
        super().__enter__()
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def _start(self):
        config = ""
        for name, host in self.hosts.items():
            keys = self.keys / name
            keys.mkdir(parents=True)
            host.sshd = self.enter_context(host.start(keys))
            (host.home / ".ssh").mkdir(mode=0o700)
            text = host.sshd.config.read_text().replace(str(keys), f"~/.ssh/{name}").replace("Host dest other", f"Host {name}")
            config += text.replace("HostKeyAlias rdcp", f"HostKeyAlias {name}")
            login = self.near.home / ".ssh" / name
            login.mkdir(parents=True)
            shutil.copy(keys / "client_key", login)
            (login / "known_hosts").write_text((keys / "known_hosts").read_text().replace("rdcp ", f"{name} ", 1))
        (self.near.home / ".ssh" / "config").write_text(config)
