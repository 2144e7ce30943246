#!/usr/bin/env bash
# Draws the curves of the paper's figures 5 to 8, of the prefetch, and of queue pairs in place of the ring.
#
#   examples/block-queue/figures.sh [FOLDER]      # default: the working directory
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "${1:-.}")
iosonar=$(realpath -m "${IOSONAR:-$here/../../target/release/iosonar}")
mkdir -p "$out"
cd "$here"
blocks=ssd.block_queue.block threads=load.closed.outstanding

draw() { # NAME WHAT ARGUMENTS...
  local name=$1 what=$2
  shift 2
  "$iosonar" sim "$@" --curve "$out/$name.png" --curve-of "$what" --csv "$out/$name.csv" -q
}
draw figure-5-return throughput complete-block.toml one-by-one-engine.toml one-by-one.toml \
  --vary $blocks=1,2,4,8,16,32,64
draw figure-5-mix throughput complete-block.toml --vary $blocks=1,2,4,8,16,32,64 --vary load.read_share=1,0.5,0
draw figure-5-latency latency complete-block.toml one-by-one.toml --vary $blocks=1,2,4,8,16,32,64 \
  --set $threads=1 --set load.size.blocks=16
draw figure-6 throughput static.toml --vary $threads=2,4,6,8,12,16,24,32,48,64 --vary $blocks=2,4,8,16,32
draw figure-7 throughput dynamic.toml --vary $threads=1,2,4,8,12,16,24,32,48,64 --vary $blocks=2,4,8,16,32
draw figure-7-latency latency dynamic.toml --vary $threads=1,2,4,8,12,16,24,32,48,64 --vary $blocks=2,4,8,16,32
draw figure-8 data request-size.toml --vary load.size.blocks=1,2,4,8,16,32,64 --vary $threads=1,4,64
draw figure-8-latency latency request-size.toml --vary load.size.blocks=1,2,4,8,16,32,64 --vary $threads=1,4,64
draw hockey-stick hockey-stick dynamic.toml --vary $threads=1,2,4,8,16,24,32,48,64,128 --vary load.read_share=1,0.5,0
draw prefetch throughput prefetch.toml --vary $blocks=8,16,32,64 --vary ssd.block_queue.prefetch=0,1,2,4,8
draw multi-queue throughput dynamic.toml multi-queue.toml --vary $threads=1,2,4,8,16,32,64,128,256
