# Eight ranks of the training example: what it prints and returns is what it does untraced, and the
# trace holds each of its calls once, by the program's own count. Read with grep and awk only: what
# the readers of the project think of it is another matter.
export LD_LIBRARY_PATH=$BUILD/emu/lib
train=("$ROOT/examples/launch.sh" -n 8 "$BUILD/examples/train" --tp 2 --iters 3 --layers 4
    --hidden 256 --tokens 128)
"${train[@]}" >plain.out 2>plain.err
plain=$?
"$SPECTER" capture -o traces -- "${train[@]}" --count "$PWD/count" >traced.out 2>traced.err
traced=$?
[[ $plain == 0 && $traced == 0 ]] || echo "status $plain untraced, $traced traced"
cmp plain.out traced.out
sed '$d' traced.err | cmp plain.err -
tail -n 1 traced.err
ls traces

for rank in 0 1 2 3 4 5 6 7; do
    file=traces/specter_trace_rank$rank.jsonl
    for op in AllReduce GemmEx; do
        counted=$(awk -v op=$op '$1 == op { print $2 }' count.$rank)
        recorded=$(grep -c "^{\"id\":[0-9]*,.*\"op\":\"$op\"" $file)
        [[ $counted -gt 0 && $counted == "$recorded" ]] ||
            echo "rank $rank made $counted $op, the trace holds $recorded"
    done
    for kind in MemcpyAsync MemsetAsync LaunchKernel; do
        counted=$(awk -v kind=$kind '$1 == kind { print $2 }' count.$rank)
        case $kind in
        MemcpyAsync) recorded=$(grep '"type":"copy"' $file | grep -vc '"kind":"memset"') ;;
        MemsetAsync) recorded=$(grep '"type":"copy"' $file | grep -c '"kind":"memset"') ;;
        LaunchKernel) recorded=$(grep -o '"launches":[0-9]*,"classes"' $file | tr -dc '0-9\n' |
            awk '{ n += $1 } END { print n }') ;;
        esac
        [[ $counted -gt 0 && $counted == "$recorded" ]] ||
            echo "rank $rank made $counted $kind, the trace holds $recorded"
    done
    [[ $(grep -c '"kind":"iteration"' $file) == 3 ]] || echo "rank $rank: not 3 iterations marked"
    grep -o '^{"id":[0-9]*' $file | sort | uniq -d # no operation twice
done

# (comm, seq) names one collective: found on as many ranks as the communicator has, each a different
# comm_rank, with the same operation, bytes and type; and numbers have no gaps.
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p"; }
grep -h '"type":"nccl"' traces/*.jsonl >ops
paste -d ' ' <(field comm <ops) <(field seq <ops) <(field comm_size <ops) <(field comm_rank <ops) \
    <(field op <ops) <(field bytes <ops) <(field dtype <ops) | awk '
    { id = $1 " " $2; what = $3 " " $5 " " $6 " " $7
      if (id in kind && kind[id] != what) print id ": " kind[id] " and " what
      if (seen[id " " $4]++) print id " twice on comm rank " $4
      kind[id] = what; size[id] = $3; members[id]++; comms[$1]
      if ($2 > last[$1]) last[$1] = $2 }
    END { for (id in size) if (members[id] != size[id]) print id " on " members[id] " of " size[id]
          for (c in comms) for (s = 0; s <= last[c]; s++) if (!(c " " s in size)) print c " lacks " s
          n = 0; for (c in comms) n++; print n " communicators" }'
