# SPDX-License-Identifier: MIT
# A profile made by others: 8 V100s, one step.
[[ -n $SHARED && -e $SHARED/data/traces/param/dlrm_kineto.tar.gz ]] ||
    { echo "no ../shared data"; exit 77; }
cp "$SHARED/data/traces/param/dlrm_kineto.tar.gz" .
"$SPECTER" analyze --full dlrm_kineto.tar.gz
