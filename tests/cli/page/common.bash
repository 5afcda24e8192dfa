# SPDX-License-Identifier: MIT
# Pages in a browser (devtools.py). What is wrong is printed; a page in which all holds prints one line.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$ROOT/tests/cli/page
python3 -c 'import devtools, sys; sys.exit(devtools.find_browser() is None)' || { echo "no chromium"; exit 77; }

# page NAME analyze|replay|compare ARGUMENT...: writes NAME.html and uses it.
page() {
    "$SPECTER" "$2" "${@:3}" --html "$1.html" >/dev/null 2>log || [[ $? == 4 ]] || cat log
    python3 "$ROOT/tests/cli/page/check.py" "$2" "$1.html" >held 2>&1 || cat held
    grep -v '^[a-z]' held
    echo "$1: $(grep -c '^[a-z]' held) held"
}
