#!/usr/bin/env bash
# mercutio jobs: sums over records, filters, JSON, a page; what is no record is left out and counted. Ten thousand are read at once.
. "$(dirname "$0")/lib.sh"
root="$(cd "$(dirname "$0")/../.." && pwd)"
python="$(command -v python3)" || skip "no python3"
cd "$scratch"
"$python" "$root/tests/tools/make_job_records.py" records 10000
text="$(timeout 20 "$MERCUTIO" jobs records)"
contains "$text" "10000 jobs of 50 users, 2025-11-24 to "
contains "$text" "By finding"
lacks "$text" "left out"

cat >ask.py <<'P'
import glob, json, sys
jobs = [json.loads(line) for name in glob.glob("records/**/*.mjob", recursive=True) for line in open(name)]
said = json.load(open("said.json"))
lost = lambda job: max([one["seconds"] for one in job["findings"]], default=0) * job["ranks"] / 3600
near = lambda a, b: abs(a - b) <= 1e-4 * abs(b)
wanted = {}
for job in jobs:
    wanted.setdefault(job["user"], []).append(job)
assert said["jobs"] == len(jobs) and said["users"] == 50, said["jobs"]
assert near(said["all"]["lost_rank_hours"], sum(map(lost, jobs)))
assert near(said["all"]["rank_hours"], sum(job["seconds"] * job["ranks"] / 3600 for job in jobs))
rows = said["by_user"]
assert len(rows) == 3 and [row["name"] for row in rows] == sorted(wanted, key=lambda user: -sum(map(lost, wanted[user])))[:3]
assert near(rows[0]["lost_rank_hours"], sum(map(lost, wanted[rows[0]["name"]])))
assert {row["name"] for row in said["by_file_system"]} == {"lustre", "nfs", "gpfs"}
assert sum(row["jobs"] for row in said["by_day"]) == len(jobs)
P
"$MERCUTIO" jobs records --json --top 3 >said.json
"$python" ask.py || fail "the sums are not those of the records"

contains "$("$MERCUTIO" jobs records --user user7)" " of 1 user, "
contains "$("$MERCUTIO" jobs records --user nobody)" "no job"
lacks "$("$MERCUTIO" jobs records --program model3.exe)" "model2.exe"
contains "$("$MERCUTIO" jobs records --since 2025-11-25 --until 2025-11-25)" "432 jobs of 50 users, 2025-11-25 to 2025-11-25"
for date in 2025-13-01 2025-02-30 2025-11-31 2025-00-00 x; do
  "$MERCUTIO" jobs records --until $date >said 2>&1 && fail "$date is no date"
  contains "$(cat said)" "--until $date: neither a date"
done
lacks "$("$MERCUTIO" jobs records --finding serial --json)" '"by_finding":[]'
"$MERCUTIO" jobs records --html page.html
contains "$(cat page.html)" "10000 jobs of 50 users"
lacks "$(cat page.html)" "http"
lacks "$(cat page.html)" "<script"

# Of a record of one rank, the I/O is that rank's, and nobody knows whether the others wait for it.
mkdir one
printf '{"format":"mercutio-job","version":1,"user":"u","program":"p","ranks":4,"ranks_known":1,"start":1,"seconds":3600,"io_seconds":1800,"findings":[{"id":"serial","seconds":900,"factor":1.3,"at_most":true}],"files":[],"uid":%s}\n' "$(id -u)" >one/a.mjob
contains "$("$MERCUTIO" jobs one)" "4 rank hours, 12.5 % of them in I/O; remedies would win 0 (0.0 %), at most 1 where other ranks wait unseen"
contains "$("$MERCUTIO" jobs one)" "<= 1"
contains "$("$MERCUTIO" jobs one --json)" '"lost_rank_hours":0,"most_rank_hours":1'

# Names of any length, and of bytes that are no text.
mkdir long
printf '{"format":"mercutio-job","version":1,"user":"u","program":"%s","ranks":4,"start":1,"seconds":10,"findings":[],"files":[],"uid":%s}\n' \
  "$(head -c 200000 /dev/zero | tr '\0' x)end" "$(id -u)" >long/a.mjob
contains "$(timeout 20 "$MERCUTIO" jobs long)" "...xxx"
timeout 20 "$MERCUTIO" jobs long --html page.html
mkdir bytes
printf '{"format":"mercutio-job","version":1,"user":"u","program":"%s","ranks":4,"start":1,"seconds":10,"findings":[],"files":[],"uid":%s}\n' \
  'bad\\xff\\x5cxfe' "$(id -u)" >bytes/a.mjob
contains "$("$MERCUTIO" jobs bytes)" 'bad\xff\x5cxfe '
contains "$("$MERCUTIO" jobs bytes --json)" '"bad\\xff\\x5cxfe"'
"$MERCUTIO" jobs bytes --html page.html
contains "$(cat page.html)" '>bad\xff\x5cxfe<'

# What is none, or somebody has put there.
mkdir odd odd/folder.mjob
echo '{"format":"mercutio-job"' >odd/cut.mjob
echo hello >odd/notes.txt
mkfifo odd/pipe.mjob
ln -s /etc/passwd odd/link.mjob
: >odd/empty.mjob
printf '%s\n' '{"format":"mercutio-job","version":1,"user":"<b>x</b>","program":"p\u0000\n","ranks":2,"start":1,"seconds":10,"findings":[],"files":[],"uid":0}' 'x' >odd/two.mjob
text="$(timeout 20 "$MERCUTIO" jobs odd)"
contains "$text" "1 job of 1 user, 1970-01-01"
contains "$text" "left out: 3 of another kind, 3 damaged"
ln -s odd/two.mjob named.mjob   # a link that the user names
contains "$("$MERCUTIO" jobs named.mjob)" "1 job of 1 user, 1970-01-01"
"$MERCUTIO" jobs odd --html page.html
lacks "$(cat page.html)" "<b>x"

# Somebody's file without an end, folders in folders, and numbers whose sum is too large keep nobody from asking.
line() { printf '{"format":"mercutio-job","version":1,"user":"u","program":"p","ranks":2,"start":1,"seconds":10,"read":%s,"findings":[],"files":[],"uid":%s}\n' "$1" "$(id -u)"; }
mkdir huge
for k in 1 2 3 4 5 6 7 8 9 10; do line 1152921504606846000 >"huge/$k.mjob"; done
truncate -s 8T huge/sparse.mjob
{ line 1; head -c 300000 /dev/zero | tr '\0' x; echo; line 1; } >huge/long.mjob
"$python" -c '
import os
os.chdir("huge")
for _ in range(1200):
    os.mkdir("d")
    os.chdir("d")'
text="$( (ulimit -n 256 && ulimit -v 4000000 && timeout 60 "$MERCUTIO" jobs huge) )"
contains "$text" "11 jobs of 1 user"
contains "$text" "left out: 2 damaged or of another version, 1 not readable"
contains "$("$MERCUTIO" jobs huge --json)" '"bytes":9223372036854775807'
"$python" -c '
import os
os.chdir("huge")
depth = 0
while os.path.isdir("d"):
    os.chdir("d")
    depth += 1
for _ in range(depth):
    os.chdir("..")
    os.rmdir("d")'

# No name moves the cursor or turns the text around: ESC, CSI in one character, an override of the direction.
mkdir control
printf '{"format":"mercutio-job","version":1,"user":"a\\u001b[2J\\u009b2Jb","program":"p\\u202e\\u009d","ranks":2,"start":1,"seconds":10,"findings":[],"files":[],"uid":%s}\n' "$(id -u)" >control/one.mjob
"$MERCUTIO" jobs control --html page.html >out
"$MERCUTIO" jobs control >>out
cat page.html >>out
"$python" - <<'P' || fail "control characters are printed: $(cat -v out)"
text = open("out", encoding="utf-8").read()
assert not [c for c in text if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160 or c == "\u202e")]
P

# Columns stay where they are whatever letters the names have, and none is cut in the middle.
mkdir letters
for name in anna müller 山田 "$(printf 'ü%.0s' {1..60})"; do
  printf '{"format":"mercutio-job","version":1,"user":"%s","program":"%s","ranks":3600,"start":1,"seconds":10,"io_seconds":5,"findings":[],"files":[],"uid":%s}\n' "$name" "$name" "$(id -u)"
done >letters/all.mjob
"$MERCUTIO" jobs letters >out
"$python" - <<'P' || fail "the columns are not straight: $(cat out)"
import unicodedata
lines = open("out", encoding="utf-8").read().splitlines()
begin = lines.index(next(line for line in lines if line.startswith("By user")))
rows = lines[begin + 1:begin + 5]
wide = lambda text: sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
assert len(rows) == 4 and len({wide(row.rstrip()) for row in rows}) == 1, [wide(row) for row in rows]
assert any("..." + 39 * "ü" in row for row in rows), rows
P

for line in "--since yesterday records" "--finding nosuch records" "--top 0 records"; do
  code=0
  # shellcheck disable=SC2086
  "$MERCUTIO" jobs $line >out 2>err || code=$?
  equals "$code" 2
  [ -s err ] || fail "nothing is said of $line"
done
code=0
"$MERCUTIO" jobs 2>err || code=$?
equals "$code" 2
contains "$(cat err)" "MERCUTIO_SITE"
contains "$(MERCUTIO_SITE="$scratch/records/%u-%j" "$MERCUTIO" jobs)" "10000 jobs"
code=0
"$MERCUTIO" jobs nowhere 2>err || code=$?
equals "$code" 1
code=0
"$MERCUTIO" jobs records --html nowhere/page.html 2>err || code=$?
equals "$code" 1
contains "$(cat err)" "nowhere/page.html: can't be written"
