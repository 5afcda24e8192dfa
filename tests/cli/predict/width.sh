# SPDX-License-Identifier: MIT
# The output of predict on one operation fits a terminal of 80 columns.
for network in dgx_h100_400g dgx_h100_400g_sharp aws_p5; do
    "$SPECTER" predict collective --op all_reduce --bytes 64M --ranks 96 --gpu h100_sxm --network $network --explain
    "$SPECTER" predict p2p --bytes 64M --across --gpu h100_sxm --network $network --explain
done > all.txt
"$SPECTER" predict gemm -m 4096 -n 4096 -k 4096 --dtype fp8 --gpu h100_sxm --explain >> all.txt
grep -c '^assumes' all.txt
awk 'length > 80' all.txt
