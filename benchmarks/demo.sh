#!/bin/sh
# The main job on a bundled real instance: solve, bound, compare, and pictures to look at.
set -eu
jettison=$1
instance=resnet50-b4-224-cpu
mkdir -p demo

echo "1. A ResNet-50 training step, measured on a CPU, in half of the memory that it would like:"
echo
"$jettison" solve remat-chain "$instance" --memory 50% --method rotor \
  --output demo/schedule.json --plot demo/memory.png --grid demo/operations.png
echo
echo "2. How far from the best possible is that schedule, read back from its file?"
echo
"$jettison" bound remat-chain "$instance" --memory 50% --schedule demo/schedule.json
echo
echo "3. Every method in three sizes of memory:"
echo
"$jettison" compare remat-chain "$instance" --memory 30%,50%,70% --plot demo/compare.png
echo "4. A GPT-2 whose weights go to the host and come back, in 60 % of what they would need:"
echo
"$jettison" solve weight-offload gpt2-38-b64-table1 --memory 60% --bandwidth 12GB/s \
  --plot demo/cycle.png
echo
echo "Pictures: demo/compare.png (time against memory), demo/memory.png (memory over time),"
echo "demo/operations.png (what is computed when), demo/cycle.png (what moves when). The schedule:"
echo "demo/schedule.json"
