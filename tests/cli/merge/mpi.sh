# Ranks of MPI read together and answer as one process does; where one fails, all end with one line.
[[ -x $BUILD/specter-mpi ]] || { echo "no MPI"; exit 77; }
mpirun --version 2>/dev/null | grep -q 'Open MPI' || { echo "no Open MPI"; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpi() { timeout 60 mpirun --oversubscribe -n "$1" "$BUILD/specter-mpi" "${@:2}"; }
data=$ROOT/tests/data
tar -C "$data" -czf archive.tar.gz kineto_two_ranks
for options in "analyze $data/two_ranks --json -" "metrics $data/two_ranks" "analyze archive.tar.gz --full" \
    "replay $data/two_ranks --scale 8" "profiles"; do
    mpi 3 $options >together 2>together.said
    echo "${options%% *}: status $?"
    "$SPECTER" $options >own 2>own.said
    cmp together own && cmp together.said own.said
done
mpi 2 analyze nowhere 2>&1 >/dev/null | grep specter:
mpi 2 analyze --wrong 2>&1 >/dev/null | grep specter:
mpi 2 analyze "$data/two_ranks" --json result.json >/dev/null 2>&1
grep -c '"schema"' result.json
# One rank of several fails before it reads.
cat >one_fails.sh <<'END'
[ "$OMPI_COMM_WORLD_RANK" = 1 ] && set -- "$@" --fail-on wrong
exec "$BUILD/specter-mpi" "$@"
END
timeout 60 mpirun --oversubscribe -n 3 bash one_fails.sh analyze "$data/two_ranks" 2>&1 >/dev/null | grep specter:
echo "status ${PIPESTATUS[0]}"
mpi 2 analyze --summary "$data/two_ranks" 2>&1 >/dev/null | grep -c specter:
