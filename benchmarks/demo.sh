#!/bin/sh
# The main job on an instance measured on a GPU: solve, bound, compare, and pictures to look at.
set -eu
jettison=$1
instance=resnet50-b64-224-h200
mkdir -p demo

echo "1. ResNet-50, 64 images, measured on an H200, in 40 % of the memory that keeping everything takes:"
echo
"$jettison" solve remat-chain "$instance" --memory 40% --method rotor \
  --output demo/schedule.json --plot demo/memory.png --grid demo/operations.png
echo
echo "2. How far from the best possible is that schedule, read back from its file?"
echo
"$jettison" bound remat-chain "$instance" --memory 40% --schedule demo/schedule.json
echo
echo "3. The methods side by side in three sizes of memory:"
echo
"$jettison" compare remat-chain "$instance" --memory 40%,50%,70% --plot demo/compare.png
echo
echo "4. GPT-3 6.7B, measured on a V100, whose weights go to the host and come back, in 90 % of"
echo "what they need:"
echo
"$jettison" solve weight-offload gpt3-6.7b-b1-v100 --memory 90% --bandwidth 12GB/s \
  --plot demo/cycle.png
cat <<END

Pictures: demo/compare.png (time against memory), demo/memory.png (memory over time),
demo/operations.png (what is computed when), demo/cycle.png (what moves when). The schedule:
demo/schedule.json

What to try next:
  $jettison list instances --source measured
  $jettison compare remat-chain $instance --card 4GiB --resident 1GiB
  $jettison compare training-chain opt-30b-b4-gh200 --memory 96GiB --bandwidth 50GB/s --time-limit 20
  $jettison verify demo/schedule.json --instance $instance --memory 40%
  docs/tutorials/will_it_fit.md, for a model of your own
END
