# S3: moto behind the server that checks requests (tests/drivers/s3_store.py). Clients mount nothing.
server() {
  local here="$(dirname "$0")"
  "$here/../../../.venv-s3/bin/python" "$here/../../drivers/s3_store.py" "$SERVER" 9000 9001 > "$FOLDER/store.log" 2>&1 &
  until_it_works grep -q ready "$FOLDER/store.log"
}
client() {
  :
}
