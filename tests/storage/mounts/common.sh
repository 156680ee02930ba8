#!/bin/bash
# common.sh NAME.sh server|client: runs that function of a system's script on an emulated node (mounted.py). The client mounts the shared
# folder at /mnt/shared; the server leaves there what shows what it holds. Everything that a node mounts or starts vanishes with it. SERVER: the
# server's address, SERVER_NAME: its name; FOLDER: a folder of this system that all nodes have; OPTIONS: of the system. Exit code 77: not to be had here.
set -e
mount -t tmpfs tmpfs /mnt
mount -t tmpfs tmpfs /run
mkdir -p /mnt/shared /run/lock

left_out() {
  echo "$*"
  exit 77
}

until_it_works() {
  local end=$((SECONDS + 60))
  until "$@" > /run/last-try 2>&1; do
    [ $SECONDS -lt $end ] || { cat /run/last-try; return 1; }
    sleep 0.2
  done
}

# mount_image TYPE PLACE: a file of its own with that file system. A second node's mount of it is the same file system.
mount_image() {
  grep -qw "$1" /proc/filesystems || left_out "the kernel has no $1"
  if [ ! -e "$FOLDER/image" ]; then
    truncate -s 1G "$FOLDER/image"
    mkfs."$1" -q "$FOLDER/image"
  fi
  mkdir -p "$2"
  mount -o loop "$FOLDER/image" "$2"
}

. "$(dirname "$0")/$1"
"$2"
