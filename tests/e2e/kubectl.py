"""A stand-in for kubectl: `kubectl exec [OPTION...] -i POD -- WORD...` runs the words in a host of a fleet, as a container
runtime would: each word reaches the program as it is, and nothing of the environment here does."""

import os
from pathlib import Path

from fleet import Fleet

SCRIPT = """#!/bin/sh
fail() { echo "$*" >&2; exit 1; }
[ "$1" = exec ] || fail "error: unknown command \\"$1\\" for \\"kubectl\\""
shift
input= namespace=default container= pod=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  case $1 in
    -i | --stdin) input=yes ;;
    -n | --namespace) namespace=$2; shift ;;
    -c | --container) container=$2; shift ;;
    -*) fail "error: unknown flag: $1" ;;
    *) [ -z "$pod" ] || fail "error: exec [POD] [COMMAND] is not supported anymore"; pod=$1 ;;
  esac
  shift
done
[ $# -gt 1 ] || fail "error: you must specify at least one command for the container"
shift
[ "$input" ] || exec < /dev/null
echo "$namespace/$pod/$container" >> "{log}"
case $pod in
{pods}  *) fail "Error from server (NotFound): pods \\"$pod\\" not found" ;;
esac
exec nsenter --target="$pid" --net --mount --root -- env -i -C / PATH=/usr/bin:/bin HOME="{homes}/$pod" "$@"
"""


class Kubectl:
    """`folder`: empty, the caller's to remove; it has the program. Pod number N is the fleet's host N. A pod's HOME is a
    folder of `homes`. `env` is what has this kubectl in its PATH."""

    def __init__(self, folder: Path, fleet: Fleet, pods: list[str]):
        self.folder = Path(folder)
        self.program = self.folder / "kubectl"
        self.log = self.folder / "log"
        self.homes = self.folder / "homes"
        self.env = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"}
        for pod in pods:
            (self.homes / pod).mkdir(parents=True)
        cases = "".join(f"  {pod}) pid={host.holder.pid} ;;\n" for pod, host in zip(pods, fleet.hosts, strict=True))
        words = {"{log}": str(self.log), "{pods}": cases, "{homes}": str(self.homes)}
        script = SCRIPT
        for word, value in words.items():
            script = script.replace(word, value)
        self.program.write_text(script)
        self.program.chmod(0o755)

    def calls(self) -> list[str]:
        """What was run so far, each as NAMESPACE/POD/CONTAINER."""
        return self.log.read_text().splitlines()
