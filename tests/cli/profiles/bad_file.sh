# SPDX-License-Identifier: MIT
# Errors of a file say where they are.
try() {
    cat > my.json
    "$SPECTER" profiles ${1:-} my.json > /dev/null
    echo $?
}
try <<'END'
{"network": {
   "name": "mine", "base": "dgx_h100_400g",
   "nic_Gbps": 400000}}
END
try <<'END'
{"network": {"name": "mine", "base": "dgx_h100_400g", "nics": 4}}
END
try <<'END'
{"gpu": {"base": "h100_sxm", "mem_GBps": 3900}}
END
try <<'END'
{"gpu": {"name": "mine", "base": "h100_sxm", "mem_GBps": "3.9 TB/s"}}
END
try <<'END'
{"gpu": {"name": "mine", "base": "h100_sxm", "mem_GBps": 3900, "mem_GBps": 4000}}
END
try <<'END'
{"gpu": {"name": "mine", "base": "h100_sxm",}}
END
try network <<'END'
{"gpu": {"name": "mine", "base": "h100_sxm"}}
END
try <<'END'
{"network": {"name": "mine", "base": "dgx_h100_400g", "tuner": {"algo": "ring"}}}
END
try <<'END'
{"network": {"name": "mine", "base": "dgx_h100_400g",
   "tuner": [{"algo": "ring", "proto": "Simple"}, {"algo": "ring"}]}}
END
try <<'END'
{"network": {"name": "mine", "base": "dgx_h100_400g", "tuner": [{"algo": "rings", "proto": "LL"}]}}
END
try <<'END'
{"network": {"name": "mine", "base": "dgx_h100_400g", "tuner": [{"algo": "ring", "proto": "LL", "base": "x"}]}}
END
try <<'END'
{"network": {"name": "mine", "base": "dgx_h100_400g", "tuner": [{"algo": "ring", "proto": "LL", "max_ranks": 2.5}]}}
END
try <<'END'
{"network": {"name": "mine", "base": "dgx_h100_400g",
   "tuner": [{"algo": "ring", "proto": "LL", "min_bytes": 4096, "max_bytes": 4095}]}}
END
try <<'END'
{"network": {"name": "mine", "base": "dgx_h100_400g",
   "tuner": [{"algo": "ring", "proto": "LL"}, {"algo": "ring", "proto": "LL", "min_ranks": 9, "max_ranks": 8}]}}
END
try <<'END'
{"network": {"name": "mine", "base": "dgx_h100_400g", "tuner": [{"algo": "nvls", "proto": "LL128"}]}}
END
try <<'END'
{"network": {"name": "mine", "base": "dgx_h100_400g", "nccl": 22809.5}}
END
printf '{"network": {"name": "mine", "base": "dgx_h100_400g", "tuner": [%s{"algo": "ring", "proto": "LL"}]}}' \
    "$(printf '{"algo": "ring", "proto": "LL"}, %.0s' {1..256})" | try
try < /dev/null
"$SPECTER" profiles none.json
echo $?
"$SPECTER" profiles ./h100_sxm
echo $?
"$SPECTER" predict gemm -m 1 -n 1 -k 1 --gpu none.json
echo $?
