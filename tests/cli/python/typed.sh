# The module's annotations hold, and so does what docs/python.md shows.
. "$ROOT"/tests/cli/python/common.bash
with_tools mypy
export PYTHONDONTWRITEBYTECODE=1
sed -n '/^```python/,/^```/p' "$ROOT/docs/python.md" | grep -v '^```' >shown.py
[[ $(wc -l <shown.py) -gt 8 ]] || echo "docs/python.md shows no Python"
MYPYPATH=$ROOT/packaging/python "$tools" -m mypy --strict --cache-dir cache -p specter >log 2>&1 || cat log
MYPYPATH=$ROOT/packaging/python "$tools" -m mypy --cache-dir cache shown.py >log 2>&1 || cat log
