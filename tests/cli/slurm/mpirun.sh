# Open MPI's mpirun: one run with one closing line for all of its processes, recorded on a disk of the node.
. "$ROOT/tests/cli/slurm/common.bash"
command -v mpirun >/dev/null && mpirun --version | grep -q 'Open MPI' || { echo "no Open MPI"; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 SPECTER_EXAMPLE_ID=$PWD/id EMU_DIR=$PWD
cat >rank.sh <<'R'
export RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE LOCAL_RANK=$OMPI_COMM_WORLD_LOCAL_RANK
exec "$@"
R
mkdir disk
mpirun --oversubscribe -n 4 bash rank.sh "$SPECTER" capture -o traces --local disk -- \
    bash -c '$0 "$@"; [ $RANK != 2 ] || sleep 1' $train $small --iters 3 2>err
of_specter err
ls -A traces disk
runs_of traces | sed 's/:.*/: one name/'
