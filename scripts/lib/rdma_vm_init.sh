#!/bin/busybox sh
# First process of the RDMA test VM: makes a root of the host's files (read-only, over virtio-9p) with memory above them
# for what is written, and goes on there with the script that the job names.
set -e
/bin/busybox --install -s /bin
mkdir -p /proc /sys /dev /host /memory /root
mount -t proc proc /proc
mount -t devtmpfs dev /dev
while read -r module; do insmod "$module"; done </modules.list

mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro host /host
mount -t tmpfs -o size=50% memory /memory
mkdir /memory/upper /memory/work
mount -t overlay -o lowerdir=/host,upperdir=/memory/upper,workdir=/memory/work root /root

mount -t tmpfs -o mode=755 run /root/run
mkdir -p /root/run/rdma-vm
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=none job /root/run/rdma-vm
mount --move /proc /root/proc
mount --move /dev /root/dev
exec switch_root /root /bin/bash "$(cat /root/run/rdma-vm/guest)"
