# SPDX-License-Identifier: MIT
# LibreOffice opens the workbooks, and has the same values in them.
"$SPECTER" --version | grep -q 'libxlsxwriter -' && {
    echo "built without libxlsxwriter"
    exit 77
}
command -v soffice >/dev/null || { echo "no LibreOffice (Debian: libreoffice-calc)"; exit 77; }
[ -x /usr/bin/python3 ] && /usr/bin/python3 -c 'import openpyxl' 2>/dev/null || { echo "no openpyxl for /usr/bin/python3"; exit 77; }
cp -r "$ROOT"/tests/cli/replay/data/two_ranks a
cp -r a b
sed -i 's/"duration_us":250.000/"duration_us":275.000/' b/*.jsonl
"$SPECTER" analyze a --xlsx out >/dev/null 2>&1
"$SPECTER" compare a b -o out >/dev/null 2>&1
files=$(find out -name '*.xlsx' | sort)
mkdir converted
timeout 300 soffice -env:UserInstallation=file://"$PWD"/profile --headless --convert-to xlsx --outdir converted $files >log 2>&1 || cat log
ls converted
/usr/bin/python3 - $files <<'PY'
import math, openpyxl, os, sys
for path in sys.argv[1:]:
    before, after = openpyxl.load_workbook(path), openpyxl.load_workbook("converted/" + os.path.basename(path))
    if before.sheetnames != after.sheetnames:
        print(path, before.sheetnames, after.sheetnames)
    for sheet in before:
        for line in sheet.iter_rows():
            for cell in line:
                value = after[sheet.title][cell.coordinate].value
                if value != cell.value and not (isinstance(value, (int, float)) and isinstance(cell.value, (int, float)) and math.isclose(value, cell.value, rel_tol=1e-9, abs_tol=1e-12)):
                    print(path, sheet.title, cell.coordinate, cell.value, value)
PY
