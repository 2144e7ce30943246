# Zoned devices: sequential zones take a load that writes in order, and a random one is refused before anything is written.
# Runs on a zoned null_blk, and with ZNS=1 on an NVMe zoned namespace (/dev/nvme0n1, /dev/ng0n1).

modprobe null_blk nr_devices=1 zoned=1 zone_size=4 zone_nr_conv=1 zone_capacity=3 zone_max_active=4 zone_max_open=4 gb=1 memory_backed=1

write_pointers() { # DEVICE FIRST ZONE: the write pointers of two zones, relative to their starts.
  blkzone report -o "$2" -c 2 "$1" | sed -n 's/.*wptr \(0x[0-9a-f]*\).*/\1/p' | while read -r n; do printf '%d ' "$n"; done
}
replay() { iosonar replay "$@" --json -o /tmp/records.csv >/tmp/replayed 2>/tmp/said; }
reason() { tr '\n' ' ' </tmp/said | head -c 500; }

# A slow machine submits late, which is flagged.
was_done() { test "$1" = 0 -o "$1" = 3; }

# zoned DEVICE TARGET FIRST ZONE CAPACITY: claims about a device whose sequential zones begin at sector FIRST, through the target.
zoned() {
  device=$1 target=$2 first=$3 zone=$4 capacity=$5
  iosonar targets "$device" >/tmp/targets
  claim "$device: its zones are listed" grep -q 'zoned (host-managed)' /tmp/targets
  erase() { blkzone reset -o "$first" "$device" 2>/dev/null || blkzone reset "$device"; }
  erase
  second=$((first + zone))
  # 64 writes of 16 sectors, half to each of two zones, in order, with reads between, in 3.2 ms.
  awk -v a="$first" -v b="$second" 'BEGIN { for (j = 0; j < 64; j++) {
    printf "%.6f ; %d ; 16 ; W\n", j * 50e-6, (j % 2 ? b : a) + 16 * int(j / 2)
    printf "%.6f ; %d ; 8 ; R\n", j * 50e-6, a + 8 * (j % 4) } }' >/tmp/ordered.load
  # As above, but the 41st write comes first of its zone.
  awk 'NR == 81 { late = $0; next } { print } END { sub(/^[0-9.]+/, "0.004", late); print late }' /tmp/ordered.load >/tmp/swapped.load
  awk -v a="$first" 'BEGIN { for (j = 0; j < 64; j++) printf "%.6f ; %d ; 16 ; W\n", j * 50e-6, a + 16 * (j * 37 % 64) }' >/tmp/random.load

  iosonar replay /tmp/random.load --target "$target" --write >/tmp/replayed 2>/tmp/said
  equal "$target: random writes are refused" $? 2
  claim "$target: the reason names the line" grep -q "/tmp/random.load:2: the write of 16 sectors at sector $((first + 592))" /tmp/said
  claim "$target: and the write pointer" grep -q "its write pointer will be at sector $((first + 16))" /tmp/said
  echo "== $(reason)"
  equal "$target: nothing was written" "$(write_pointers "$device" "$first")" "0 0 "
  replay /tmp/swapped.load --target "$target" --write
  equal "$target: a load with one write out of order is refused" $? 2
  equal "$target: and nothing was written" "$(write_pointers "$device" "$first")" "0 0 "
  replay /tmp/ordered.load --target "$target" --write --conflicts allow
  equal "$target: conflicts that keep no order are refused" $? 2

  replay /tmp/ordered.load --target "$target" --write --verify final --max-errors 100
  claim "$target: a load in order runs" was_done $?
  equal "$target: without an error" "$(metric /tmp/replayed errors value)" 0
  equal "$target: all of it" "$(metric /tmp/replayed completed value)" 128
  equal "$target: the write pointers are where it ended" "$(write_pointers "$device" "$first")" "512 512 "

  replay /tmp/ordered.load --target "$target" --write --destroy "$target"
  equal "$target: the same load once more is refused" $? 2
  claim "$target: since the zones are not empty" grep -q "write pointer will be at sector $((first + 512))" /tmp/said
  replay /tmp/ordered.load --target "$target" --write --destroy "$target" --reset-zones --max-errors 100
  claim "$target: with --reset-zones it runs" test "$(metric /tmp/replayed errors value)" = 0
  equal "$target: the write pointers are where it ended again" "$(write_pointers "$device" "$first")" "512 512 "

  replay /tmp/random.load --target "$target" --write --destroy "$target" --zone-append --max-errors 100
  equal "$target: random writes can be appended" "$(metric /tmp/replayed errors value)" 0
  equal "$target: behind what is there" "$(write_pointers "$device" "$first")" "1536 512 "
  equal "$target: the records say where" "$(awk -F, 'NR > 1 && !/^#/ { print $2 }' /tmp/records.csv | grep -x '[0-9]*' | sort -n | tr '\n' ' ')" \
    "$(seq $((first + 512)) 16 $((first + 1520)) | tr '\n' ' ')"

  iosonar replay /tmp/random.load --target "$target" --engine dry --write --destroy "$target" --zone-append --reset-zones -q >/dev/null 2>&1
  equal "$target: a dry replay resets nothing" "$(write_pointers "$device" "$first")" "1536 512 "

  # More than the zone holds.
  awk -v a="$first" -v n=$((capacity / 64)) 'BEGIN { for (j = 0; j <= n; j++) printf "%.6f ; %d ; 64 ; W\n", j * 50e-6, a }' >/tmp/long.load
  replay /tmp/long.load --target "$target" --write --destroy "$target" --zone-append --reset-zones
  equal "$target: more than a zone holds is refused" $? 2
  claim "$target: since the zone is full" grep -q "has no room for it: its write pointer will be at sector $((first + capacity / 64 * 64))" /tmp/said
  equal "$target: and no zone was reset" "$(write_pointers "$device" "$first")" "1536 512 "
  sed '$d' /tmp/long.load >/tmp/full.load
  replay /tmp/full.load --target "$target" --write --destroy "$target" --zone-append --reset-zones --max-errors 100
  equal "$target: exactly what a zone holds fills it" "$(metric /tmp/replayed errors value)" 0

  awk -v a="$first" 'BEGIN { printf "0 ; %d ; 16 ; R\n0.001 ; %d ; 8 ; R\n", a, a + 64 }' >/tmp/reads.load
  replay /tmp/reads.load --target "$target"
  equal "$target: reads need no order" "$(metric /tmp/replayed completed value)" 2
  replay /tmp/random.load --target "$target" --skip-writes
  claim "$target: nor do loads whose writes are left out" test $? -ne 2
  iosonar prepare fill --write --destroy "$target" --target "$target" >/tmp/said 2>&1
  equal "$target: it is not filled" $? 2
}

zoned /dev/nullb0 /dev/nullb0 8192 8192 6144
# The first zone is a conventional one.
printf '0 ; 800 ; 16 ; W\n0.001 ; 80 ; 16 ; W\n' >/tmp/anywhere.load
blkzone reset /dev/nullb0
replay /tmp/anywhere.load --target /dev/nullb0 --write
equal "a conventional zone is written anywhere" "$(metric /tmp/replayed completed value)" 2
# A fifth zone that is partly written.
blkzone reset /dev/nullb0
awk 'BEGIN { for (j = 0; j < 5; j++) printf "%.3f ; %d ; 16 ; W\n", j / 1000, 8192 * (j + 1) }' >/tmp/active.load
replay /tmp/active.load --target /dev/nullb0 --write --destroy /dev/nullb0
equal "more active zones than the device has are refused" $? 2
claim "with their number" grep -q "more than 4 zones would be partly written" /tmp/said

if [ "${ZNS-}" ]; then
  zoned /dev/nvme0n1 /dev/nvme0n1 0 8192 6144
  trace=/sys/kernel/tracing/events/nvme/nvme_setup_cmd/enable
  echo 1 >$trace
  zoned /dev/nvme0n1 /dev/ng0n1 0 8192 6144
  claim "NVMe appends to zones" grep -q nvme_cmd_zone_append /sys/kernel/tracing/trace
  blkzone reset /dev/nvme0n1
  replay /tmp/random.load --target /dev/ng0n1 --write --destroy /dev/ng0n1 --zone-append --verify final
  equal "what was appended is there" "$(metric /tmp/replayed completed value) $(metric /tmp/replayed verify_failed value)" "64 0"
  echo 0 >$trace

  # The kernel splits what crosses zones; a command that does fails.
  printf '0 ; 8184 ; 16 ; R\n' >/tmp/crossing.load
  replay /tmp/crossing.load --target /dev/nvme0n1
  equal "a read across zones is split by the kernel" "$(metric /tmp/replayed completed value)" 1
  iosonar replay /tmp/crossing.load --target /dev/ng0n1 >/tmp/replayed 2>&1
  equal "as a command it fails" $? 1
  claim "with the device's reason" grep -q "1 NVMe commands failed with status 0x1b8 (zone boundary error)" /tmp/replayed
fi
