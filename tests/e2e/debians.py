"""Hosts as a new user has them: fresh Debians made by debootstrap, each in a network namespace, joined by a switch. A user
`ann` on the first, `near`, has installed rdcp's Debian package; on the others she has an sshd and nothing else."""

import contextlib
import os
import shutil
import subprocess
import tempfile
import urllib.request
from pathlib import Path

from harness import BUILD, wait_for

from network import set_firewall  # in scripts/lib, as harness has it

MIRROR = "http://deb.debian.org/debian"
NEAR = "ca-certificates"  # what it has beside Debian's minimum
RELEASES = {"far11": "bullseye", "far12": "bookworm", "far13": "trixie"}
USER = "ann"
# A folder in which systems are kept as debootstrap has made them, for the next run.
KEPT = os.environ.get("RDCP_TEST_DEBIANS")


def why_not() -> str:
    """Why such hosts cannot be made here; empty if they can."""
    if os.geteuid() != 0:
        return "only root makes hosts"
    missing = [program for program in ("debootstrap", "nft", "ip", "unshare") if not shutil.which(program)]
    if missing:
        return f"no {missing[0]}"
    if "VERSION_CODENAME=bookworm" not in Path("/etc/os-release").read_text():
        return "what is built here runs on Debian 12"
    try:
        urllib.request.urlopen(f"{MIRROR}/dists/bookworm/Release", timeout=20).close()
    except OSError as error:
        return f"{MIRROR} is out of reach: {error}"
    return ""


def do(*words, **options) -> str:
    return subprocess.run([str(word) for word in words], check=True, text=True, stdout=subprocess.PIPE, **options).stdout


def make_system(release: str, packages: str, root: Path):
    kept = Path(KEPT, release + "-" + packages.partition(",")[0]) if KEPT else root
    if not (kept / "usr").exists():
        made = subprocess.run(["debootstrap", "--variant=minbase", f"--include={packages}", release, kept, MIRROR],
                              capture_output=True, text=True, check=False)
        if made.returncode:
            raise RuntimeError(f"debootstrap {release}: {made.stdout[-2000:]}{made.stderr[-2000:]}")
    if kept != root:
        do("cp", "-a", kept, root)


class Host:
    """One of them. Made by hosts()."""

    def __init__(self, name: str, root: Path, address: str):
        self.name, self.root, self.address = name, root, address
        self.network = f"rdcp-{name}-{os.getpid()}"
        self.home = root / "home" / USER
        self.sshd: subprocess.Popen | None = None

    def inside(self, *words: str) -> list[str]:
        """The words of a command that runs `words` there as root."""
        enter = 'mount -t proc proc "$0/proc" && mount -t tmpfs shm "$0/dev/shm" && exec chroot "$0" "$@"'
        return ["nsenter", f"--net=/run/netns/{self.network}", "unshare", "--mount", "--pid", "--fork", "--kill-child",
                "sh", "-c", enter, str(self.root), "env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "LANG=C.UTF-8", *words]

    def run(self, command: str, timeout: float = 120) -> subprocess.CompletedProcess:
        """A command of Ann's shell."""
        return subprocess.run(self.inside("su", "-", USER, "-c", command), capture_output=True, text=True, timeout=timeout,
                              stdin=subprocess.DEVNULL, check=False)

    def only_ssh(self):
        """From now on only port 22 is open, and what else comes is dropped."""
        set_firewall(["nsenter", f"--net=/run/netns/{self.network}"], 22, inward=("drop",))

    def open_again(self):
        do("nsenter", f"--net=/run/netns/{self.network}", "nft", "flush", "ruleset")

    def start_sshd(self):
        (self.root / "run" / "sshd").mkdir(parents=True, exist_ok=True)
        with open(self.root.with_suffix(".log"), "wb") as log:
            self.sshd = subprocess.Popen(self.inside("/usr/sbin/sshd", "-D", "-e"), stdin=subprocess.DEVNULL, stdout=log,
                                         stderr=log)
        banner = f"exec 3<>/dev/tcp/{self.address}/22; head -c 4 <&3"
        answers = ["nsenter", f"--net=/run/netns/{self.network}", "bash", "-c", banner]
        if not wait_for(lambda: "SSH-" == subprocess.run(answers, capture_output=True, text=True, check=False).stdout, 20):
            raise RuntimeError(f"no sshd on {self.name}: {self.root.with_suffix('.log').read_text(errors='replace')}")

    def stop(self):
        if self.sshd:
            self.sshd.kill()  # and all of its namespace with it
            self.sshd.wait()


def make_package(folder: Path) -> Path:
    """Makes the Debian package of this build."""
    do("cpack", "-G", "DEB", "--config", BUILD / "CPackConfig.cmake", "-B", folder)
    return next(folder.glob("rdcp_*.deb"))


def install_package(root: Path, package: Path):
    """With what it depends on, from this machine's package sources, and by its network."""
    shutil.copy("/etc/resolv.conf", root / "etc")
    shutil.copytree("/etc/apt", root / "etc" / "apt", dirs_exist_ok=True)
    shutil.copy(package, root / "root")
    script = f"apt-get -q update && apt-get -q install -y /root/{package.name}"
    do("unshare", "--mount", "--pid", "--fork", "sh", "-c", 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"', root,
       "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "sh", "-ec", script)


def _add_user(host: Host, key: Path):
    do(*host.inside("useradd", "--create-home", "--shell", "/bin/bash", "--uid", "1000", USER))
    folder = host.home / ".ssh"
    folder.mkdir(mode=0o700)
    shutil.copy(key.with_suffix(".pub"), folder / "authorized_keys")
    if host.name == "near":
        shutil.copy(key, folder / "id_ed25519")
        (folder / "config").write_text("Host *\n  StrictHostKeyChecking accept-new\n")
    do("chown", "-R", "1000:1000", folder)


@contextlib.contextmanager
def _network(host: Host, switch: str, number: int):
    far = f"rdcpl{os.getpid() % 10**6}x{number}"
    inside = ["nsenter", f"--net=/run/netns/{host.network}"]
    do("ip", "netns", "add", host.network)
    try:
        do("ip", "-n", switch, "link", "add", far, "type", "veth", "peer", "name", "eth0", "netns", host.network)
        do("ip", "-n", switch, "link", "set", far, "master", "switch", "up")
        do(*inside, "ip", "address", "add", f"{host.address}/24", "dev", "eth0")
        do(*inside, "ip", "link", "set", "eth0", "up")
        do(*inside, "ip", "link", "set", "lo", "up")
        yield
    finally:
        do("ip", "netns", "delete", host.network)


@contextlib.contextmanager
def hosts():
    """Yields near, far11, far12 and far13 by name."""
    with contextlib.ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="rdcp-debians-", dir="/var/tmp"))
        folder.chmod(0o755)
        stack.callback(subprocess.run, ["rm", "-rf", "--one-file-system", folder], check=False)
        key = folder / "key"
        do("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
        switch = f"rdcp-switch-{os.getpid()}"
        do("ip", "netns", "add", switch)
        stack.callback(do, "ip", "netns", "delete", switch)
        do("ip", "-n", switch, "link", "add", "switch", "type", "bridge")
        do("ip", "-n", switch, "link", "set", "switch", "up")
        made = {}
        for number, name in enumerate(("near", *RELEASES), start=1):
            host = made[name] = Host(name, folder / name, f"10.231.79.{number}")
            make_system(RELEASES.get(name, "bookworm"), "openssh-server" if name in RELEASES else NEAR, host.root)
            stack.enter_context(_network(host, switch, number))
            if name == "near":
                install_package(host.root, make_package(folder))
            _add_user(host, key)
        names = "".join(f"{host.address} {name}\n" for name, host in made.items())
        for host in made.values():
            (host.root / "etc" / "hosts").write_text(f"127.0.0.1 localhost\n{names}")
            if host.name != "near":
                stack.callback(host.stop)
                host.start_sshd()
        yield made
