# A file system of the kernel, in a file. OPTIONS: its type.
server() {
  mount_image "$OPTIONS" /mnt/shared
  chmod 777 /mnt/shared
}
client() {
  mount_image "$OPTIONS" /mnt/shared
}
