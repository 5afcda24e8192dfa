# SPDX-License-Identifier: MIT
# The suite's checks of the models, on the stand-ins with the training example for a workload: their figures are
# those of the stand-ins, what they claim can fail, and what is missing is said.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
[[ ! -e $BUILD/libspecter-san.so ]] || { echo "the example is not sanitized"; exit 77; }
mkdir bin
printf '#!/bin/sh\necho "Stand-in GPU"\n' >bin/nvidia-smi
cat >bin/python <<END
#!/bin/sh
[ "\$1" = -c ] && exit 0
case \$1 in
*/workload.py) exec "$BUILD/examples/train" --iters 8 --layers 4 --hidden 4096 ;;
esac
exec python3 "\$@"
END
chmod +x bin/*
cat >fabric.conf <<'END'
gpu_name = NVIDIA H200
memory_GBps = 4800
sm_clock_MHz = 1500
power_W = 700
END
export PATH=$PWD/bin:$PATH PYTHON=$PWD/bin/python PYTHONDONTWRITEBYTECODE=1 GEMM_SECONDS=3
export LD_LIBRARY_PATH=$BUILD/emu/lib EMU_DIR=$PWD EMU_FABRIC=$PWD/fabric.conf
run() { "$ROOT/tests/gpu/run.sh" -o out "$@" | sed "s|$PWD/||"; }

run identity as_found
for name in identity as_found; do
    grep -E ': [-+]?[0-9.]+%' "out/checks/$name.log" | sed -E 's/[-+]?[0-9.]+%/N/'
done
cat out/found.json
awk -F, 'NR == 1 || NR == 2 { print $7, $12, $14 }' out/state_own_transformer.csv
run gemm | grep -c ' gemm$' # what it claims of a stand-in says nothing: below it is of made tables
[[ -s out/gemm.csv ]] && echo "the table is kept"

echo "-- a step that its own replay does not give back"
"$SPECTER" replay --full out/traces/own_transformer --scale 1 --json own.json >/dev/null
for off in 1.029 1.031; do
    python3 -c '
import json, sys
r = json.load(open("own.json"))
r["source"]["replayed"]["iteration_us"] = r["source"]["recorded"]["iteration_us"] * float(sys.argv[1])
json.dump(r, open("off.json", "w"))' $off
    PYTHONPATH=$ROOT/tests/gpu python3 "$ROOT/tests/gpu/checks.py" identity made off.json 3 | tail -n 1
    echo "status ${PIPESTATUS[0]}"
done

echo "-- a state that nobody saw"
head -n 1 out/state_own_transformer.csv >none.csv
python3 "$ROOT/tests/gpu/models.py" found none.csv own.json "$SPECTER" found.json
echo "status $?"
sed 's/"h200_sxm"/null/' own.json >unknown.json
python3 "$ROOT/tests/gpu/models.py" found out/state_own_transformer.csv unknown.json "$SPECTER" found.json
echo "status $?"

echo "-- a memory clock below its highest, and a GPU that idles at first"
{
    echo elapsed_s,gpu_id,clock_sm,clock_sm_max,clock_memory,clock_memory_max,power,power_limit,temperature,throttle_reasons
    for i in 1 2 3; do echo "$i,0,345,1980,3201,3201,90,500,30,idle"; done
    for i in 4 5; do echo "$i,0,1400,1980,1600.5,3201,490,500,60,power_cap"; echo "$i,1,800,1980,,3201,,500,60,none"; done
} >throttled.csv
python3 "$ROOT/tests/gpu/models.py" found throttled.csv own.json "$SPECTER" found.json | grep -e '^SM' -e samples
cat found.json

echo "-- tables of products: within their limits, too long, too wide, too few, damaged"
products() { # ROWS FACTOR WIDE: times are what the model says / FACTOR, of one in ten rows / WIDE
    python3 - "$@" <<'PY'
import csv, sys
count, factor, wide = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
rows = list(csv.DictReader(open("predicted.csv")))[:count]
with open("made.csv", "w") as out:
    print("# made\n#", file=out)
    print("gpu,dtype,m,n,k,batch,cache,time_us,spread,family,sm_MHz,power_W", file=out)
    for i, r in enumerate(rows):
        us = float(r["predicted_us"]) / (wide if i % 10 == 0 else factor)
        print("NVIDIA H200", r["dtype"], r["m"], r["n"], r["k"], r["batch"], "cold", f"{us:.3f}", "0.01", "layer",
              1500, 560, sep=",", file=out)
PY
}
judge() {
    "$SPECTER" validate made.csv --rows rows.csv --json scores.json >/dev/null
    python3 "$ROOT/tests/gpu/models.py" gemm made.csv scores.json rows.csv | grep -E ': (holds|FAILS)$'
    echo "status ${PIPESTATUS[0]}"
}
{
    echo gpu,dtype,m,n,k,batch,cache,time_us
    for m in 1 16 128 1000 4096 8192; do for n in 512 1024 4096 8192 12288; do for k in 1024 4096; do
        for type in bf16 fp8; do echo "NVIDIA H200,$type,$m,$n,$k,1,cold,1"; done
    done; done; done
} >any.csv
"$SPECTER" validate any.csv --rows predicted.csv >/dev/null
products 120 1.08 1.3 && judge
products 120 1.12 1.3 && judge
products 120 1.05 1.05 && sed -i '4,17s/,cold,/,cold,9/' made.csv && judge
products 90 1.05 1.05 && judge
products 120 1.05 1.05 && sed -i '9s/cold,/cold,-/' made.csv && judge
