# sshfs over what the launchers of the nodes use in place of ssh.
server() {
  mkdir -m 777 "$FOLDER/files"
  mount --bind "$FOLDER/files" /mnt/shared
}
client() {
  sshfs -o "ssh_command=$MERCUTIO_TEST_NODES/rsh,sftp_server=/usr/lib/openssh/sftp-server" "$SERVER_NAME:$FOLDER/files" /mnt/shared
}
