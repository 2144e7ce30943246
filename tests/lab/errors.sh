# Requests that fail (bad sectors, dm-error) are counted, and never timed as successes.

modprobe -a dm-mod configfs
modprobe null_blk nr_devices=0
export DM_DISABLE_UDEV=1
disk=/dev/nvme0n1 size=$(sectors /dev/nvme0n1)
dd if=/dev/zero of=$disk bs=1M count=12 conv=fsync 2>/dev/null
awk 'BEGIN { for (j = 0; j < 400; j++) printf "%.6f ; %d ; 8 ; R\n", j / 1000, (j * 7 % 400) * 48 }' >/tmp/reads.load
awk 'BEGIN { for (j = 0; j < 400; j++) printf "%.6f ; %d ; 8 ; %s\n", j / 1000, (j * 7 % 400) * 48, j % 2 ? "W" : "R" }' >/tmp/mixed.load
replay() {
  rm -f /tmp/records.csv
  iosonar replay "$@" --json -q -o /tmp/records.csv >/tmp/replayed 2>/tmp/said
}

# bad_sectors NAME DEVICE: every tenth place of the device has a sector that cannot be read.
bad_sectors() {
  replay /tmp/reads.load --target "$2" --max-errors 1000
  code=$?
  claim "$1: failed requests are flagged" test $code -ne 0
  echo "== exit code $code; $(cat /tmp/said)"
  equal "$1: reads of bad sectors fail, and no others" "$(metric /tmp/replayed errors value)" 40
  equal "$1: what succeeded is timed, and nothing else" "$(metric /tmp/replayed latency n '"op":"read"')" 360
  equal "$1: so are the delays" "$(metric /tmp/replayed delay n '"op":"read"')" 360
  equal "$1: the records name the failed ones" "$(failed_places /tmp/records.csv)" "$(seq 0 480 18720 | tr '\n' ' ')"
  replay /tmp/reads.load --target "$2"
  equal "$1: without --max-errors the first failure ends the replay" $? 1
}

# The kernel's own bad-block list, in the driver null_blk.
mkdir -p /sys/kernel/config
mount -t configfs configfs /sys/kernel/config
bad=/sys/kernel/config/nullb/bad
mkdir $bad
echo 12 >$bad/size
echo 1 >$bad/memory_backed
for j in $(seq 0 10 390); do echo "+$((j * 48 + 3))-$((j * 48 + 3))" >$bad/badblocks; done
echo 1 >$bad/power
# Kernels name it by its number or by its folder.
driver=/dev/nullb$(cat $bad/index)
[ -b "$driver" ] || driver=/dev/bad
bad_sectors "a driver's bad sectors" "$driver"
echo 0 >$bad/power
rmdir $bad

# The same in the device mapper.
for j in $(seq 0 10 390); do
  at=$((j * 48))
  echo "$at 3 linear $disk $at"
  echo "$((at + 3)) 1 error"
  echo "$((at + 4)) 476 linear $disk $((at + 4))"
done >/tmp/table
claim "a device with bad sectors was made" dmsetup create bad /tmp/table
bad_sectors "bad sectors of dm-error" /dev/mapper/bad
dmsetup remove bad

# The second quarter of a device fails, writes too.
quarter=$((size / 4))
dmsetup create broken --table "0 $quarter linear $disk 0
$quarter $quarter error
$((2 * quarter)) $((2 * quarter)) linear $disk $((2 * quarter))"
broken() { awk -v q=$quarter -v op="$1" '$7 == op && $3 >= q && $3 < 2 * q { n++ } END { print n + 0 }' /tmp/mixed.load; }
# What cannot be read may hold data, so it has to be named.
replay /tmp/mixed.load --target /dev/mapper/broken --write --destroy /dev/mapper/broken --max-errors 1000
equal "reads and writes of a broken part fail, and no others" "$(metric /tmp/replayed errors value)" $(($(broken R) + $(broken W)))
equal "reads elsewhere are timed" "$(metric /tmp/replayed latency n '"op":"read"')" $((200 - $(broken R)))
equal "writes elsewhere are timed" "$(metric /tmp/replayed latency n '"op":"write"')" $((200 - $(broken W)))
dmsetup remove broken

# Sectors that turn bad (dm-dust), where the kernel has that.
if modprobe dm-dust 2>/dev/null; then
  claim "a dusty device was made" dmsetup create dust --table "0 $size dust $disk 0 512"
  for j in $(seq 0 10 390); do dmsetup message dust 0 addbadblock $((j * 48 + 3)) >/dev/null 2>&1; done
  dmsetup message dust 0 enable
  bad_sectors "bad sectors of dm-dust" /dev/mapper/dust
  dmsetup remove dust
else
  echo "== no dm-dust in this kernel"
fi
