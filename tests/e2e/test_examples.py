"""What examples/ has, run: the Slurm scripts by a real Slurm, the commands of the others on hosts of this machine."""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import BUILD, MIB, RDCP, REPO, is_root, make_file
from kubectl import Kubectl
from slurm import Slurm, why_no_slurm
from snapshot import differences, snapshot

from fleet import Fleet, why_no_fleet  # in scripts/lib, as harness has it
from stage import Stage
from trees import make_model_cache

try:
    import yaml
except ImportError:
    yaml = None

EXAMPLES = REPO / "examples"
needs_yaml = unittest.skipUnless(yaml, "no python3-yaml here (scripts/setup installs it)")


class ExampleTest(unittest.TestCase):
    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        if not is_root:
            raise unittest.SkipTest("needs root: its hosts are namespaces")
        cls.place = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="rdcp-examples-", dir="/var/tmp")))
        cls.place.chmod(0o755)

    def tree(self, folder: Path) -> Path:
        (folder / "sub").mkdir(parents=True)
        for i in range(20):
            (folder / "sub" / f"small-{i}").write_bytes(bytes([i]) * (i * 50))
        make_file(folder / "large", 3 * MIB)
        return folder

    def assert_same(self, wanted: Path, found: Path):
        self.assertEqual(differences(snapshot(wanted), snapshot(found), ()), [])


class InSlurm(ExampleTest):
    @classmethod
    def setUpClass(cls):
        if why := why_no_slurm() or why_no_fleet():
            raise unittest.SkipTest(why)
        super().setUpClass()
        for name in ("fleet", "slurm"):
            (cls.place / name).mkdir()
        cls.fleet = cls.enterClassContext(Fleet(cls.place / "fleet", 3, sshds=0))
        prolog = cls.put("slurm/prolog.sh")
        cls.slurm = cls.enterClassContext(Slurm(cls.place / "slurm", cls.fleet, f"Prolog={prolog}\nPrologFlags=Alloc"))

    @classmethod
    def put(cls, name: str) -> Path:
        """The example, whose folder on the nodes' own disks is where these have one."""
        text = (EXAMPLES / name).read_text()
        assert text.count("\nlocal=/local\n") == 1, name
        path = cls.place / Path(name).name
        path.write_text(text.replace("\nlocal=/local\n", f"\nlocal={cls.fleet.data}\n"))
        path.chmod(0o755)
        return path

    def run_batch(self, *words) -> str:
        """Runs the batch script in a job of three nodes. Returns what it prints."""
        env = {**self.slurm.env, "PATH": f"{BUILD}:{os.environ['PATH']}", "HOME": str(self.place)}
        out = self.place / "out"
        done = subprocess.run(["sbatch", "--wait", "--nodes=3", f"--output={out}", *map(str, words)], env=env, timeout=120,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr + (out.read_text() if out.exists() else ""))
        return out.read_text()

    def test_the_batch_script_stages_weights_on_each_node_and_runs_a_command(self):
        weights = self.tree(self.place / "llama")
        script = self.put("slurm/stage.sbatch")
        said = self.run_batch(script, weights, "sh", "-c", 'echo "$SLURMD_NODENAME has $(ls "$STAGED" | tr "\\n" " ")"')
        self.assertEqual(sorted(said.splitlines()), [f"h{i} has large sub " for i in (1, 2, 3)])
        for host in self.fleet.hosts:
            own = host.own / "root"
            self.assertEqual(own.stat().st_mode & 0o7777, 0o700)  # as the prolog has made it
            self.assert_same(weights, own / "llama")
        inode = (self.fleet[2].own / "root" / "llama" / "large").stat().st_ino
        self.run_batch(script, weights, "true")
        self.assertEqual((self.fleet[2].own / "root" / "llama" / "large").stat().st_ino, inode)  # not sent again


class OnHosts(ExampleTest):
    """Hosts with sshds, homes and roots of their own."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stage = cls.enterClassContext(Stage(cls.place, BUILD, "here", "store", "gpu1", "gpu2"))
        cls.here = cls.stage.near

    def run_here(self, *words, says: str = "") -> str:
        done = subprocess.run(self.here.command(shlex.join(map(str, words))), capture_output=True, text=True, timeout=120,
                              stdin=subprocess.DEVNULL, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, says), done.stdout)
        return done.stdout

    def test_the_mirrors_command(self):
        unit = (EXAMPLES / "systemd" / "rdcp-mirror.service").read_text()
        command = re.search(r"^ExecStart=(.*)$", unit, re.MULTILINE).group(1).replace("%t", "/run")
        self.assertNotIn("%", command)
        data = self.tree(self.here.folder / "srv" / "set")
        there = self.stage.hosts["store"].folder / "srv"
        there.mkdir()
        (self.here.folder / "var" / "log").mkdir()
        words = shlex.split(command)
        self.run_here(*words)
        self.assert_same(data, there / "set")
        (data / "sub" / "small-1").unlink()
        self.run_here(*words)
        self.assert_same(data, there / "set")
        log = (self.here.folder / "var" / "log" / "rdcp-mirror.log").read_text()
        self.assertEqual(log.count("rdcp: exit status 0"), 2, log)
        # While another run holds the lock, this one leaves everything alone.
        (data / "sub" / "small-2").unlink()
        lock = words[words.index("--conflict-exit-code") + 2]
        self.run_here("flock", lock, *words)
        self.assertTrue((there / "set" / "sub" / "small-2").exists())
        self.assertEqual((self.here.folder / "var" / "log" / "rdcp-mirror.log").read_text(), log)

    def test_systemd_takes_the_units(self):
        if shutil.which("systemd-analyze") is None:
            self.skipTest("no systemd-analyze here")
        units = sorted((EXAMPLES / "systemd").glob("rdcp-mirror.*"))
        self.assertEqual([unit.suffix for unit in units], [".service", ".timer"])
        done = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_a_model_goes_to_the_caches_of_hosts_and_another_revision_sends_its_new_blobs_only(self):
        hub = self.here.home / ".cache" / "huggingface" / "hub"
        hub.mkdir(parents=True)
        model = hub / "models--org--model"
        make_model_cache(hub, 6 * MIB, 3).rename(model)
        (model / "blobs" / "cut.incomplete").write_bytes(b"x")
        script = self.here.folder / "push.sh"
        shutil.copy(EXAMPLES / "huggingface" / "push.sh", script)
        self.run_here("/push.sh", "org/model", "gpu[1-2]", "-q")
        times = (model / "blobs").stat()
        (model / "blobs" / "cut.incomplete").unlink()  # and the copies have none
        os.utime(model / "blobs", ns=(times.st_atime_ns, times.st_mtime_ns))
        caches = [self.stage.hosts[name].home / ".cache/huggingface/hub/models--org--model" for name in ("gpu1", "gpu2")]
        for cache in caches:
            self.assert_same(model, cache)
        # A new revision: one blob more, and links to it and to an old one.
        old = next(path for path in (model / "blobs").iterdir())
        new = make_file(model / "blobs" / ("b" * 64), MIB, 99)
        revision = model / "snapshots" / ("c" * 40)
        revision.mkdir()
        (revision / "old").symlink_to(f"../../blobs/{old.name}")
        (revision / "new").symlink_to(f"../../blobs/{new.name}")
        kept = {path.name: path.stat().st_ino for path in (caches[1] / "blobs").iterdir()}
        changes = self.run_here("/push.sh", "org/model", "gpu[1-2]", "-q", "-i")
        sent = re.findall(r"^(gpu\d): <f\S+ (.*)$", changes, re.MULTILINE)
        self.assertEqual(sorted(sent), [("gpu1", new.name), ("gpu2", new.name)], changes)
        for cache in caches:
            self.assert_same(model, cache)
        for name, inode in kept.items():
            self.assertEqual((caches[1] / "blobs" / name).stat().st_ino, inode)

    @needs_yaml
    def test_the_init_container_pulls_through_ssh(self):
        pod, = documents("pull.yaml")
        container, = pod["spec"]["initContainers"]
        store = self.stage.hosts["store"]
        with open(store.folder / "passwd", "a") as users:
            users.write("weights:x:0:0::/root:/bin/bash\n")
        keys = self.here.folder / "ssh"  # as the Secret is mounted
        keys.mkdir()
        shutil.copy(self.here.home / ".ssh" / "store" / "client_key", keys / "id_ed25519")
        shutil.copy(self.here.home / ".ssh" / "store" / "known_hosts", keys / "known_hosts")
        data = self.tree(store.folder / "models" / "llama")
        (self.here.folder / "models").mkdir()
        self.run_here(*container["command"], *container["args"])
        self.assert_same(data, self.here.folder / "models" / "llama")


@needs_yaml
class Pods(ExampleTest):
    @classmethod
    def setUpClass(cls):
        if why := why_no_fleet():
            raise unittest.SkipTest(why)
        super().setUpClass()
        for name in ("fleet", "kubectl"):
            (cls.place / name).mkdir()
        cls.fleet = cls.enterClassContext(Fleet(cls.place / "fleet", 4, sshds=0))
        cls.kubectl = Kubectl(cls.place / "kubectl", cls.fleet, [f"trainer-{i}" for i in range(4)])

    def test_the_jobs_command_reaches_all_pods(self):
        job = next(document for document in documents("push.yaml") if document["kind"] == "Job")
        container, = job["spec"]["template"]["spec"]["containers"]
        self.assertEqual(container["command"], ["rdcp"])
        weights = self.tree(self.place / "weights" / "llama")
        args = [word.replace("/weights/", f"{weights.parent}/").replace(":/models/", f":{self.fleet.data}/")
                for word in container["args"]]
        done = subprocess.run([RDCP, *args], env=self.kubectl.env, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        for host in self.fleet.hosts:
            self.assert_same(weights, host.own / "llama")
        self.assertIn("default/trainer-3/trainer", self.kubectl.calls())


def documents(name: str) -> list[dict]:
    with open(EXAMPLES / "kubernetes" / name) as file:
        return list(yaml.safe_load_all(file))


@needs_yaml
class Manifests(unittest.TestCase):
    def test_what_they_name_is_there(self):
        """Volumes, the service account and its role: a name that is misspelt would be found out by a cluster only."""
        for name, kinds in (("push.yaml", ["ServiceAccount", "Role", "RoleBinding", "Job"]), ("pull.yaml", ["Pod"])):
            found = documents(name)
            self.assertEqual([document["kind"] for document in found], kinds)
            for document in found:
                self.assertRegex(document["metadata"]["name"], r"^[a-z][a-z0-9-]*$")
            pod = found[-1]["spec"].get("template", found[-1])["spec"]
            volumes = {volume["name"] for volume in pod["volumes"]}
            for container in pod["containers"] + pod.get("initContainers", []):
                for mount in container["volumeMounts"]:
                    self.assertIn(mount["name"], volumes, container)
        account, role, binding, job = documents("push.yaml")
        self.assertEqual(binding["roleRef"]["name"], role["metadata"]["name"])
        self.assertEqual(binding["subjects"],
                         [{"kind": "ServiceAccount", "name": account["metadata"]["name"], "namespace": "default"}])
        self.assertEqual(job["spec"]["template"]["spec"]["serviceAccountName"], account["metadata"]["name"])
        self.assertEqual({(tuple(rule["resources"]), tuple(rule["verbs"])) for rule in role["rules"]},
                         {(("pods",), ("get",)), (("pods/exec",), ("get", "create"))})


class Readme(unittest.TestCase):
    def test_it_lists_all_files_and_no_others(self):
        text = (EXAMPLES / "README.md").read_text()
        for path in EXAMPLES.glob("*/*"):
            named = f"`{path.parent.name}/{path.name}`" in text or f"`{path.parent.name}/{path.stem}.*`" in text
            self.assertTrue(named, path)
        for name in re.findall(r"`(\w+/[\w.*-]+)`", text):
            self.assertTrue(list(EXAMPLES.glob(name)) or (REPO / name).exists(), name)


if __name__ == "__main__":
    unittest.main()
