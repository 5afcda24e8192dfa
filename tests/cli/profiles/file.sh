# SPDX-License-Identifier: MIT
# Every printed profile is a file that reads back to the same bytes.
for name in $("$SPECTER" profiles --json | sed -n 's/.*"name":[^"]*"\(.*\)",/\1/p'); do
    "$SPECTER" profiles "$name" --json > one.json
    "$SPECTER" profiles ./one.json --json | cmp - one.json && echo same
done | sort | uniq -c

# Only what differs, a GPU and a network in one file.
cat > my.json <<'END'
{
  "gpu": {"name": "my_h100", "base": "h100_sxm", "network": "my_cluster",
          "mem_GBps": 3900, "gemm": {"mma_share": 0.72}},
  "network": {"name": "my_cluster", "base": "dgx_h100_400g", "nics_per_node": 4,
              "net": {"hop_us": 7}}
}
END
"$SPECTER" profiles my.json | grep -E '^my_|mem_GBps|nics_per_node|mma_share|hop_us|own'
"$SPECTER" profiles network my.json --json | grep -E '"name"|hop_us|"gpus"'
