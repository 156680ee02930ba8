# CephFS: a monitor, a storage daemon that keeps all in memory, and a metadata server. The server's view is a mount of its own. The folder is called
# the same in the file system and where it is mounted, so that names of libcephfs are those of POSIX. OPTIONS: "kernel": the kernel's client, not
# FUSE's. The times after which a daemon or client counts as dead are longer than any stop of the machine: a placement group whose read lease ran
# out while the daemon was stopped may never be readable again in Ceph 16, and its clients wait for ever. The daemon keeps few of its last operations:
# in user-mode Linux each page of a process counts against the machine's vm.max_map_count, at which the process is killed.
server() {
  local id=$(cat /proc/sys/kernel/random/uuid)
  export CEPH_CONF=$FOLDER/ceph.conf
  mkdir -p "$FOLDER"/{mon,osd,mds}
  cat > "$CEPH_CONF" <<CONF
[global]
fsid = $id
mon host = [v1:$SERVER:6789]
ms bind msgr2 = false
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
keyring = $FOLDER/keyring
run dir = /run
log file = $FOLDER/\$name.log
mon data = $FOLDER/mon
osd data = $FOLDER/osd
mds data = $FOLDER/mds
osd objectstore = memstore
memstore device bytes = 2147483648
osd min pg log entries = 50
osd max pg log entries = 100
osd crush chooseleaf type = 0
osd pool default size = 1
osd pool default min size = 1
mon allow pool size one = true
mon pg warn min per osd = 0
mon data avail crit = 1
osd heartbeat grace = 7200
osd op thread suicide timeout = 7200
mds beacon grace = 7200
CONF
  ceph-authtool --create-keyring "$FOLDER/keyring" --gen-key -n mon. --cap mon 'allow *'
  ceph-authtool "$FOLDER/keyring" --gen-key -n client.admin --cap mon 'allow *' --cap osd 'allow *' --cap mds 'allow *' --cap mgr 'allow *'
  ceph-authtool "$FOLDER/keyring" --gen-key -n mds.m --cap mon 'allow profile mds' --cap osd 'allow rwx' --cap mds 'allow'
  ceph-authtool "$FOLDER/keyring" --gen-key -n osd.0 --cap mon 'allow profile osd' --cap osd 'allow *'
  monmaptool --create --fsid "$id" --addv m "[v1:$SERVER:6789]" "$FOLDER/monmap"
  ceph-mon --mkfs -i m --monmap "$FOLDER/monmap" --keyring "$FOLDER/keyring"
  ceph-mon -i m
  until_it_works timeout 10 ceph osd dump
  local osd=$(cat /proc/sys/kernel/random/uuid)
  ceph osd new "$osd" 0
  ceph-osd -i 0 --mkfs --osd-uuid "$osd"
  ceph osd crush add osd.0 1.0 root=default host=server
  ceph-osd -i 0
  ceph osd pool create metadata 8
  ceph osd pool create data 8
  ceph fs new shared metadata data
  ceph fs set shared session_timeout 7200
  ceph fs set shared session_autoclose 7200
  ceph-mds -i m
  until_it_works sh -c 'ceph mds stat | grep up:active'
  mount_folder /
  mkdir -p -m 777 /mnt/shared/mnt/shared
  umount /mnt/shared
  client
}
client() {
  mount_folder /mnt/shared
}
# mount_folder FOLDER: of the file system, at /mnt/shared. Without noshare all nodes of one kernel would have the caches of one client.
mount_folder() {
  if [ "$OPTIONS" = kernel ]; then
    mount -i -t ceph -o "noshare,name=admin,secret=$(ceph-authtool -p -n client.admin "$FOLDER/keyring")" "$SERVER:6789:$1" /mnt/shared
  else
    ceph-fuse -c "$FOLDER/ceph.conf" -n client.admin -r "$1" /mnt/shared
  fi
}
