# bindfs over a folder that all nodes have.
server() {
  mkdir -m 777 "$FOLDER/files"
  mount --bind "$FOLDER/files" /mnt/shared
}
client() {
  bindfs "$FOLDER/files" /mnt/shared
}
