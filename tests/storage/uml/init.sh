#!/bin/bash
# The first process of a user-mode Linux (uml.py). The machine's files, which the kernel shows read-only, get a layer of memory over
# them, so that everything can be written and nothing of it reaches the machine. The folder that the kernel's command line names
# is the exception: its command runs, and its output and exit code are left there.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
mount -t proc proc /proc
folder=$(sed -n 's/.*mercutio_folder=\([^ ]*\).*/\1/p' /proc/cmdline)
release=$(uname -r)
modules=/usr/lib/uml/modules/$release
insmod "$modules/kernel/fs/overlayfs/overlay.ko"
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work overlay /mnt/root
cd /mnt/root || exit 1
mkdir -p .below
pivot_root . .below
cd /
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /run
mkdir -p "$folder" "/lib/modules" /run/lock
mount -t hostfs -o "$folder" none "$folder"
ln -sfn "$modules" "/lib/modules/$release"
hostname uml
ip link set lo up
TMPDIR=/tmp bash "$folder/command" > "$folder/output" 2>&1 < /dev/null
echo $? > "$folder/code"
sync
echo o > /proc/sysrq-trigger
sleep 10
