#!/bin/sh
# push.sh MODEL HOSTS [OPTION...]: copies one model of the Hugging Face cache here to the caches of hosts, as in
#   ./push.sh meta-llama/Llama-3.1-8B 'gpu[001-200]'
# OPTION goes to rdcp (--launcher srun). A model is a folder with blobs/ (files named by their digests), snapshots/ (links to
# them) and refs/. The blobs go first, so that no link ever leads to what is not there yet; of another revision only the
# blobs that are new are sent. Nothing is removed.
set -eu
model=${1:?usage: push.sh MODEL HOSTS [OPTION...]}
hosts=${2:?usage: push.sh MODEL HOSTS [OPTION...]}
shift 2
hub=${HF_HUB_CACHE:-${HF_HOME:-$HOME/.cache/huggingface}/hub}
folder=models--$(printf %s "$model" | sed 's|/|--|g')
there=.cache/huggingface/hub/$folder
rdcp --sync --mkpath --exclude='*.incomplete' "$@" "$hub/$folder/blobs/" "$hosts:$there/blobs"
rdcp --sync --exclude=/blobs/ "$@" "$hub/$folder/" "$hosts:$there"
