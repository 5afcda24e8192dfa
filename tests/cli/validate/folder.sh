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
