# SPDX-License-Identifier: MIT
# Refused before anything is read.
for expr in "idel>0.3" "idle=0.3" "idle>" "idle>much"; do
    "$SPECTER" analyze --full missing --fail-on "$expr"
    echo $?
done
