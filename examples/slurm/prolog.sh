#!/bin/sh
# A prolog for Slurm (slurm.conf: Prolog=/etc/slurm/prolog.sh). slurmd runs it as root on each node of a job, before the job
# begins. It makes the folder on the node's own disk in which the job's user keeps weights: stage.sbatch fills it.
set -eu
local=/local
user=${SLURM_JOB_USER:?slurmd sets this}
mkdir -p "$local"
[ -d "$local/$user" ] || install -d -m 0700 -o "$user" "$local/$user"
