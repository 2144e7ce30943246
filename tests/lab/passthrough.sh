# NVMe commands past the block layer, on namespaces of 512 B (/dev/ng0n1) and of 4 KiB (/dev/ng0n2), with and without
# polled completions.

replay() { iosonar replay "$@" --json -o /tmp/records.csv >/tmp/replayed 2>/tmp/said; }
reason() { tr '\n' ' ' </tmp/said | head -c 300; }
interrupts() { awk '/nvme0q/ && !/nvme0q0/ { n += $2 + $3 } END { print n + 0 }' /proc/interrupts; }
mkfs() { mkfs.ext4 -q -F "$1" >/dev/null 2>&1; }

awk 'BEGIN { srand(1); for (j = 0; j < 400; j++) printf "%.6f ; %d ; %d ; %s\n", j * 250e-6, 8 * int(2000 * rand()), 8 * (1 + j % 4),
  j % 2 ? "R" : "W" }' >/tmp/mixed.load
awk 'BEGIN { for (j = 0; j < 200; j++) printf "%.6f ; %d ; 8 ; R\n", j / 2000, j * 56 % 8000 * 8 % 16000 }' >/tmp/reads.load
printf '0 ; 3 ; 1 ; R\n0.001 ; 5 ; 2 ; R\n' >/tmp/small.load
printf 'fio version 3 iolog\n0 /dev/x add\n0 /dev/x open\n10 /dev/x write 0 4096\n9000 /dev/x sync 0 0\n20000 /dev/x trim 4096 4096\n' >/tmp/others.fio

for n in 1 2; do
  device=/dev/nvme0n$n
  generic=/dev/ng0n$n
  block=$(blockdev --getss $device)
  name="$generic, blocks of $block"
  echo "== $name, poll queues: $(cat /sys/block/nvme0n$n/queue/io_poll)"
  iosonar targets $device >/tmp/targets
  claim "$name: is listed with its block device" grep -q "bypass the block layer, use $generic with --engine passthrough" /tmp/targets
  for polled in "" --iopoll; do
    [ "$polled" ] && [ "$(cat /sys/block/nvme0n$n/queue/io_poll)" = 0 ] && continue
    dd if=/dev/zero of=$device bs=1M count=12 conv=fsync 2>/dev/null
    replay /tmp/mixed.load --target $generic --write --verify final $polled
    code=$?
    claim "$name $polled: a load is replayed" test $code = 0 -o $code = 3
    equal "$name $polled: all of it" "$(metric /tmp/replayed completed value)" 400
    equal "$name $polled: what was written is there" "$(metric /tmp/replayed verify_failed value)" 0
    claim "$name $polled: by NVMe commands" grep -q passthrough /tmp/replayed
    # Queues that are polled interrupt for nothing but what does not go through them. Where the machine is busy, several of
    # the 200 completions share an interrupt.
    for target in $generic $device; do
      before=$(interrupts)
      replay /tmp/reads.load --target $target $polled
      caused=$(($(interrupts) - before))
      if [ "$polled" ]; then between "$target $polled: no interrupts" $caused 0 20
      else between "$target $polled: interrupts" $caused 25 300; fi
    done
    # The block layer sees the same contents.
    iosonar replay /tmp/mixed.load --target $generic --write --keep-tables /tmp/tables$n$polled -q $polled >/dev/null 2>&1
    iosonar verify /tmp/tables$n$polled --target $device --json -q >/tmp/verified 2>/tmp/said
    equal "$name $polled: the block device has the same contents" $? 0
    dd if=/dev/zero of=$device bs=1M count=12 conv=fsync 2>/dev/null
    replay /tmp/mixed.load --target $device --write --verify final $polled
    equal "$device $polled: a load is replayed" "$(metric /tmp/replayed completed value)" 400
    rm -f /tmp/tables*
    for target in $generic $device; do
      dd if=/dev/zero of=$device bs=1M count=12 conv=fsync 2>/dev/null
      replay /tmp/others.fio --target $target --write $polled
      equal "$target $polled: a flush and a discard are done" "$(metric /tmp/replayed completed value) $(metric /tmp/replayed errors value)" "3 0"
    done
  done
  replay /tmp/small.load --target $generic
  code=$?
  if [ "$block" = 512 ]; then equal "$name: single sectors are read" "$(metric /tmp/replayed completed value)" 2
  else
    claim "$name: single sectors are not whole blocks" test $code = 1 -o $code = 2
    claim "$name: and the reason says so" grep -q "is not aligned to the target's blocks of 4" /tmp/said
    echo "== $(reason)"
    replay /tmp/small.load --target $generic --align
    equal "$name: unless they are widened" "$(metric /tmp/replayed completed value)" 2
  fi
done

# Nothing but what the block device's rules allow.
mkfs /dev/nvme0n1
replay /tmp/mixed.load --target /dev/ng0n1 --write
equal "a file system is data" $? 2
claim "of the block device" grep -q "ng0n1 is the same namespace as /dev/nvme0n1: .*ext4" /tmp/said
echo "== $(reason)"
mkdir -p /mnt/ng
mount /dev/nvme0n1 /mnt/ng
replay /tmp/reads.load --target /dev/ng0n1
equal "a mounted namespace is refused, even for reads" $? 2
claim "with the reason" grep -q "is mounted at /mnt/ng" /tmp/said
umount /mnt/ng
replay /tmp/mixed.load --target /dev/ng0n1 --write --destroy /dev/ng0n1
claim "--destroy takes the character device" test $? -ne 2
mkfs /dev/nvme0n1
replay /tmp/mixed.load --target /dev/ng0n1 --write --destroy /dev/nvme0n1
claim "--destroy takes the block device" test $? -ne 2
iosonar replay /tmp/reads.load --repeat 100 --target /dev/ng0n1 --max-runtime 5s -q >/dev/null 2>&1 &
running=$!
sleep 2
mount /dev/nvme0n1 /mnt/ng 2>/tmp/said
claim "it cannot be mounted meanwhile" test $? -ne 0
wait $running

# What does not go together.
replay /tmp/reads.load --target /dev/nvme0n1 --engine passthrough
equal "a block device takes no commands" $? 2
replay /tmp/reads.load --target /dev/ng0n1 --engine sync
equal "a character device takes nothing else" $? 2
replay /tmp/reads.load --target /dev/zero
equal "another character device is refused" $? 2
claim "with the reason" grep -q "not that of an NVMe namespace" /tmp/said
printf '0 ; 0 ; 2048 ; R\n' >/tmp/huge.load
replay /tmp/huge.load --target /dev/ng0n1
code=$?
echo "== $(reason)"
claim "a request that is too long for a command says so" grep -q 'an NVMe command to /dev/ng0n1 transfers at most 1016' /tmp/said
equal "a request that is no single command is refused" $code 2

# Other processes that use the character device.
sleep 1000 3<>/dev/ng0n1 &
other=$!
sleep 0.5
for target in /dev/nvme0n1 /dev/ng0n1; do
  replay /tmp/mixed.load --target $target --write --destroy $target
  equal "$target: written by another process through its character device" $? 2
  claim "$target: which is named" grep -q "is open for writing in another process: sleep (process $other)" /tmp/said
done
kill $other

claim "a namespace can be read as a whole" iosonar prepare slurp --target /dev/ng0n1
iosonar replay /tmp/mixed.load --target /dev/ng0n1 --write --destroy /dev/ng0n1 --keep-tables /tmp/tables -q >/dev/null 2>&1
claim "and verified" iosonar verify /tmp/tables --target /dev/ng0n1 -q

# Devices without poll queues.
replay /tmp/reads.load --target /dev/vda --iopoll
equal "a disk without poll queues is refused with --iopoll" $? 2
claim "with the remedy" grep -q "nvme.poll_queues=2" /tmp/said
echo "== $(reason)"
