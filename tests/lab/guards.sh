# What must not be written to is refused, and not a byte of it changes; what is free may be used.
#
# nvme0n1 clean; nvme1n1 partitioned, one partition mounted; nvme2n1 mounted as a whole; nvme3n1 and nvme4n1 an md array;
# nvme5n1 partitioned, unused; nvme6n1 mounted in another mount namespace; vda LVM; vdb dm-crypt; vdc and vdd a thin
# pool; vde multipath; vdf swap.

modprobe -a loop raid1 dm-mod dm-crypt dm-thin-pool dm-multipath dm-round-robin xts ecb aes_generic
export DM_DISABLE_UDEV=1
load=/tmp/writes.load
awk 'BEGIN { for (i = 0; i < 20; i++) printf "%.3f ; %d ; 8 ; W\n", i / 1000, i * 160 }' >"$load"
awk 'BEGIN { for (i = 0; i < 20; i++) printf "%.3f ; %d ; 8 ; R\n", i / 1000, i * 160 }' >/tmp/reads.load

# Runs iosonar; its exit code goes to $code, what it said to /tmp/said.
attempt() {
  iosonar "$@" -q >/tmp/said 2>&1
  code=$?
}

# in_use NAME DEVICE WHY MEDIA...: every way to touch the device is refused because of WHY, and nothing is written to MEDIA.
in_use() {
  name=$1 device=$2 why=$3
  shift 3
  before=$(contents "$@")
  count=$(for medium in "$@"; do written "$medium"; done)
  for way in "replay $load --write --destroy $device" "replay /tmp/reads.load" "prepare fill --write --destroy $device"; do
    attempt $way --target "$device"
    if [ "$code" = 2 ] && grep -q "$why" /tmp/said; then ok "$name: ${way%% --destroy*} is refused"
    else fail "$name: $way is refused" "exit code $code, $(head -c 300 /tmp/said)"; fi
  done
  equal "$name: nothing was written" "$(for medium in "$@"; do written "$medium"; done)" "$count"
  equal "$name: the contents are the same" "$(contents "$@")" "$before"
}

# holds_data NAME DEVICE WHAT MEDIA...: writing needs --destroy, and nothing is written to MEDIA without it.
holds_data() {
  name=$1 device=$2 what=$3
  shift 3
  before=$(contents "$@")
  for way in "replay $load --write" "prepare fill --write"; do
    attempt $way --target "$device"
    if [ "$code" = 2 ] && grep -q "$what" /tmp/said; then ok "$name: $way is refused"
    else fail "$name: $way is refused" "exit code $code, $(head -c 300 /tmp/said)"; fi
  done
  attempt replay $load --write --target "$device" --destroy /dev/nvme0n1
  equal "$name: naming another device to be destroyed is refused" "$code" 2
  equal "$name: the contents are the same" "$(contents "$@")" "$before"
}

# free NAME DEVICE [OPTION...]: a replay with writes is done, and what was written is there.
free() {
  name=$1 device=$2
  shift 2
  attempt replay "$load" --target "$device" --write --verify final --json "$@"
  if { [ "$code" = 0 ] || [ "$code" = 3 ]; } && [ "$(metric /tmp/said completed value)" = 20 ] &&
    [ "$(metric /tmp/said verify_failed value)" = 0 ]; then ok "$name may be written to"
  else fail "$name may be written to" "exit code $code, $(head -c 300 /tmp/said)"; fi
}

new_file_system() { mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 "$1"; }

# Partitions.
for disk in nvme1n1 nvme5n1; do printf '2048,6144\n8192,6144\n' | sfdisk -q "/dev/$disk" 2>/dev/null; done
sleep 1
claim "partitions were made" test -b /dev/nvme1n1p2
new_file_system /dev/nvme1n1p1 && mkdir -p /mnt/part && mount -o noatime /dev/nvme1n1p1 /mnt/part
in_use "a disk with a mounted partition" /dev/nvme1n1 "mounted at /mnt/part" /dev/nvme1n1
in_use "a mounted partition" /dev/nvme1n1p1 "mounted at /mnt/part" /dev/nvme1n1
free "the partition beside a mounted one" /dev/nvme1n1p2
holds_data "a disk with a partition table" /dev/nvme5n1 "partition table" /dev/nvme5n1

# A whole disk, and files on it.
new_file_system /dev/nvme2n1 && mkdir -p /mnt/whole && mount -o noatime /dev/nvme2n1 /mnt/whole
in_use "a mounted disk" /dev/nvme2n1 "mounted at /mnt/whole" /dev/nvme2n1
dd if=/dev/urandom of=/mnt/whole/image bs=1M count=4 2>/dev/null
holds_data "a file with data" /mnt/whole/image "data" /dev/nvme2n1
loop=$(losetup -f)
losetup "$loop" /mnt/whole/image
holds_data "a loop device over a file with data" "$loop" "data" /dev/nvme2n1
attempt replay "$load" --target /mnt/whole/image --write --destroy /mnt/whole/image
equal "a file behind a loop device is refused" "$code" 2
losetup -d "$loop"

# An array.
mdadm --create /dev/md0 --run --force --level=1 --metadata=1.2 --assume-clean --raid-devices=2 /dev/nvme3n1 /dev/nvme4n1 2>/dev/null
claim "the array runs" test -b /dev/md0
in_use "a member of an array" /dev/nvme3n1 "held by md0" /dev/nvme3n1 /dev/nvme4n1
new_file_system /dev/md0
sync
# The members' superblocks change until the array calls itself clean.
for i in 1 2 3 4 5 6 7 8 9 10; do grep -q clean /sys/block/md0/md/array_state || sleep 0.5; done
holds_data "an array with a file system" /dev/md0 "ext4 file system" /dev/nvme3n1 /dev/nvme4n1
mkdir -p /mnt/md && mount -o noatime /dev/md0 /mnt/md
sync
sleep 1
in_use "a mounted array" /dev/md0 "mounted at /mnt/md" /dev/nvme3n1 /dev/nvme4n1
umount /mnt/md
mdadm --stop /dev/md0 2>/dev/null
holds_data "a member of a stopped array" /dev/nvme4n1 "member of an md array" /dev/nvme3n1 /dev/nvme4n1
for version in 0.90 1.0; do
  for disk in nvme3n1 nvme4n1; do dd if=/dev/zero of=/dev/$disk bs=1M 2>/dev/null; done
  mdadm --create /dev/md0 --run --force --level=1 --metadata=$version --assume-clean --raid-devices=2 /dev/nvme3n1 /dev/nvme4n1 2>/dev/null
  mdadm --stop /dev/md0 2>/dev/null
  holds_data "a member with its superblock at the end (version $version)" /dev/nvme4n1 "md array\|data" /dev/nvme3n1 /dev/nvme4n1
done

# Stacks of the device mapper.
mkdir -p /etc/lvm
lvm='activation { udev_sync = 0 udev_rules = 0 } devices { obtain_device_list_from_udev = 0 use_devicesfile = 0 } backup { backup = 0 archive = 0 }'
lvm pvcreate --config "$lvm" -qq /dev/vda >/tmp/lvm 2>&1
holds_data "a physical volume" /dev/vda "LVM physical volume" /dev/vda
lvm vgcreate --config "$lvm" -qq lab /dev/vda >>/tmp/lvm 2>&1
lvm lvcreate --config "$lvm" -qq -y -Wn -Zn -L 4M -n volume lab >>/tmp/lvm 2>&1
volume=/dev/mapper/lab-volume
if test -b $volume; then ok "a logical volume was made"; else fail "a logical volume was made" "$(cat /tmp/lvm)"; fi
in_use "a physical volume under a logical one" /dev/vda "held by dm-" /dev/vda
free "a clean logical volume" $volume
dd if=/dev/zero of=$volume bs=1M 2>/dev/null
new_file_system $volume && mkdir -p /mnt/lv && mount -o noatime $volume /mnt/lv
in_use "a mounted logical volume" $volume "mounted at /mnt/lv" /dev/vda

key=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff
claim "an encrypted volume was made" dmsetup create crypt --table "0 $(sectors /dev/vdb) crypt aes-xts-plain64 $key 0 /dev/vdb 0"
in_use "a disk under dm-crypt" /dev/vdb "held by dm-" /dev/vdb
new_file_system /dev/mapper/crypt
holds_data "an encrypted volume with a file system" /dev/mapper/crypt "ext4 file system" /dev/vdb
dmsetup remove crypt

claim "a thin pool was made" dmsetup create pool --table "0 $(sectors /dev/vdd) thin-pool /dev/vdc /dev/vdd 128 0"
dmsetup message pool 0 "create_thin 0"
claim "a thin volume was made" dmsetup create thin --table "0 65536 thin /dev/mapper/pool 0"
for part in "/dev/vdc metadata" "/dev/vdd data"; do
  in_use "a thin pool's ${part#* } device" "${part% *}" "held by dm-" /dev/vdc /dev/vdd
done
in_use "a thin pool" /dev/mapper/pool "held by dm-" /dev/vdc /dev/vdd
free "a clean thin volume" /dev/mapper/thin

claim "a multipath device was made" dmsetup create paths --table "0 $(sectors /dev/vde) multipath 0 0 1 1 round-robin 0 1 1 /dev/vde 1000"
in_use "a path of a multipath device" /dev/vde "held by dm-" /dev/vde
free "a clean multipath device" /dev/mapper/paths

# Swap.
mkswap /dev/vdf >/dev/null
holds_data "swap space" /dev/vdf "swap" /dev/vdf
swapon /dev/vdf
in_use "active swap space" /dev/vdf "swap" /dev/vdf
swapoff /dev/vdf

# A mount that this process cannot see.
new_file_system /dev/nvme6n1
mkdir -p /mnt/hidden
unshare -m sh -c 'mount --make-rprivate / 2>/dev/null; mount /dev/nvme6n1 /mnt/hidden && touch /tmp/hidden && sleep 1000' &
other=$!
for i in 1 2 3 4 5 6 7 8 9 10; do [ -e /tmp/hidden ] || sleep 0.5; done
claim "the disk is mounted elsewhere" test -e /tmp/hidden
claim "it is not mounted here" sh -c '! grep -q nvme6n1 /proc/self/mountinfo'
in_use "a disk mounted in another namespace" /dev/nvme6n1 "has opened .*exclusively" /dev/nvme6n1
kill $other

# Zones that must be written in order.
modprobe null_blk nr_devices=1 zoned=1 zone_size=4 zone_nr_conv=0 gb=1 memory_backed=1
equal "the zoned device is host-managed" "$(cat /sys/block/nullb0/queue/zoned)" host-managed
attempt replay "$load" --target /dev/nullb0 --write --destroy /dev/nullb0 --max-errors 100 --json
echo "== exit code $code; $(grep '^iosonar' /tmp/said)"
# One write is at the start of a zone, where it may be.
if [ "$code" = 2 ] || [ "$(metric /tmp/said errors value)" = 19 ]; then ok "random writes to sequential zones are refused, or fail and are counted"
else fail "random writes to sequential zones are refused, or fail and are counted" "exit code $code, $(head -c 300 /tmp/said)"; fi
attempt replay /tmp/reads.load --target /dev/nullb0 --json
equal "a zoned device may be read" "$(metric /tmp/said completed value)" 20

# Devices that are not in use.
free "a clean disk" /dev/nvme0n1
free "a partitioned disk, by its name" /dev/nvme5n1 --destroy /dev/nvme5n1
