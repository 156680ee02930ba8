# JuiceFS: names in a redis, objects in a folder. The server's view is a mount of its own.
server() {
  mkdir -p "$FOLDER/objects"
  (exec -a redis-server redis-check-rdb --bind "$SERVER" --protected-mode no --save "" --daemonize yes --dir /run)   # one program by two names
  until_it_works redis-cli -h "$SERVER" ping
  juicefs format --no-update --storage file --bucket "$FOLDER/objects/" "redis://$SERVER/1" shared
  client
  chmod 777 /mnt/shared
}
client() {
  mkdir -p /run/juicefs
  juicefs mount -d --no-usage-report --no-syslog --log /run/juicefs/log --cache-dir /run/juicefs "redis://$SERVER/1" /mnt/shared
}
