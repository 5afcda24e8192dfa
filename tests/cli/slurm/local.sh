# --local: traces are recorded on the node's own disk and gathered at the end. A node without the disk, one
# whose disk is full, and a full disk where traces go: one line each, and nothing that was recorded is lost.
. "$ROOT/tests/cli/slurm/common.bash"
cat >job.sh <<'J'
export EMU_DIR=$PWD
traced() {
    SPECTER_EXAMPLE_ID=$PWD/id.$((++n)) srun -N2 --ntasks-per-node=2 bash rank.sh "$SPECTER" capture "$@" 2>$name.err
    echo "$name: status $?"
}
mkdir disk disk.0 small full
name=gathered traced -o gathered --local disk -- $train $small --iters 3
ls -A disk
name=again traced -o gathered --local disk -- $train $small --iters 3
name=absent traced -o absent --local no/disk -- $train $small --iters 3
srun -N2 --ntasks-per-node=2 bash -c 'exec "$SPECTER" capture -o one --local disk.$SLURM_NODEID -- true' 2>one.err
echo "one: status $?"
mount -t tmpfs -o size=64k tmpfs small
name=small traced -o small_out --local small -- $train $small --iters 200
mount -t tmpfs -o size=64k tmpfs full
name=full traced -o full --local disk -- $train $small --iters 200
ls disk/*/ | sort | uniq -c
umount small full
J
export train small
on_slurm bash job.sh || { cat slurm.log; exit 1; }
grep status slurm.log
of_specter gathered.err again.err
ls gathered
runs_of gathered
echo "-- absent"
of_specter absent.err one.err | grep -e --local | sed "s/$(hostname)/HOST/"
echo "-- small"
grep -c . small_out/*.jsonl | sed 's/:.*/: some lines/'
of_specter small.err | sed "s/[0-9]* operations, [0-9]* dropped/N operations, N dropped/; s/rank[0-3]/rankR/g; s/end: .*/end: some/; s|$PWD/||; s/\(specter-[0-9.]*\)\.[A-Za-z0-9]*/\1.X/" | sort -u
echo "-- full"
of_specter full.err | sed "s/$(hostname)/HOST/; s|$PWD/||g; s/\(specter-[0-9.]*\)\.[A-Za-z0-9]*/\1.X/" | sort -u
ls disk | wc -l
for folder in disk/*; do
    tail -n 1 "$folder"/*.jsonl | grep -o '"event":"shutdown"'
done
