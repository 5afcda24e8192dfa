# SPDX-License-Identifier: MIT
# Each line is wrong in its own way: one message, status 2 (3 for a file), nothing else on stdout.
while read -r line; do
    eval "\"\$SPECTER\" predict $line"
    status=$?
    [ $status -eq 2 ] || echo "status $status for: $line"
done <<'LINES'

training
collective
collective --op all_reduce --bytes 64M
collective --op all_reduce --ranks 8
collective --op reduce_all --bytes 1 --ranks 8
collective --op send --bytes 1 --ranks 2
collective --op all_reduce --bytes 64X --ranks 8
collective --op all_reduce --bytes 18446744073709551615 --ranks 8
p2p --bytes 18446744073709551615
p2p --bytes 9007199254740993
collective --op all_reduce --bytes 64M --ranks 0
collective --op all_reduce --bytes 64M --ranks -8
collective --op all_reduce --bytes 64M --ranks 4294967296
collective --op all_reduce --bytes 64M --ranks 8 --gpu h1
collective --op all_reduce --bytes 64M --ranks 8 --gpu h100_sxm --network infiniband
collective --op all_reduce --bytes 64M --ranks 16 --gpu h100_sxm --network single_node_nvlink
collective --op all_reduce --bytes 64M --ranks 16 extra
collective --op all_reduce --bytes 8G:1K --ranks 8
collective --op all_reduce --bytes 1K: --ranks 8
collective --op all_reduce --bytes 1K:8G --factor 1 --ranks 8
collective --op all_reduce --bytes 1K:8G --step 0 --ranks 8
collective --op all_reduce --bytes 1:8G --step 1 --ranks 8
collective --op all_reduce --bytes 64M --ranks 8 --nodes 0
collective --op all_reduce --bytes 64M --ranks 8 --nodes 9 --gpu h100_sxm
collective --op all_reduce --bytes 64M --ranks 16 --nodes 1 --gpu h100_sxm
collective --op all_reduce --bytes 64M --ranks 16 --gpus-per-node 9 --gpu h100_sxm
collective --op all_reduce --bytes 64M --ranks 16 --nodes 2 --gpus-per-node 4 --gpu h100_sxm
collective --op all_reduce --bytes 1K:8G --ranks 8,16 --gpu h100_sxm --network single_node_nvlink
collective --op all_reduce --bytes 1K --ranks 8 --dtype fp12
collective --op all_reduce --bytes 1K --ranks 8 --algo rung
collective --op all_reduce --bytes 1K --ranks 8 --algo ring,
collective --op all_reduce --bytes 1K --ranks 8 --proto ^LL,LL128,Simple
collective --op all_reduce --bytes 1K --ranks 8 --channels 0
collective --op all_reduce --bytes 1K --ranks 8 --algo pat --gpu h100_sxm --network dgx_h100_400g
collective --op all_reduce --bytes 1K --ranks 8 --algo nvls,pat --proto LL --gpu h100_sxm --network dgx_h100_400g
collective --op alltoall --bytes 1K --ranks 8 --algo ring --gpu h100_sxm --network dgx_h100_400g
collective --op all_reduce --bytes 1K --ranks 8 --gpu ./missing.json
collective --dtype fp16
p2p
p2p --bytes 1 --across --gpu h100_sxm --network single_node_nvlink
p2p --bytes 1 --across --flows 0 --gpu h100_sxm
p2p --bytes 1 --across --flows 9 --gpu h100_sxm --network dgx_h100_400g
gemm -m 1 -n 1
gemm -m 1 -n 1 -k 1 --hot --cold
gemm -m 1 -n 1 -k 1 --quantize twice
gemm -m 1 -n 1 -k 1 --quantize static --dtype fp16
gemm -m 1 -n 1 -k 1 --dtype-c fp12
gemm -m 1 -n -1 -k 1
gemm -m 1 -n 1 -k 1 --batch 0
gemm -m 1 -n 1 -k 1 --dtype fp12
gemm -m 1 -n 1 -k 1 --gpu v100_sxm --dtype bf16
gemm -m 1 -n 1 -k 1 --gpu h100_sxm --dtype int32
LINES
