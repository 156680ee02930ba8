#!/bin/sh
# servers.sh FOLDER COMMAND...: runs the command with new emulated servers (tests/tools/striped_servers.c) in that folder.
set -e
rm -rf "$1"
mkdir -p "$1"/.server0 "$1"/.server1
head -c 65536 /dev/zero > "$1"/.servers
export MERCUTIO_SERVERS_ROOT="$1" MERCUTIO_SERVERS_COUNT=2 MERCUTIO_SERVERS_LOCKS=1 MERCUTIO_SERVERS_CLIENT=process MERCUTIO_SERVERS_MESSAGE=0
shift
exec "$@"
