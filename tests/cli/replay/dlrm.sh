# SPDX-License-Identifier: MIT
# A profile made by others: 8 V100s, one step. The replay on its own hardware gives its time, and who
# waits for whom in collectives.
[[ -n $SHARED && -e $SHARED/data/traces/param/dlrm_kineto.tar.gz ]] ||
    { echo "no ../shared data"; exit 77; }
cp "$SHARED/data/traces/param/dlrm_kineto.tar.gz" .
"$SPECTER" replay --full dlrm_kineto.tar.gz --json out.json | sed -n '1,/^$/p'
# Per rank within 1 %; what it waits in collectives within 4 % (of the rank that waits least 60 us), and 5 %
# in the median over these.
awk 'function off(a, b) { return (a - b) / b > 0 ? (a - b) / b : (b - a) / b }
     /"median_off"/ { if ($2 + 0 > 0.05) { print "waits off by", $2; bad = 1 } }
     /"collectives":[ \t]*[0-9]/ { gsub(/[^0-9.]/, ""); print $0, "collectives" }
     /"(recorded|replayed)(_waits)?_us"/ { key = $1; gsub(/[^0-9.]/, "", $2); value[key] = $2 }
     /"replayed_us"/ { ranks = ranks + inranks }
     /"ranks":.*\[/ { inranks = 1 }
     inranks && /"replayed(_waits)?_us"/ {
         recorded = value[key ~ /waits/ ? "\"recorded_waits_us\":" : "\"recorded_us\":"]
         if (off($2, recorded) > (key ~ /waits/ ? 0.04 : 0.01)) { print key, "off by", off($2, recorded); bad = 1 }
     }
     END { print ranks, "ranks"; exit bad }' out.json
