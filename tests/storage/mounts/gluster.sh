# GlusterFS: one brick, mounted by its FUSE client. OPTIONS: "uncached": no cache in the client; "direct": and none in the kernel; "driver": the
# same for this mount only, so that the driver meets a volume with all of its caches. Its folder is called the same in the volume and where it is
# mounted, so that names in the volume are those of POSIX.
server() {
  mount -t tmpfs tmpfs /var/lib/glusterd
  mount -t tmpfs tmpfs /var/log/glusterfs
  mount_image ext4 /mnt/brick
  sed "/^end-volume/i option transport.socket.bind-address $SERVER" /etc/glusterfs/glusterd.vol > /run/glusterd.vol
  glusterd -f /run/glusterd.vol
  gluster="gluster --mode=script"
  until_it_works $gluster volume create shared "$SERVER:/mnt/brick/files" force
  $gluster volume set shared transport.address-family inet
  if [ "$OPTIONS" != driver ] && [ -n "$OPTIONS" ]; then
    for cache in write-behind io-cache quick-read read-ahead stat-prefetch; do $gluster volume set shared performance.$cache off; done
  fi
  $gluster volume start shared
  local folder=
  if [ "$OPTIONS" = driver ]; then
    folder=/mnt/shared
    mount -t glusterfs "$SERVER:/shared" /mnt/shared
    mkdir -p -m 777 /mnt/shared/mnt/shared
    umount /mnt/shared
  fi
  mount --bind "/mnt/brick/files$folder" /mnt/shared
}
client() {
  mount -t tmpfs tmpfs /var/log/glusterfs
  if [ "$OPTIONS" = driver ]; then
    local cache options=()
    for cache in write-behind io-cache read-ahead open-behind md-cache; do options+=(--xlator-option "*-$cache.pass-through=on"); done
    glusterfs --volfile-server="$SERVER" --volfile-id=shared --subdir-mount=/mnt/shared --direct-io-mode=enable --entry-timeout=0 --attribute-timeout=0 \
      --xlator-option "*-quick-read.max-file-size=0" "${options[@]}" /mnt/shared
    until_it_works mountpoint -q /mnt/shared
    return
  fi
  local direct=
  [ "$OPTIONS" = direct ] && direct=-o\ direct-io-mode=enable
  mount -t glusterfs $direct "$SERVER:/shared" /mnt/shared
}
