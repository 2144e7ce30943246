# The kernel's counters of an NVMe disk show the requests of the load: as many as in it, not merged and not split.

disk=/dev/nvme0n1
# Neighbours in bursts that are due at once, which the kernel would merge if they came to it together; and some apart.
awk 'BEGIN {
  for (burst = 0; burst < 20; burst++)
    for (i = 0; i < 32; i++) printf "%.6f ; %d ; 8 ; %s\n", burst / 8, burst * 512 + i * 8, burst % 2 ? "W" : "R"
  for (i = 0; i < 200; i++) printf "%.6f ; %d ; 64 ; %s\n", 2.5 + i / 200, (i * 77 % 300) * 64, i % 2 ? "W" : "R"
  for (i = 0; i < 10; i++) printf "%.6f ; 0 ; 0 ; F\n", 3.6 + i / 20
}' >/tmp/bursts.load

# Reads, merged reads, writes and flushes, merged writes.
requests() { echo "$(stat_field $disk 1) $(stat_field $disk 2) $(stat_field $disk 5) $(stat_field $disk 6)"; }

dd if=/dev/zero of=$disk bs=1M count=12 conv=fsync 2>/dev/null
idle=$(requests)
iosonar replay /tmp/bursts.load --target $disk --write --engine io_uring --start-grace 5s --json -q >/tmp/replayed 2>/tmp/said &
replay=$!
# It reads the device to look at it; when no more reads come, it waits for the start.
while [ "$(requests)" = "$idle" ] && kill -0 $replay 2>/dev/null; do sleep 0.05; done
before=$(unchanged requests)
wait $replay
set -- $before $(requests)
equal "all were completed" "$(metric /tmp/replayed completed value)" 850
equal "the device did the load's reads, none merged" "$(($5 - $1)) $(($6 - $2))" "420 0"
equal "the device did the load's writes and flushes, none merged" "$(($7 - $3)) $(($8 - $4))" "430 0"
