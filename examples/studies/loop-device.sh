#!/usr/bin/env bash
# The whole loop on a loop device: record a load, calibrate a model of the device, simulate the load on it, replay it, and
# compare all three. Needs root for the loop device and the kernel's trace points; everything is in the folder given.
#
#   examples/studies/loop-device.sh [FOLDER]
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
iosonar=${IOSONAR:-$root/target/release/iosonar}
[ -x "$iosonar" ] || cargo build --release --manifest-path "$root/Cargo.toml"
mkdir -p "${1:-loop-device}"
cd "${1:-loop-device}"

truncate -s 256M disk
device=$(losetup --direct-io=on --find --show disk)
trap 'losetup -d "$device"; rm -f disk' EXIT
"$iosonar" prepare fill --target "$device" --write --destroy "$device" -q

# A load, and what performs it: here a replay; a database would do as well.
"$iosonar" generate poisson --rate 1000 --duration 20s --space 256MiB --size 1:0.7,16:0.3 --read-share 0.7 -o load.ios -q
"$iosonar" record "$device" --duration 23s -o recorded.ios -q &
sleep 1
"$iosonar" replay load.ios --target "$device" --write --destroy "$device" -q || true
wait %1

"$iosonar" calibrate recorded.ios --profile ssd -o model.toml --cdf fit.png || true
printf '[load]\ntrace = "recorded.ios"\n[ssd]\nprofile = "model.toml"\n' > simulation.toml
"$iosonar" sim simulation.toml --records simulated.ios -q
"$iosonar" replay recorded.ios --target "$device" --write --destroy "$device" -o replayed.ios -q || true
"$iosonar" compare recorded.ios simulated.ios replayed.ios --plot pictures
