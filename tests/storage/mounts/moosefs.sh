# MooseFS: a master and a chunk server, which can hold one copy of a chunk. With the default of two, a node that waits until another one has written to
# the same chunk is told so only after 30 seconds (seen in MooseFS 3.0.117). The server's view is a mount of its own.
server() {
  mkdir -p "$FOLDER/master" "$FOLDER/chunks" "$FOLDER/chunkserver"
  printf 'MFSM NEW' > "$FOLDER/master/metadata.mfs"
  echo '* / rw,alldirs,admin,maproot=0:0' > "$FOLDER/exports"
  echo "$FOLDER/chunks" > "$FOLDER/disks"
  printf '%s\n' WORKING_USER=root WORKING_GROUP=root DATA_PATH="$FOLDER/master" EXPORTS_FILENAME="$FOLDER/exports" > "$FOLDER/master.cfg"
  printf '%s\n' WORKING_USER=root WORKING_GROUP=root DATA_PATH="$FOLDER/chunkserver" HDD_CONF_FILENAME="$FOLDER/disks" MASTER_HOST="$SERVER" > "$FOLDER/chunkserver.cfg"
  mfsmaster -c "$FOLDER/master.cfg" start
  mfschunkserver -c "$FOLDER/chunkserver.cfg" start
  client
  until_it_works dd if=/dev/zero of=/mnt/shared/first bs=1 count=1 conv=fsync status=none
  rm /mnt/shared/first
  mfssetgoal 1 /mnt/shared
  chmod 777 /mnt/shared
}
client() {
  mfsmount -H "$SERVER" /mnt/shared
}
