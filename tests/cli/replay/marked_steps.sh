# Steps that the program marks are its iterations, also where what repeats is shorter.
. "$ROOT/tests/cli/tracer/common.bash"
for marker in 'my step' 'no such name'; do
    SPECTER_MARKER=$marker traced "$marker" "$BUILD/tracer/marks" steps || exit 1
    "$SPECTER" replay --full "$marker" --scale 1 --json - 2>/dev/null | grep -o '"iterations":.*[0-9]' | head -n 1
done
