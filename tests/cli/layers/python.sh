# SPDX-License-Identifier: MIT
# A machine with git, make and gcc alone runs all tests: one that runs python3 is skipped by name where there is none.
# Those of slurm/ are skipped without Slurm, which brings it; the others named here write programs of that name.
cd "$ROOT/tests/cli" || exit 1
for test in */*.sh; do
    case $test in layers/python.sh | slurm/* | doctor/keeps_not.sh | doctor/shims.sh | gpu/runner_verdicts.sh) continue ;; esac
    grep -v '^ *#' "$test" | grep -q 'python3' || continue
    sourced=$(sed -n 's|^\. "\$ROOT"\{0,1\}/tests/cli/\([^" ]*\).*|\1|p' "$test")
    # shellcheck disable=SC2086  # words
    grep -qh '^[^#]*python3.*exit 77' "$test" $sourced || grep -q '^python=/usr/bin/python3' "$test" || echo "$test"
done
