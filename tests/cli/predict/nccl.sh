# SPDX-License-Identifier: MIT
# NCCL's version decides what its tuner takes: LL gets more of Hopper's links since 2.21, and large AllReduces on four
# nodes leave rings since 2.28. A network's profile may name a version; --nccl stands above it.
taken() {
    "$SPECTER" predict collective --op all_reduce --gpu h100_sxm --network "${network:-dgx_h100_400g}" "$@" |
        sed -n 's/^ *algorithm *//p'
}
for version in 2.20 2.20.5 22005 2.20.5-1 2.21.5 2.30 2.99.9; do
    echo "$version $(taken --bytes 1M --ranks 8 --nccl $version)"
done
for version in 2.27.7 2.28.3; do
    echo "$version $(taken --bytes 4G --ranks 32 --nccl $version)"
done
echo '{"network": {"name": "old", "base": "dgx_h100_400g", "nccl": 22005}}' >old.json
echo "the profile's $(network=old.json taken --bytes 1M --ranks 8)"
echo "above it $(network=old.json taken --bytes 1M --ranks 8 --nccl 2.30)"
for version in 2.28 2.28.9; do
    "$SPECTER" predict collective --op all_reduce --bytes 1M --ranks 8 --gpu h100_sxm --network dgx_h100_400g \
        --nccl $version --json | grep '"nccl":'
    "$SPECTER" predict collective --op all_reduce --bytes 1M --ranks 8 --gpu h100_sxm --network dgx_h100_400g \
        --nccl $version | head -1
done
"$SPECTER" predict collective --op all_gather --bytes 1M --ranks 8 --gpu h100_sxm --network dgx_h100_400g \
    --nccl 2.18.5 --explain | grep 'not in this version'
echo "LL128, asked for, $("$SPECTER" predict collective --op all_reduce --bytes 1M --ranks 8 --gpu b200_sxm \
    --network dgx_b200_400g --nccl 2.24 --proto LL128 | sed -n 's/^ *algorithm *//p')"
"$SPECTER" predict collective --op all_reduce --bytes 1M --ranks 8 --gpu mi300x --nccl 2.24 2>&1 | tail -1
# AWS's tuner on 16 nodes of P5en, at its border between NVLSTree and Ring.
for bytes in 3064860185 3064860187; do
    "$SPECTER" predict collective --op all_reduce --bytes $bytes --ranks 128 --gpu h200_sxm --network aws_p5en \
        --explain | grep 'tuner table'
done
for version in two 2 2.280.1 2.28.9.1 28 ''; do
    taken --bytes 1M --ranks 8 --nccl "$version"
done
# Of a table of measurements each row has its own.
cat >rows.csv <<'EOF'
source_id,collective,gpu_profile,network_profile,nccl_version,library,bytes,ranks,nodes,time_us
mine,all_reduce,h100_sxm,dgx_h100_400g,2.20.5,,1048576,8,1,37
mine,all_reduce,h100_sxm,dgx_h100_400g,2.21.5,,1048576,8,1,28
mine,all_reduce,h100_sxm,dgx_h100_400g,,NCCL 2.20.5,1048576,8,1,37
mine,all_reduce,h100_sxm,dgx_h100_400g,NCCL 2.20.5,,1048576,8,1,37
mine,all_reduce,h100_sxm,dgx_h100_400g,,,1048576,8,1,28
mine,all_reduce,h100_sxm,dgx_h100_400g,rubbish,,1048576,8,1,28
EOF
"$SPECTER" validate rows.csv --rows out.csv >/dev/null
cut -d , -f 3,4,18,21-22 out.csv
# The measured version stands above the network's.
cut -d , -f 1-3,5- rows.csv >open.csv
"$SPECTER" validate open.csv --network old.json --rows out.csv >/dev/null
cut -d , -f 18,21-22 out.csv | sed 1d | sort -u
# Two versions do not contradict each other.
row() { echo "mine,all_reduce,h100_sxm,dgx_h100_400g,$1,$2,8,1,$3"; }
for version in 2.20.5 2.28.9; do
    {
        head -1 rows.csv | sed 's/library,//'
        row 2.28.9 65536 20 && row 2.28.9 1048576 28 && row $version 1048576 70 && row 2.28.9 16777216 120
        row 2.28.9 67108864 340 && row 2.28.9 268435456 1100 && row 2.28.9 1073741824 4100
    } >seven.csv
    "$SPECTER" calibrate seven.csv -o fit.json 2>&1 | grep -o 'contradict each other' || echo "no contradiction"
done
