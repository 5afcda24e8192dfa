# Calls that a trace could not see are named after the run.
lookups=$BUILD/tracer/lookups
echo 'int ncclCommFinalize(void *c) { (void)c; return 0; } int ncclGroupStart(void) { return 0; }' >nccl.c
mkdir apart idle
for name in apart idle; do
    "$CC" -shared -fPIC -Wl,-soname,libnccl.so.2 -o $name/libnccl.so.2 nccl.c
done
export LD_LIBRARY_PATH=$BUILD/emu/lib EMU_DIR=$PWD
"$SPECTER" capture -o traces -- "$lookups" apart "$PWD/apart/libnccl.so.2" "$PWD/idle/libnccl.so.2" 2>&1 |
    sed "s|$PWD|PWD|"
# in a job of several processes, a library that nobody calls is worth a word
"$SPECTER" capture -o job -- sh -c "for rank in 0 1; do RANK=\$rank $lookups apart $PWD/apart/libnccl.so.2 $PWD/idle/libnccl.so.2; done" 2>&1 |
    sed "s|$PWD|PWD|"
# a name that would drive the terminal
cat >fake.sh <<'END'
printf '{"event":"init","version":1,"run":"%s","rank":0,"host":"%s","real_ns":%s}\n' "$SPECTER_RUN" "$(uname -n)" "$(date +%s%N)"
printf '{"event":"shutdown","time_us":1.000,"total_ops":1,"dropped":0,"summary":{"unseen":[{"kind":"static","path":"/opt/\\u001b[31mapp"}]}}\n'
END
"$SPECTER" capture -o fake -- sh -c 'sh fake.sh >fake/specter_trace_rank0.jsonl' 2>&1 | grep 'opt' | cat -v
