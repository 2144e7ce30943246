# What the scenarios share. Every claim prints "ok - CLAIM" or "FAILED - CLAIM: why"; the scenario ends with 1 if one failed.

failed=0
claims=0

ok() { claims=$((claims + 1)); echo "ok - $1"; }

fail() {
  claims=$((claims + 1)) failed=$((failed + 1))
  echo "FAILED - $1: $2"
}

# claim TEXT CONDITION...: the command CONDITION succeeds.
claim() {
  text=$1
  shift
  if why=$("$@" 2>&1); then ok "$text"; else fail "$text" "$* ${why:+: $why}"; fi
}

# equal TEXT SEEN EXPECTED
equal() { if [ "$2" = "$3" ]; then ok "$1"; else fail "$1" "got '$2', expected '$3'"; fi; }

# between TEXT SEEN LEAST MOST, all decimal numbers.
between() {
  if awk -v x="$2" -v a="$3" -v b="$4" 'BEGIN { exit !(x != "" && x + 0 >= a + 0 && x + 0 <= b + 0) }'; then ok "$1"
  else fail "$1" "got '$2', expected $3 to $4"; fi
}

# The scenario cannot go on.
die() { echo "FAILED - $1"; exit 1; }

finish() {
  echo "== $claims claims, $failed failed"
  [ "$claims" -gt 0 ] && [ "$failed" = 0 ]
  exit $?
}

# metric FILE NAME FIELD [LABEL]: FIELD (value; of a distribution n, min, mean, max) of a metric in a result in JSON; with a
# label such as '"op":"read"' of the one that bears it.
metric() {
  awk -v name="\"name\":\"$2\"" -v field="\"$3\":" -v label="$4" '
    {
      count = split($0, metric, "[{]\"labels\":")
      for (i = 2; i <= count; i++) {
        if (index(metric[i], name ",") && (label == "" || index(metric[i], label))) {
          rest = substr(metric[i], index(metric[i], field) + length(field))
          sub(/[,}].*/, "", rest)
          print rest ~ /^-?[0-9.e+-]+$/ ? rest + 0 : rest
          exit
        }
      }
    }' "$1"
}

# mixed_load SEED REQUESTS PLACES FLUSHES DISCARDS FUA: a load of writes and reads of 8 or 16 sectors within so many places, of
# which the last three are the shares of flushes, of discards (of 8 sectors from sector 20,000 on, where nothing is written) and of
# writes with FUA; a flush follows 4 s after the last.
mixed_load() {
  awk -v seed="$1" -v requests="$2" -v places="$3" -v flushes="$4" -v discards="$5" -v fua="$6" 'BEGIN {
    srand(seed)
    for (i = 0; i < requests; i++) {
      time += 0.01 * rand()
      kind = rand()
      place = int(rand() * places) * 16
      if (kind < flushes) printf "%.6f ; 0 ; 0 ; F\n", time
      else if (kind < flushes + discards) printf "%.6f ; %d ; 8 ; D\n", time, 20000 + int(rand() * 400) * 8
      else printf "%.6f ; %d ; %d ; %s\n", time, place, rand() < 0.5 ? 8 : 16, kind < flushes + discards + fua ? "WF" : kind < 0.85 ? "W" : "R"
    }
    printf "%.6f ; 0 ; 0 ; F\n", time + 4
  }'
}

sectors() { blockdev --getsz "$1"; }

# stat_field DEVICE FIELD: a field of the kernel's counters of a device (Documentation/block/stat.rst).
stat_field() { awk -v field="$2" '{ print $field }' "/sys/class/block/${1##*/}/stat"; }

# Requests and sectors that were written. An empty flush counts as a request.
written() { stat_field "$1" 5; }
sectors_written() { stat_field "$1" 7; }

# wait_for_sectors DEVICE N PROCESS: waits until the device has been written N sectors in all, or the process has ended.
wait_for_sectors() {
  while [ "$(sectors_written "$1")" -lt "$2" ] && kill -0 "$3" 2>/dev/null; do sleep 0.05; done
}

# unchanged COMMAND...: waits until the output of the command has been the same for half a second, and prints it.
unchanged() {
  last='' same=0
  while [ $same -lt 10 ]; do
    now=$("$@")
    if [ "$now" = "$last" ]; then same=$((same + 1)); else last=$now same=0; fi
    sleep 0.05
  done
  echo "$last"
}

# A checksum over devices as they are on the medium.
contents() {
  sync
  for device in "$@"; do blockdev --flushbufs "$device"; done
  md5sum "$@"
}

# Copies a sector of one device to a place of another, past the page cache.
copy_sector() { # FROM SECTOR TO SECTOR
  blockdev --flushbufs "$1" 2>/dev/null
  dd if="$1" of="$3" bs=512 skip="$2" seek="$4" count="${5:-1}" conv=notrunc,fsync 2>/dev/null
}

# kind_sectors FILE KIND: how many sectors of a kind the ranges of a verification in JSON hold.
kind_sectors() {
  tr '{' '\n' <"$1" | awk -v kind="\"kind\":\"$2\"" '
    index($0, kind) && match($0, /"sectors":[0-9]+/) { n += substr($0, RSTART + 10, RLENGTH - 10) }
    END { print n + 0 }'
}

# failed_places FILE: the sectors of the failed requests in records in CSV, in order.
failed_places() { awk -F, 'NR > 1 && $(NF - 1) != "done" { print $2 }' "$1" | sort -n | tr '\n' ' '; }
