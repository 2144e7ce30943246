# A replay with writes, flushes and FUA whose power is cut; at the next boot nothing that was durable may be lost.
#
# vda holds the tables; vdb is the target, whose log the host replays up to the cut, without a random part of what no flush
# had covered: that is what a volatile cache may lose (lab.rs). The variables: SEED of the load, or nothing to check and not go on.

target=/dev/vdb
modprobe ext4
mkdir -p /mnt/tables
if [ "$(dd if=/dev/vda bs=1 skip=1080 count=2 2>/dev/null | hexdump -e '1/2 "%x"')" != ef53 ]; then
  mkfs.ext4 -q -F /dev/vda
fi
claim "the tables' file system is mounted" mount /dev/vda /mnt/tables

if [ -e /mnt/tables/replay.tables ]; then
  iosonar verify /mnt/tables/replay.tables --target $target --after-crash --json -q >/tmp/verified 2>/tmp/said
  equal "after the power was cut nothing is wrong" "$?" 0
  cat /tmp/said
  equal "no sector is wrong" "$(metric /tmp/verified wrong_sectors value)" 0
  durable=$(metric /tmp/verified durable_sectors value)
  flushes=$(metric /tmp/verified flushes value)
  between "sectors were durable" "$durable" 8 1000000
  echo "== durable $durable sectors, $flushes flushes, $(metric /tmp/verified writes value) writes, cut off $(metric /tmp/verified cut_off_bytes value) bytes"
  rm /mnt/tables/replay.tables
fi
if [ -n "$SEED" ]; then
  dd if=/dev/zero of=$target bs=1M conv=fsync 2>/dev/null
  # So that many places are written again, and several writes are in a volatile cache at most moments.
  mixed_load "$SEED" 40000 2000 0.03 0 0.04 >/tmp/mixed.load
  sync
  before=$(sectors_written $target)
  iosonar replay /tmp/mixed.load --target $target --write --keep-tables /mnt/tables/replay.tables --durable-tables -q >/tmp/said 2>&1 &
  replay=$!
  wait_for_sectors $target $((before + 1000)) $replay
  kill -0 $replay || die "the replay ended: $(cat /tmp/said)"
  echo "== power may be cut"
  wait $replay
  die "the replay ended before the power was cut: $(head -c 500 /tmp/said)"
fi
