# A single sector that is corrupted, in every way, is found and classified, and nothing else is.

modprobe -a dm-mod
export DM_DISABLE_UDEV=1
disk=/dev/nvme0n1
dd if=/dev/zero of=$disk bs=1M count=12 conv=fsync 2>/dev/null

# 200 places of 8 sectors are written twice, 20 more without a flush after them.
awk 'BEGIN {
  for (round = 0; round < 2; round++) {
    for (j = 0; j < 200; j++) printf "%.6f ; %d ; 8 ; W\n", round * 3 + j / 1000, j * 16
    printf "%.6f ; 0 ; 0 ; F\n", round * 3 + 0.4
  }
  for (j = 200; j < 220; j++) printf "%.6f ; %d ; 8 ; W\n", 3.5 + j / 1000, j * 16
}' >/tmp/twice.load
head -200 /tmp/twice.load >/tmp/once.load

# A run before this one leaves tags of its own.
iosonar replay /tmp/once.load --target $disk --write --tag -q >/dev/null 2>/tmp/said
copy_sector $disk 960 /tmp/foreign 0
dd if=/dev/zero of=$disk bs=1M count=12 conv=fsync 2>/dev/null
before=$(sectors_written $disk)
iosonar replay /tmp/twice.load --target $disk --write --keep-tables /tmp/twice.tables -q >/dev/null 2>/tmp/said &
replay=$!
wait_for_sectors $disk $((before + 1600)) $replay
# The second round has to wait, however long the copy takes.
kill -STOP $replay
copy_sector $disk 960 /tmp/older 0 8
equal "the first version was copied in time" $(($(sectors_written $disk) - before)) 1600
kill -CONT $replay
wait $replay

# verified NAME CODE KIND SECTORS [TARGET]: what both kinds of verification find.
verified() {
  for after in "" --after-crash; do
    iosonar verify /tmp/twice.tables --target "${5:-$disk}" $after --json -q >/tmp/verified 2>/tmp/said
    seen="exit code $?, $(metric /tmp/verified wrong_sectors value) wrong sectors, $(kind_sectors /tmp/verified "$3") of kind $3"
    equal "$1: verify $after finds that, and nothing else" "$seen" "exit code $2, $4 wrong sectors, $4 of kind $3"
  done
}

# corrupted NAME KIND SECTORS FILE: puts the sectors of FILE at sector 960 for a while.
corrupted() {
  copy_sector $disk 960 /tmp/right 0 8
  copy_sector "$4" 0 $disk 960 "$3"
  verified "$1" 3 "$2" "$3"
  copy_sector /tmp/right 0 $disk 960 8
}

verified "nothing" 0 "" 0
copy_sector $disk 960 /tmp/flipped 0
byte=$(dd if=/tmp/flipped bs=1 skip=300 count=1 2>/dev/null | hexdump -e '1/1 "%d"')
printf "\\$(printf %o $((byte ^ 16)))" | dd of=/tmp/flipped bs=1 seek=300 conv=notrunc 2>/dev/null
copy_sector $disk 1600 /tmp/other 0
dd if=/dev/zero of=/tmp/zeros bs=512 count=1 2>/dev/null
dd if=/dev/urandom of=/tmp/garbage bs=512 count=1 2>/dev/null
{ dd if=/tmp/flipped bs=256 count=1; dd if=/tmp/older bs=256 count=1 skip=1; } >/tmp/halves 2>/dev/null
corrupted "a zeroed sector" zeros 1 /tmp/zeros
corrupted "a flipped bit" damaged 1 /tmp/flipped
corrupted "halves of two versions" damaged 1 /tmp/halves
corrupted "another sector's data" "tag of another sector" 1 /tmp/other
corrupted "another run's data" "foreign run" 1 /tmp/foreign
corrupted "random data" "no tag" 1 /tmp/garbage
corrupted "an older version of a whole write" "older version" 8 /tmp/older
corrupted "an older version of one sector of a write" torn 1 /tmp/older
dmsetup create hole --table "0 963 linear $disk 0
963 1 error
964 $(($(sectors $disk) - 964)) linear $disk 964" 2>/tmp/said || fail "the device with a hole was made" "$(cat /tmp/said)"
verified "a sector that cannot be read" 3 unreadable 1 /dev/mapper/hole
dmsetup remove hole
verified "everything restored" 0 "" 0

# Nothing had made the last 20 places durable: what was there before may be back, but nothing else.
after_crash() { # NAME CODE WRONG FIGURE SECTORS
  iosonar verify /tmp/twice.tables --target $disk --after-crash --json -q >/tmp/verified 2>/tmp/said
  seen="exit code $?, $(metric /tmp/verified wrong_sectors value) wrong sectors, $(metric /tmp/verified "$4" value) in $4"
  equal "$1" "$seen" "exit code $2, $3 wrong sectors, $5 in $4"
}
copy_sector $disk 3200 /tmp/right 0
copy_sector /tmp/zeros 0 $disk 3200
after_crash "a write that never arrived" 0 0 never_arrived_sectors 1
for what in garbage flipped other; do
  copy_sector /tmp/$what 0 $disk 3200
  after_crash "$what where nothing was durable" 3 1 damaged_not_durable_sectors 1
done
copy_sector /tmp/right 0 $disk 3200
