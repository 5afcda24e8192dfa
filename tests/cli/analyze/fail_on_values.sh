# SPDX-License-Identifier: MIT
# Names that are no share of a rank's time: each holds, does not, or is not known.
cp -r "$ROOT"/tests/cli/analyze/data/two_ranks traces
for expr in "hangs>0" "waiting>10%" "lag_us>1" "of_model<0.5" "bubble>0.1" "step_ms>1" "step_cv>0.1" \
    "gemm_of_peak<0.9" "gemm_of_peak<0.1" "untimed>0" "lost>0" "step_ms>1,hangs<1" "lag_us>3%"; do
    "$SPECTER" analyze --full --fail-on "$expr" 2>&1 >/dev/null | grep -v "note: "
    echo "$expr: status $("$SPECTER" analyze --full --fail-on "$expr" >/dev/null 2>&1; echo $?)"
done
