# A step of eight tasks over two nodes is one run of eight files with one closing line, also where one task
# runs on long after the others; a step after it is another run, and so are the tasks of a folder that
# each node has for itself.
. "$ROOT/tests/cli/slurm/common.bash"
cat >job.sh <<'J'
export SPECTER_EXAMPLE_ID=$PWD/id EMU_DIR=$PWD
srun -N2 --ntasks-per-node=4 bash rank.sh "$SPECTER" capture -o traces -- $train $small --iters 3 2>first.err
# Task 5 ends two seconds after all others.
rm id
srun -N2 --ntasks-per-node=4 bash rank.sh "$SPECTER" capture -o late -- \
    bash -c '$train $small --iters 3; [ $SLURM_PROCID != 5 ] || sleep 2' 2>late.err
# Each node has a folder for itself.
rm id
srun -N2 --ntasks-per-node=4 bash rank.sh bash -c '"$SPECTER" capture -o own.$SLURM_NODEID -- $train $small --iters 3' \
    2>own.err
# Three tasks on two nodes, a folder for each node: two of them end on the first, one on the second.
rm id
srun -N2 -n3 bash rank.sh bash -c '"$SPECTER" capture -o odd.$SLURM_NODEID -- $train ${small/--tp 2/} --iters 3' 2>odd.err
# A program that makes no call: said once.
srun -N2 --ntasks-per-node=4 "$SPECTER" capture -o none -- sleep 2 2>none.err
scontrol show job >jobs.txt
J
export train small
on_slurm bash job.sh || { cat slurm.log; exit 1; }
of_specter first.err
ls -A traces
runs_of traces
"$SPECTER" analyze traces | head -n 1 | cut -d , -f 1
of_specter late.err
runs_of late
of_specter own.err | sort
ls -A own.0 own.1
of_specter odd.err | sort
of_specter none.err
# Of all jobs that Slurm tells of, that of the traces; both nodes are this machine, and are not taken for two.
cp jobs.txt traces
"$SPECTER" analyze traces 2>&1 >/dev/null | grep 'Slurm says\|two nodes' |
    sed 's/job [0-9]* /job N /; s/after [0-9:]*/after TIME/; s/host [^ ]*/host HOST/'
