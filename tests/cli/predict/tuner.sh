# SPDX-License-Identifier: MIT
# A tuner's table in a network's profile chooses in the place of NCCL's estimates: by operation, bytes and ranks.
# What a user names with --algo stands above it; where no row can be done, NCCL chooses.
cat >mine.json <<'EOF'
{"network": {"name": "mine", "base": "dgx_h100_400g", "tuner": [
  {"op": "AllGather", "algo": "pat", "proto": "Simple"},
  {"op": "AllReduce", "max_bytes": 65536, "min_ranks": 16, "max_ranks": 64, "algo": "ring", "proto": "LL128", "channels": 3},
  {"op": "AllReduce", "ranks_per_node": 8, "algo": "tree", "proto": "Simple"}]}}
EOF
ask() { "$SPECTER" predict collective --gpu h100_sxm --network mine.json "$@"; }
taken() { ask "$@" | sed -n 's/^ *algorithm *//p'; }
for ranks in 8 16 64 128; do
    taken --op all_reduce --bytes 64K --ranks $ranks
done
taken --op all_reduce --bytes 65537 --ranks 16
taken --op all_reduce --bytes 64K --ranks 16 --algo nvls_tree
taken --op all_reduce --bytes 64K --ranks 16 --algo ring,tree --proto ^LL128
taken --op all_gather --bytes 64K --ranks 16
ask --op all_reduce --bytes 64K --ranks 16 --explain | grep -e '->' -e 'tuner table'
ask --op all_reduce --bytes 64K --ranks 16 --explain --json | grep -c '"by_tuner":	true'
"$SPECTER" profiles mine.json | sed -n '/^tuner/,$p'
"$SPECTER" profiles mine.json --json >again.json
ask --op all_reduce --bytes 64K --ranks 16 --json >one
"$SPECTER" predict collective --gpu h100_sxm --network again.json --op all_reduce --bytes 64K --ranks 16 --json |
    cmp - one
# Rows that begin and end between two doublings are seen; a base's table can be cleared.
cat >narrow.json <<'EOF'
{"network": {"name": "narrow", "base": "dgx_h100_400g", "tuner": [
  {"op": "AllReduce", "min_bytes": 70000, "max_bytes": 100000, "algo": "tree", "proto": "Simple"}]}}
EOF
"$SPECTER" predict collective --gpu h100_sxm --network narrow.json --op all_reduce --bytes 8 --ranks 16 --explain |
    sed -n 's/^  from \(70000\|100001\) B: \([a-z]*\) \([A-Za-z0-9]*\) .*/\1 \2 \3/p'
echo '{"network": {"name": "cleared", "base": "aws_p5en", "tuner": []}}' >cleared.json
"$SPECTER" profiles cleared.json | grep -c tuner
"$SPECTER" profiles aws_p5en | grep -c '^tuner'
