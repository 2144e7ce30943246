# Arrays of md over virtio disks, the requests to them one at a time, and what the kernel sends to the members. The first disk
# holds the arrays and their loads: "case MEMBERS RMW_LEVEL ROTATIONAL BURSTS LOST... | MDADM'S OPTIONS", then a load. The second takes
# what the tracepoint block_bio_queue shows of each: "case", then lines of DEVICE FLAGS SECTOR SECTORS.

trace=/sys/kernel/tracing
modprobe -a raid0 raid1 raid10 raid456 configfs
modprobe null_blk nr_devices=0
mount -t configfs configfs /sys/kernel/config 2>/dev/null
mkdir /tmp/loads
tr -d '\000' </dev/vda | awk '/^case/ { n++ } { print >sprintf("/tmp/loads/%03d", n) }'
echo 32768 >$trace/buffer_size_kb
# Enabled once, and off and on by the buffer: to enable a tracepoint the kernel rewrites its own code, in which an emulated
# machine was seen to hang.
echo 0 >$trace/tracing_on
echo 1 >$trace/events/block/block_bio_queue/enable

# Disks that answer after 50 ms. They stay: a kernel was seen to hang when it removed one.
for number in 0 1 2 3; do
  mkdir /sys/kernel/config/nullb/nullb$number
  (
    cd /sys/kernel/config/nullb/nullb$number
    echo 64 >size
    echo 1 >memory_backed
    echo 2 >irqmode
    echo 50000000 >completion_nsec
    echo 1 >power
  )
done

for load in /tmp/loads/*; do
  read -r line <$load
  options=${line#*|}
  set -- ${line%%|*}
  members=$2 rmw_level=$3 rotational=$4 bursts=$5
  shift 5
  disks= engine=sync number=0
  [ "$bursts" = 0 ] || engine=io_uring
  for letter in c d e f g h i; do
    [ "$members" -gt 0 ] || break
    disk=vd$letter
    [ "$bursts" = 0 ] || disk=nullb$number
    number=$((number + 1)) members=$((members - 1)) disks="$disks /dev/$disk"
    echo "$rotational" >/sys/block/$disk/queue/rotational
  done
  mdadm --create /dev/md0 --run --assume-clean --metadata=1.2 --data-offset=1M $options -n "$(echo $disks | wc -w)" $disks \
    >/tmp/said 2>&1 || die "mdadm --create $options: $(cat /tmp/said)"
  # The members' superblocks are written for the first write only, not again after each pause.
  echo 0 >/sys/block/md0/md/safe_mode_delay
  [ ! -e /sys/block/md0/md/rmw_level ] || echo "$rmw_level" >/sys/block/md0/md/rmw_level
  # All bits of a new bitmap are set. None is cleared later.
  case $options in
    *--bitmap=internal*)
      echo 1 >/sys/block/md0/md/bitmap/time_base
      waited=0
      until mdadm --examine-bitmap ${disks##* } | grep -q ' 0 dirty'; do
        waited=$((waited + 1))
        [ $waited -lt 20 ] || die "bits stay set: $(mdadm --examine-bitmap ${disks##* })"
        sleep 1
      done
      echo 3600 >/sys/block/md0/md/bitmap/time_base ;;
  esac
  for lost in "$@"; do
    disk=$(echo $disks | cut -d ' ' -f $((lost + 1)))
    mdadm /dev/md0 --fail "$disk" >/tmp/said 2>&1 || die "mdadm --fail $disk: $(cat /tmp/said)"
    sleep 0.2
    mdadm /dev/md0 --remove "$disk" >/tmp/said 2>&1 || die "mdadm --remove $disk: $(cat /tmp/said)"
  done
  sed 1d $load >/tmp/load
  echo >$trace/trace
  echo 1 >$trace/tracing_on
  iosonar replay /tmp/load --target /dev/md0 --write --destroy /dev/md0 --engine $engine --json -q >/tmp/replayed 2>/tmp/said
  echo 0 >$trace/tracing_on
  echo case >>/tmp/seen
  sed -n 's/.*block_bio_queue: \([0-9,]*\) \([A-Z]*\) \([0-9]*\) + \([0-9]*\) .*/\1 \2 \3 \4/p' $trace/trace >>/tmp/seen
  equal "$options${*:+, $* lost}" "$(metric /tmp/replayed completed value)" "$(wc -l </tmp/load)"
  mdadm --stop /dev/md0 >/dev/null 2>&1
  for disk in $disks; do mdadm --zero-superblock $disk 2>/dev/null; done
done
dd if=/tmp/seen of=/dev/vdb bs=1M conv=fsync 2>/dev/null
