# SPDX-License-Identifier: MIT
# Every GPU and network that the measured tables name has a profile.
data=$SHARED/data/measured
[[ -n $SHARED && -d $data ]] || { echo "no ../shared data"; exit 77; }
for table in "$data"/*.csv; do
    head -1 "$table" | grep -q ',gpu_profile' || continue
    first=NF # gpu_profile is last, or network_profile is and gpu_profile stands before it
    head -1 "$table" | grep -q ',gpu_profile,network_profile' && first=NF-1
    tr -d '\r' < "$table" | awk -F, "NR > 1 { for (i = $first; i <= NF; i++) print \$i }"
done | grep . | sort -u > named.txt
[[ -s named.txt ]] || echo "no names found"
for name in $(cat named.txt); do
    "$SPECTER" profiles "$name" > /dev/null
done
