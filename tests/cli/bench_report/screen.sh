# SPDX-License-Identifier: MIT
# The answer of any log fits the first screen: 14 lines of 80 columns; what a fault looks like comes first.
ask() { "$SPECTER" bench report "$@" 2>/dev/null; }
predict() { "$SPECTER" predict collective --bytes 8:8G --gpu h100_sxm --network dgx_h100_400g "$@"; }
reports=0
for ranks in 8 16; do
    for how in "" "--proto LL" "--proto Simple" "--algo tree" "--algo ring --proto LL128"; do
        for op in all_reduce all_gather reduce_scatter broadcast; do
            [[ $op != all_reduce && $how == *tree* ]] && continue
            predict --op $op --ranks $ranks $how >log 2>/dev/null || continue
            ask log --gpu h100_sxm --op $op --nodes $((ranks / 8)) --gpus-per-node 8 >report || { echo "$op $ranks $how: status $?"; continue; }
            (($(wc -l <report) <= 14)) || { echo "$op $ranks $how:"; cat report; }
            awk 'length($0) > 80 { print FILENAME ": " $0 }' report
            reports=$((reports + 1))
        done
    done
done
((reports > 20)) || echo "only $reports reports"
# A pipe, as the last stage of a job.
predict --op all_reduce --ranks 16 --proto LL | ask - --gpu h100_sxm
