# sshfs over what the nodes' launcher uses in place of ssh. OPTIONS: of the mount.
server() {
  mkdir -m 777 "$FOLDER/files"
  mount --bind "$FOLDER/files" /mnt/shared
}
client() {
  sshfs -o "ssh_command=$MERCUTIO_TEST_NODES/rsh,sftp_server=/usr/lib/openssh/sftp-server${OPTIONS:+,$OPTIONS}" "n2:$FOLDER/files" /mnt/shared
}
