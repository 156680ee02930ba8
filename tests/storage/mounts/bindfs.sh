# bindfs over a folder of this machine.
server() {
  mkdir -m 777 "$FOLDER/files"
  mount --bind "$FOLDER/files" /mnt/shared
}
client() {
  bindfs "$FOLDER/files" /mnt/shared
}
