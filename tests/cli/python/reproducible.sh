# The wheel's bytes depend on the files alone: made again elsewhere, later, from a tree in another order.
. "$ROOT"/tests/cli/python/common.bash
python=$(python_of 3) || { echo "no Python 3"; exit 77; }
[[ ${#wheels[@]} == 1 ]] || { echo "no wheel in $BUILD/dist"; exit 77; }
name=${wheels[0]##*/} version=${name#specter-} version=${version%%-*}
mkdir tree
(cd "$BUILD/dist/stage" && find . -type f | sort -r | cpio -pdm "$OLDPWD/tree" 2>/dev/null) || cp -R "$BUILD/dist/stage/." tree
touch tree/bin/specter
"$python" "$ROOT/packaging/python/wheel.py" tree "$version" "$(basename "${name##*none-}" .whl)" . >path 2>&1 || cat path
cmp "$name" "${wheels[0]}"
"$python" "$ROOT/packaging/python/wheel.py" empty 1 linux_x86_64 . 2>refused && echo "a wheel of nothing"
grep -q "no bin/specter in .empty." refused || cat refused
