#!/usr/bin/env bash
# Draws the curves of the paper's figures 3 to 8: response time against the number of jobs.
#
#   examples/networked-raid/figures.sh [FOLDER]      # default: the working directory
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "${1:-.}")
iosonar=$(realpath -m "${IOSONAR:-$here/../../target/release/iosonar}")
mkdir -p "$out"
cd "$here"

draw() { # NAME ARGUMENTS...
  local name=$1
  shift
  "$iosonar" model paper.toml "$@" --curve "$out/$name.png" -q
}
# Bounds, exact, simulated; measured points go over it with --measured FILE.
draw figure-3 --with-sim
draw figure-4-network-rate --vary network.mbit_per_s=10.0,50.0,100.0,200.0,1000.0
draw figure-5-central-cache --vary central.cache_hit=0.0,0.2,0.4,0.6,0.8
draw figure-6-central-cpu --vary central.cpu_speed=0.5,1.0,2.0,4.0
draw figure-7-storage-cpu --vary storage.cpu_speed=0.5,1.0,2.0,4.0
draw figure-8-disk-rate --vary storage.disk.mb_per_s=17.5,35.0,70.0,140.0
# The other reading of the formulas: each storage server's work is divided once.
draw once --set raid.division=once --with-sim
