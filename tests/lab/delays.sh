# Latencies on a device that answers after a known time (dm-delay) are that time, and agree with the kernel's own clock.

modprobe -a dm-mod dm-delay
export DM_DISABLE_UDEV=1
disk=/dev/nvme0n1 size=$(sectors /dev/nvme0n1)
dd if=/dev/zero of=$disk bs=1M count=12 conv=fsync 2>/dev/null
claim "a slow device was made" dmsetup create slow --table "0 $size delay $disk 0 60 $disk 0 120"
awk 'BEGIN { for (j = 0; j < 100; j++) printf "%.6f ; %d ; 8 ; %s\n", j / 100, (j * 7 % 100) * 48, j % 2 ? "W" : "R" }' >/tmp/mixed.load
# A host that stops the machine for a while spoils a measurement, though hardly three. From the second one on, there are
# data to destroy.
for attempt in 1 2 3; do
  iosonar record /dev/mapper/slow -o /tmp/kernel$attempt.ios --duration 60s -q >/tmp/recorded 2>&1 &
  recorder=$!
  sleep 1.5
  iosonar replay /tmp/mixed.load --target /dev/mapper/slow --write --destroy /dev/mapper/slow --json -q -o /tmp/records$attempt.ios >/tmp/replayed 2>/tmp/said
  kill -TERM $recorder
  wait $recorder
  read=$(metric /tmp/replayed latency 0.5 '"op":"read"') write=$(metric /tmp/replayed latency 0.5 '"op":"write"')
  echo "== medians: reads $read ms, writes $write ms; $(cat /tmp/said /tmp/recorded)"
  least_read=$(metric /tmp/replayed latency min '"op":"read"') least_write=$(metric /tmp/replayed latency min '"op":"write"')
  if awk -v r="$read" -v w="$write" -v a="$least_read" -v b="$least_write" \
    'BEGIN { exit !(r < 75 && w < 135 && a >= 56 && b >= 116) }'; then break; fi
done
equal "all were completed" "$(metric /tmp/replayed completed value)" 100
# The delay is counted in the kernel's ticks of 4 ms and may be one short, or more where the host delays the ticks; the
# emulation adds some milliseconds.
between "no read takes less than the delay" "$least_read" 56 1000000
between "no write takes less than the delay" "$least_write" 116 1000000
between "half of the reads take just that" "$read" 56 75
between "half of the writes take just that" "$write" 116 135
# What looked at the device before the replay is in the recording, too.
iosonar check /tmp/records$attempt.ios /tmp/kernel$attempt.ios --json -q >/tmp/checked 2>/tmp/said
equal "the kernel saw the requests that the replay reports" "$(metric /tmp/checked matched value)" 100
# A completion is seen after it happened: soon, and never before.
between "no latency is below the kernel's" "$(metric /tmp/checked latency_difference 1)" -100000 0
between "half of them are less than 10 ms above" "$(metric /tmp/checked latency_difference 0.5)" -10 0
dmsetup remove slow
