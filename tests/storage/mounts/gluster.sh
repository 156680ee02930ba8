# GlusterFS: one brick, mounted by its FUSE client. OPTIONS: "uncached": no cache in the client; "direct": and none in the kernel.
server() {
  mount -t tmpfs tmpfs /var/lib/glusterd
  mount -t tmpfs tmpfs /var/log/glusterfs
  mount_image ext4 /mnt/brick
  sed "/^end-volume/i option transport.socket.bind-address $SERVER" /etc/glusterfs/glusterd.vol > /run/glusterd.vol
  glusterd -f /run/glusterd.vol
  gluster="gluster --mode=script"
  until_it_works $gluster volume create shared "$SERVER:/mnt/brick/files" force
  $gluster volume set shared transport.address-family inet
  if [ -n "$OPTIONS" ]; then
    for cache in write-behind io-cache quick-read read-ahead stat-prefetch; do $gluster volume set shared performance.$cache off; done
  fi
  $gluster volume start shared
  mount --bind /mnt/brick/files /mnt/shared
}
client() {
  mount -t tmpfs tmpfs /var/log/glusterfs
  local direct=
  [ "$OPTIONS" = direct ] && direct=-o\ direct-io-mode=enable
  mount -t glusterfs $direct "$SERVER:/shared" /mnt/shared
}
