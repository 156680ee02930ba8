# overlayfs on one node; the server sees its upper folder.
server() {
  grep -qw overlay /proc/filesystems || left_out "the kernel has no overlayfs"
  mkdir -m 777 "$FOLDER"/{lower,upper,work}
  mount --bind "$FOLDER/upper" /mnt/shared
}
client() {
  mount -t overlay -o "lowerdir=$FOLDER/lower,upperdir=$FOLDER/upper,workdir=$FOLDER/work" overlay /mnt/shared
}
