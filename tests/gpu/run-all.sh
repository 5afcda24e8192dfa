#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# One call on a lent GPU machine, from the archive that `make gpu-bundle` makes: unpacks it, runs as many
# checks as fit the time, packs what came of them.
#
#     run-all.sh [-o FOLDER] [-r RESULTS.tar.gz] [-t SECONDS] [CHECK...]
#
# Leaves results.tar.gz and report.md in FOLDER (default: $OUT, else the current folder). Results stay on
# the machine in $SPECTER_GPU (default: /var/tmp/specter-gpu), so that the next call goes on with what is
# left; on another machine -r gives it the archive of the call before. Python is $PYTHON, else the first that
# has PyTorch: a python3 on PATH, or one below /opt or /usr/local. 540 seconds, unless -t says another
# number: a call may take ten minutes. Checks that are named run again.
set -u

HERE=$(cd "$(dirname "$0")" && pwd)
KEEP=${SPECTER_GPU:-/var/tmp/specter-gpu}
OUT=${OUT:-$PWD} EARLIER='' SECONDS_IN_ALL=540

while getopts o:r:t: option; do
    case $option in
    o) OUT=$OPTARG ;;
    r) EARLIER=$(realpath "$OPTARG") ;;
    t) SECONDS_IN_ALL=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
mkdir -p "$OUT" "$KEEP/results" || exit 2
OUT=$(realpath "$OUT")

if [ ! -d "$HERE/tests/gpu" ]; then # beside the archive, not within it
    tar -xzf "$HERE/gpu-bundle.tar.gz" -C "$KEEP" || exit 2
    HERE=$KEEP/gpu-bundle
fi
[ -z "$EARLIER" ] || tar -xzf "$EARLIER" -C "$KEEP/results" || exit 2

# has_torch PYTHON: without the seconds that an import takes.
has_torch() { "$1" -c 'import importlib.util as u, sys; sys.exit(not u.find_spec("torch"))' 2>/dev/null; }

for python in ${PYTHON:-$(type -ap python3) /opt/*/bin/python3 /opt/*/.venv/bin/python3 /usr/local/bin/python3}; do
    has_torch "$python" && export PYTHON="$python" && break
done

status=0
"$HERE/tests/gpu/run.sh" -o "$KEEP/results" -t $((SECONDS_IN_ALL - SECONDS)) "$@" || status=$?
[ $status != 77 ] || exit 77 # nothing ran
"$HERE/tests/gpu/run.sh" -o "$KEEP/results" --pack "$OUT/results.tar.gz" 2>/dev/null ||
    tar -czf "$OUT/results.tar.gz" -C "$KEEP/results" .
[ ! -e "$KEEP/results/report.md" ] || cp "$KEEP/results/report.md" "$OUT/"
exit $status
