#!/usr/bin/env bash
# Makes the pictures of the documentation anew: simulations, and a replay on a scratch file beside this script.
# Simulations come out the same everywhere; the replay shows the machine that it ran on.
#
#   docs/make-pictures.sh [FOLDER]      # default: docs/src/pictures
#
# Needs the built tool; a screenshot of a report needs Chromium and is left out where there is none.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
out=$(realpath -m "${1:-$root/docs/src/pictures}")
iosonar=${IOSONAR:-$root/target/release/iosonar}
[ -x "$iosonar" ] || cargo build --release --manifest-path "$root/Cargo.toml"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
cd "$work"

plot() { # CHART NAME ARGUMENTS...: one picture
  local chart=$1 name=$2
  shift 2
  "$iosonar" plot "$chart" "$@" -o "$out/$name.png" --size "${size:-1120x630}" -q
}
sim() { # LEVEL DISKS LOAD NAME: the records of a load on an array
  sed "s/level = .*/level = \"$1\"/; s/disks = .*/disks = $2/" "$root/examples/raid5-mysql.toml" > "$4.toml"
  "$iosonar" sim "$4.toml" --trace "$3" --records "$4.ios" --unstable -q
}

# A database server's load on RAID 5, and a part of it, replayed by the demo, on a file on this machine.
"$iosonar" demo --dir demo -q
load=demo/database-server.load.gz
sim raid5 4 "$load" database
cp demo/replayed.ios replayed.ios
plot sonar sonar-simulated database.ios
plot sonar lash database.ios --from 88s --duration 20s
plot sonar replayed replayed.ios
plot quantiles quantiles database.ios
plot heat-map heat-map database.ios --theme dark
plot latency-by-load latency-by-load database.ios
plot latency-histogram histogram database.ios
plot addresses addresses database.ios
plot working-set-log working-set database.ios
plot throughput throughput database.ios --from 85s --duration 60s --window 1s

# The same load on three arrays.
sim raid10 4 "$load" raid10
sim raid5 4 "$load" raid5
sim raid5 8 "$load" raid5-of-8
plot cdf cdf raid5.ios raid10.ios raid5-of-8.ios
plot ccdf ccdf raid5.ios raid10.ios raid5-of-8.ios
size=1120x900 plot sonar panels raid5.ios raid5-of-8.ios

# More than the array can do: a steady overload, and bursts that grow.
"$iosonar" generate poisson --rate 250 --duration 120s --space 400GiB -o overload.load -q
sim raid5 4 overload.load overload
plot sonar runaway overload.ios
"$iosonar" generate bursts --seconds 40 --slope 3 --space 400GiB -o bursts.load -q
sim raid5 4 bursts.load bursts
plot sonar bursts bursts.ios

# A scheduler that serves the nearest request first lets some wait long: needles over a dense band.
"$iosonar" generate poisson --rate 250 --duration 1200s --read-share 0.97 --space 400GiB -o random.load -q
cat > needles.toml <<'TOML'
seed = 1
[array]
level = "raid0"
disks = 2
[disk]
profile = "seagate-st3500630ns"
model = "positional"
scheduler = "sptf"
queue_depth = 32
TOML
"$iosonar" sim needles.toml --trace random.load --records needles.ios --unstable -q
plot sonar needles needles.ios

# The page.
"$iosonar" report database.ios replayed.ios -o report.html -q --title "A database server: simulated, and replayed"
# Which machine replayed it is of no interest.
sed -i -E 's/, host [^,<]*, kernel [^ <]*\.</.</' report.html
if command -v chromium > /dev/null; then
  timeout 60 chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking \
    --user-data-dir="$work/browser" --hide-scrollbars --window-size=1200,1500 --run-all-compositor-stages-before-draw \
    --virtual-time-budget=20000 --screenshot="$out/report.png" "file://$work/report.html" > /dev/null 2>&1 || echo "no screenshot"
fi
# The block queue's curves.
"$root/examples/block-queue/figures.sh" curves
cp curves/figure-5-return.png "$out/block-queue.png"
cp curves/hockey-stick.png "$out/hockey-stick.png"
# Theory beside simulation.
"$iosonar" model "$root/examples/zoned-raid/figure-4-read.toml" --with-sim --cdf "$out/model.png" -q
"$iosonar" model "$root/examples/networked-raid/paper.toml" --with-sim --curve "$out/networked.png" -q
"$iosonar" plan "$root/examples/zoned-raid/figure-4-read.toml" --target "p99 < 60ms" --curve "$out/plan.png" -q
ls -la "$out"

# A study, and the whole loop on a loop device, where this machine lets us have one.
"$iosonar" sweep "$root/examples/studies/raid-levels.toml" --dir study -q
cp study/charts/response_time_mean_ms-by-rate.png "$out/study.png"
if [ "$(id -u)" = 0 ] && losetup --find >/dev/null 2>&1; then
  IOSONAR=$iosonar "$root/examples/studies/loop-device.sh" loop >/dev/null 2>&1 && cp loop/pictures/cdf.png "$out/loop-device.png"
fi
