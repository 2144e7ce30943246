# A replay on a device that logs every write, flush and FUA (dm-log-writes), from which the host builds what a loss of power
# would have left at any moment: see log_writes.rs.
#
# nvme0n1 is logged on vda. Its first 24,576 sectors are the target, the rest holds the tables, so that both are cut at
# the same moment.

modprobe -a dm-mod dm-log-writes ext4
export DM_DISABLE_UDEV=1
disk=/dev/nvme0n1
size=$(sectors $disk)
claim "the logged device was made" dmsetup create logged --table "0 $size log-writes $disk /dev/vda"
dmsetup create target --table "0 24576 linear /dev/mapper/logged 0"
dmsetup create tables --table "0 $((size - 24576)) linear /dev/mapper/logged 24576"
mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 /dev/mapper/tables
mkdir -p /mnt/tables
claim "the tables' file system is mounted" mount -t ext4 -o commit=1 /dev/mapper/tables /mnt/tables
sync
dmsetup message logged 0 mark begin

# As for a power cut, and discards where nothing is written again.
mixed_load "${SEED:-1}" 1000 1200 0.05 0.01 0.14 >/tmp/mixed.load
iosonar replay /tmp/mixed.load --target /dev/mapper/target --write --keep-tables /mnt/tables/replay.tables --durable-tables \
  --json -q >/tmp/replayed 2>/tmp/said
cat /tmp/said
equal "all requests were completed" "$(metric /tmp/replayed completed value)" 1001
dmsetup message logged 0 mark end
umount /mnt/tables
dmsetup remove tables
dmsetup remove target
claim "the log is complete" dmsetup remove logged
sync
