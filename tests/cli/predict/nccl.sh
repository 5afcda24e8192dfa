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
"$SPECTER" predict collective --op all_gather --bytes 1M --ranks 8 --gpu h100_sxm --network dgx_h100_400g \
    --nccl 2.18.5 --explain | grep 'not in this version'
for version in two 2 2.280.1 2.28.9.1 28 ''; do
    taken --bytes 1M --ranks 8 --nccl "$version"
done
# Of a table of measurements each row has its own.
cat >rows.csv <<'EOF'
source_id,collective,gpu_profile,network_profile,nccl_version,library,bytes,ranks,nodes,time_us
mine,all_reduce,h100_sxm,dgx_h100_400g,2.20.5,,1048576,8,1,37
mine,all_reduce,h100_sxm,dgx_h100_400g,2.21.5,,1048576,8,1,28
mine,all_reduce,h100_sxm,dgx_h100_400g,,NCCL 2.20.5,1048576,8,1,37
mine,all_reduce,h100_sxm,dgx_h100_400g,,,1048576,8,1,28
EOF
"$SPECTER" validate rows.csv --rows out.csv >/dev/null
cut -d , -f 18,21-22 out.csv
