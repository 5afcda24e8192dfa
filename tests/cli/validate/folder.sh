# SPDX-License-Identifier: MIT
# A folder's tables are those of its files; what is no table of ours is named. A .gz is as good.
. "$ROOT"/tests/cli/validate/common.bash
mkdir d
collectives >d/a.csv
gemm >d/b.csv
printf 'gpu,fp16\nx,1\n' >d/hardware.csv
"$SPECTER" validate d/ --json - 2>note | grep -v '"file"' >folder.json
cut -c 1-53 note
collectives | gzip >a.csv.gz
"$SPECTER" validate d/a.csv d/b.csv --json - | grep -v '"file"' >files.json
"$SPECTER" validate a.csv.gz d/b.csv --json - | grep -v '"file"' >gzip.json
diff files.json gzip.json >&2 && echo same
diff folder.json files.json | grep -c reason
# Files that specter bench leaves beside its tables are passed over without a word.
printf 'timestamp_abs,elapsed_s,gpu_id\n1,0.1,0\n' >d/temperatures.csv
printf 'rank,elapsed_s,gpu_ahead_us,host_ahead_us\n0,0,0,0\n' >d/drift.csv
rm d/hardware.csv
"$SPECTER" validate d --json - 2>&1 >again.json | cut -c 1-53
grep -v '"file"' again.json | cmp - files.json
"$SPECTER" validate d/drift.csv 2>&1 | cut -c 1-45
