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
  # 8 or 16 sectors within 2,000 places, so that many are written again; one request in 30 is a flush, one in 25 has FUA, so that
  # several writes are in a volatile cache at most moments.
  awk -v seed="$SEED" 'BEGIN {
    srand(seed)
    for (i = 0; i < 40000; i++) {
      time += 0.01 * rand()
      kind = rand()
      place = int(rand() * 2000) * 16
      if (kind < 0.03) printf "%.6f ; 0 ; 0 ; F\n", time
      else printf "%.6f ; %d ; %d ; %s\n", time, place, rand() < 0.5 ? 8 : 16, kind < 0.07 ? "WF" : kind < 0.85 ? "W" : "R"
    }
  }' >/tmp/mixed.load
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
