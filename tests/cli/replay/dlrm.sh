# SPDX-License-Identifier: MIT
# A profile made by others: 8 V100s, one step. The replay on its own hardware gives its time.
[[ -n $SHARED && -e $SHARED/data/traces/param/dlrm_kineto.tar.gz ]] ||
    { echo "no ../shared data"; exit 77; }
cp "$SHARED/data/traces/param/dlrm_kineto.tar.gz" .
"$SPECTER" replay dlrm_kineto.tar.gz --json out.json | sed -n '1,/^$/p'
# Per rank within 1 %.
awk '/"recorded_us"/ { gsub(/[^0-9.]/, ""); recorded = $0 }
     /"replayed_us"/ { gsub(/[^0-9.]/, ""); n++; off = ($0 - recorded) / recorded
                       if (off > 0.01 || off < -0.01) { print "off by", off; bad = 1 } }
     END { print n, "ranks"; exit bad }' out.json
