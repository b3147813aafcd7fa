#!/bin/sh
# The main job on a bundled real instance: solve, bound, compare, and pictures to look at.
set -eu
jettison=$1
instance=opt-350m-b4-a100-40
mkdir -p demo

echo "1. OPT-350M, four samples, as measured on an A100, in 30 % of the memory that it would like:"
echo
"$jettison" solve remat-chain "$instance" --memory 30% --method rotor \
  --output demo/schedule.json --plot demo/memory.png --grid demo/operations.png
echo
echo "2. How far from the best possible is that schedule, read back from its file?"
echo
"$jettison" bound remat-chain "$instance" --memory 30% --schedule demo/schedule.json
echo
echo "3. Every method in three sizes of memory:"
echo
"$jettison" compare remat-chain "$instance" --memory 20%,30%,50% --plot demo/compare.png
echo "4. GPT-3 6.7B, as measured on a V100, whose weights go to the host and come back, in 90 %"
echo "of what they would need:"
echo
"$jettison" solve weight-offload gpt3-6.7b-b1-v100 --memory 90% --bandwidth 12GB/s \
  --plot demo/cycle.png
echo
echo "Pictures: demo/compare.png (time against memory), demo/memory.png (memory over time),"
echo "demo/operations.png (what is computed when), demo/cycle.png (what moves when). The schedule:"
echo "demo/schedule.json"
