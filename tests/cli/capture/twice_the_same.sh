# Time on the stand-ins is virtual: two captures hold the same records with the same times. What may
# differ is the order of lines, who ran (run, pid) and the wall clock.
export LD_LIBRARY_PATH=$BUILD/emu/lib
for i in 1 2; do
    "$SPECTER" capture -o traces$i -- "$ROOT/examples/launch.sh" -n 8 "$BUILD/examples/train" --tp 2 \
        --iters 2 --layers 4 --hidden 256 --tokens 128 >/dev/null 2>&1
    mkdir same$i
    for file in traces$i/*.jsonl; do
        sed 's/"run":"[^"]*",//; s/"pid":[0-9]*,//; s/"real_ns":[0-9]*,//' "$file" | sort >same$i/"${file##*/}"
    done
done
diff -r same1 same2 | cut -c 1-300 | head -20
wc -l same1/*.jsonl | tail -n 1 | awk '{ print ($1 > 500 ? "compared" : "too few records") }'
