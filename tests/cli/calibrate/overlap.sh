# SPDX-License-Identifier: MIT
# Tables of bench overlap give the two figures of a profile, alone or beside others in a folder; rows that cannot be
# used are told, and no other command takes them for times.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
. "$ROOT/tests/cli/calibrate/common.bash"
rows() {
    python3 - "$@" <<'PY'
import sys
gpu, sm, memory = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
print("source_id,gpu,gpu_profile,network_profile,collective,bytes,ranks,nodes,gpus_per_node,channels,bound,m,n,k,dtype,"
      "gemm_us,gemm_beside_us,collective_us")
for channels in 8, 16, 32:
    print(f"x,,{gpu},dgx_h100_400g,all_reduce,67108864,8,1,8,{channels},compute-bound,4096,4096,4096,bf16,"
          f"100,{100 / (1 - sm * channels / 132):.6f},300")
# two passes of 2.5 x 7 / 8 of the bytes: the models' own figure is asked for by a second table
for us in 300, 600:
    print(f"x,,{gpu},dgx_h100_400g,all_reduce,67108864,8,1,8,16,memory-bound,16,8192,8192,bf16,100,{100 / (1 - memory / us):.6f},{us}")
PY
}
figures() { sed -n '/overlapped by communication/,$p' out; grep -o '"overlap.*[0-9]' mine.json; }
rows h100_sxm 0.9 40 >overlap.csv
"$SPECTER" calibrate overlap.csv -o mine.json >out || exit 1
head -1 out
figures
echo "-- own choice of channels"
{ cat overlap.csv; rows h100_sxm 0.5 40 | sed -n 2p | sed 's/,8,compute/,0,compute/'; } >own.csv
"$SPECTER" calibrate own.csv -o mine.json >out && figures | grep sm
echo "-- with no overlap the profile says so, and not that nothing is known"
rows h100_sxm 0 0 >none.csv
"$SPECTER" calibrate none.csv -o mine.json >out && figures
echo "-- bad rows"
{ cat overlap.csv; sed -n '2s/compute-bound/tired/p; 3s/,100,/,x,/p; 4s/,32,/,3.5,/p; 5s/h100_sxm/none/p' overlap.csv; } >bad.csv
"$SPECTER" calibrate bad.csv -o mine.json 2>&1 >out
echo "status $?"
figures | tail -1
{ cat overlap.csv; rows a100_sxm 0.9 40 | tail -n +2; } >two.csv
"$SPECTER" calibrate two.csv -o mine.json 2>&1
echo "status $?"
"$SPECTER" calibrate two.csv -o mine.json --gpu a100_sxm | head -1
"$SPECTER" validate overlap.csv 2>&1
echo "validate: status $?"
