#!/usr/bin/env bash
# Second stage of the RDMA test VM, first process of its real root: devices, filesystems, networks and software RDMA; then
# the command of the job, whose exit status goes into the job's folder. rdma_vm.py writes that folder.
set -u
job=/run/rdma-vm
for word in $(</proc/cmdline); do
  case $word in rdma_vm_host=*) host=${word#*=} ;; esac
done
# shellcheck disable=SC1090
source "$job/settings.$host"  # hosts, modules, interactive, device, siw

fail() {
  echo "rdma-vm: $*" >"$job/problem.$host"
  sync
  /bin/busybox poweroff -f
}

make_filesystems() {
  mount -t sysfs sys /sys
  mkdir -p /dev/pts /dev/shm /lib/modules /run/lock /run/sshd
  chmod 755 /run/sshd
  mount -t devpts -o mode=620,gid=5,ptmxmode=666 devpts /dev/pts
  mount -t tmpfs -o mode=1777,size=60% shm /dev/shm
  mount --bind "$modules" /lib/modules
  for link in "fd /dev/fd" "fd/0 /dev/stdin" "fd/1 /dev/stdout" "fd/2 /dev/stderr"; do
    # shellcheck disable=SC2086
    ln -sfn /proc/self/$link
  done
  mkdir -p /run/sbin
  ln -s /bin/busybox /run/sbin/modprobe
  echo /run/sbin/modprobe >/proc/sys/kernel/modprobe  # the kernel asks it for what it misses, e.g. sch_netem
  # A disk, so that there is O_DIRECT, O_TMPFILE and a filesystem that can be full.
  load virtio_blk ext4 loop
  mount -t ext4 -o noatime /dev/vda /var/tmp && chmod 1777 /var/tmp || fail "no disk"
}

load() {
  local name
  for name in "$@"; do
    /run/sbin/modprobe "$name" || fail "cannot load $name"
  done
}

# rail NUMBER: an interface with jumbo frames, two addresses, and an RDMA device on it.
rail() {
  local number=$1 name=eth$1 subnet=$((77 + $1))
  if [ "$hosts" -eq 1 ]; then
    name=rail$number
    ip link add "$name" type dummy
  fi
  ip link set "$name" mtu 9000 up &&
    ip address add "10.$subnet.0.$host/24" dev "$name" &&
    ip address add "fd$subnet::$host/64" dev "$name" nodad &&
    rdma link add "$device$number" type "$device" netdev "$name" || fail "cannot make rail $number"
}

# This machine's own habits, which only cost time here: nobody answers a name server's questions, which sshd may ask, and
# a shell over ssh reads the start files of somebody's workplace.
forget_habits() {
  rm -f /etc/resolv.conf /etc/hosts /root/.bashrc /root/.bash_profile /root/.profile
  printf '%s\n' "127.0.0.1 localhost" "::1 localhost" "10.77.0.1 vm1" "10.77.0.2 vm2" >/etc/hosts
}

make_networks() {
  ip link set lo up
  hostname "vm$host"
  /run/sbin/modprobe dummy numdummies=0
  load ib_uverbs ib_cm iw_cm rdma_cm rdma_ucm
  case $device in
    rxe) load rdma_rxe ;;
    siw) load libcrc32c && /bin/busybox insmod "$siw" || fail "cannot load $siw" ;;  # by its path: it is not one of the kernel's package
  esac
  [ "$hosts" -eq 1 ] || load virtio_net
  rail 0
  rail 1
  chmod 666 /dev/infiniband/*  # as udev's rules have it; there is no udev here
}

# port NAME: the device of this virtio port.
port() {
  local name
  name=$(grep -lx "$1" /sys/class/virtio-ports/*/name) || fail "no port $1"
  name=${name%/name}
  echo "/dev/${name##*/}"
}

# The command as a session of its own, with its output through pipes: /dev/stdout can be opened there as anywhere.
run_command() {
  mkfifo /run/out /run/err
  cat </run/out >"$(port out)" &
  local out=$!
  cat </run/err >"$(port err)" &
  local err=$!
  setsid --wait bash "$job/command.$host" </dev/null >/run/out 2>/run/err
  local status=$?
  end_all_but $$ $out $err
  wait $out $err
  echo $status >"$job/status.$host"
}

run_shell() {
  setsid --wait bash -c "exec bash '$job/command.$host' <>/dev/hvc0 >&0 2>&1"
  echo $? >"$job/status.$host"
}

# The second host's sshd listens: its script says so.
wait_for_peer() {
  local tries
  for tries in $(seq 600); do
    [ ! -e "$job/ready.2" ] || return 0
    sleep 0.1
  done
  fail "the second host did not come up in $((tries / 10)) s"
}

# The kernel took the date from the battery clock (RTC) at boot, which qemu drives by this machine's clock, and counted on
# by itself since. Where both differ now, no time limit in here meant what it said, and no result counts.
check_clock() {
  local counted=$(($(date +%s) - began)) passed=$(($(cat /sys/class/rtc/rtc0/since_epoch) - began))
  local apart=$((counted > passed ? counted - passed : passed - counted))
  [ "$apart" -le $((2 + passed / 10)) ] || fail "the VM's clock counted $counted s where $passed s passed"
}

# What the command left running, so that nobody holds the pipes open.
end_all_but() {
  local entry
  for entry in /proc/[0-9]*; do
    case " $* " in
      *" ${entry#/proc/} "*) ;;
      *) kill -9 "${entry#/proc/}" 2>/dev/null ;;
    esac
  done
}

began=$(($(date +%s) - $(cut -d. -f1 /proc/uptime)))  # when the kernel was started
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
make_filesystems
forget_habits
make_networks
if [ "$hosts" -eq 2 ] && [ "$host" -eq 1 ]; then
  wait_for_peer
fi
if [ "$interactive" = yes ] && [ "$host" -eq 1 ]; then
  run_shell
else
  run_command
  check_clock
fi
sync
/bin/busybox poweroff -f
