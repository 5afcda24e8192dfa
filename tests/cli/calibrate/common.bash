# Tables for the tests of `specter calibrate`: made by the models, of a machine that starts its
# collectives later than a DGX H100 and whose links carry less.

header='source_id,collective,nodes,ranks,dtype,bytes,time_us,notes,gpu_profile,network_profile'

# table OPS RANKS NODES [SIZES]
table() {
    local op bytes us
    cat >own.json <<'EOF'
{"network": {"name": "own", "base": "dgx_h100_400g", "node": {"start_us": 11, "link_share": 0.6}}}
EOF
    echo "$header"
    for op in $1; do
        for bytes in ${4:-1K 4K 16K 64K 256K 1M 4M 16M 64M 256M 1G 4G}; do
            us=$("$SPECTER" predict collective --op "$op" --bytes "$bytes" --ranks "$2" --gpu h100_sxm \
                --network own.json --json | sed -n 's/.*"time_us":[^0-9]*\([0-9.]*\),$/\1/p')
            echo "lab,$op,$3,$2,half,$(numfmt --from=iec "$bytes"),$us,,h100_sxm,dgx_h100_400g"
        done
    done
}

# Figures change with the models; what is around them does not.
mask() {
    sed -E 's/[0-9.]+ %/N %/g; s/(us|_share|ratio|GBps) +[0-9].*(determined|uncertain|correlated|fixed|bound|effect)/\1 .. \2/' | tr -s ' -'
}
