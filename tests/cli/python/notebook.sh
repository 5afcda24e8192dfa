# docs/notebook.ipynb runs, and prints what it holds.
. "$ROOT"/tests/cli/python/common.bash
with_tools nbclient ipykernel pandas
export SPECTER_PROGRAM=$SPECTER PYTHONPATH=$ROOT/packaging/python PYTHONDONTWRITEBYTECODE=1
"$tools" "$ROOT/scripts/notebook.py" --check 2>log || tail -n 20 log
