# A device that acknowledges writes and flushes and drops them (dm-flakey, drop_writes): exactly what is missing is lost.
#
# The device nvme0n1 becomes a liar in every third segment half-way through the replay, between two parts of the load.

modprobe -a dm-mod dm-flakey
export DM_DISABLE_UDEV=1
disk=/dev/nvme0n1 liar=/dev/mapper/liar
dd if=/dev/zero of=$disk bs=1M count=12 conv=fsync 2>/dev/null
table() { # HOW: all segments of 1,024 sectors are honest, or every third is lying
  awk -v disk=$disk -v how="$1" 'BEGIN {
    for (i = 0; i < 24; i++) {
      if (how == "lying" && i % 3 == 2) printf "%d 1024 flakey %s %d 0 60 1 drop_writes\n", i * 1024, disk, i * 1024
      else printf "%d 1024 linear %s %d\n", i * 1024, disk, i * 1024
    }
  }'
}
# First 400 places are written; then, when the device lies, every other of them again, and 80 new ones.
awk 'BEGIN {
  for (j = 0; j < 400; j++) printf "%.6f ; %d ; 8 ; W\n", j / 1000, (j * 7 % 400) * 48
  print "0.5 ; 0 ; 0 ; F"
  for (j = 0; j < 400; j += 2) printf "%.6f ; %d ; 8 ; W\n", 5 + j / 1000, j * 48
  for (j = 0; j < 400; j += 5) printf "%.6f ; %d ; 8 ; %s\n", 5.5 + j / 1000, j * 48 + 16, j % 2 ? "W" : "WF"
  print "6 ; 0 ; 0 ; F"
}' >/tmp/two_parts.load
older=$(awk 'BEGIN { for (j = 0; j < 400; j += 2) if (int(j * 48 / 1024) % 3 == 2) n += 8; print n }')
zeros=$(awk 'BEGIN { for (j = 0; j < 400; j += 5) if (int((j * 48 + 16) / 1024) % 3 == 2) n += 8; print n }')

table honest >/tmp/honest
table lying >/tmp/lying
claim "the device was made" dmsetup create liar /tmp/honest
before=$(sectors_written $disk)
iosonar replay /tmp/two_parts.load --target $liar --write --keep-tables /tmp/liar.tables --json -q >/tmp/replayed 2>/tmp/said &
replay=$!
wait_for_sectors $disk $((before + 3200)) $replay
sleep 0.5
dmsetup suspend liar && dmsetup load liar /tmp/lying && dmsetup resume liar
equal "the device became a liar between the parts" $(($(sectors_written $disk) - before)) 3200
wait $replay
equal "all requests were completed" "$(metric /tmp/replayed completed value)" 682
equal "none failed, for the device said so" "$(metric /tmp/replayed errors value)" 0

for after in "" --after-crash; do
  iosonar verify /tmp/liar.tables --target $liar $after --json -q >/tmp/verified 2>/tmp/said
  equal "verify $after flags the device" $? 3
  equal "verify $after finds what was dropped, and nothing else" "$(metric /tmp/verified wrong_sectors value)" $((older + zeros))
  equal "verify $after finds older versions where the liar had something to keep" "$(kind_sectors /tmp/verified 'older version')" "$older"
  equal "verify $after finds zeros where it had nothing" "$(kind_sectors /tmp/verified zeros)" "$zeros"
done
equal "every sector of the load had been made durable, by its word" "$(metric /tmp/verified durable_sectors value)" 3840
iosonar verify /tmp/liar.tables --target $liar --after-crash -q 2>/dev/null | grep verdict
dmsetup remove liar
