# Functions of the tests of agreement: sourced, not run.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
cp "$ROOT"/tests/cli/agree/agree.py .

# agree NAME TRACE [OPTION...]: analyze, metrics and replay (with the options) of a trace tell the same
# step time, its parts add up, and their bounds agree or say why not. A line of what they say.
agree() {
    local name=$1 trace=$2
    "$SPECTER" analyze --full "$trace" --html analyze.html --json analyze.json >analyze.txt 2>said ||
        [[ $? == 4 ]] || { echo "$name: analyze: $(tail -n 1 said)"; return 1; }
    "$SPECTER" metrics "$trace" --json metrics.json >/dev/null 2>said ||
        [[ $? == 4 ]] || { echo "$name: metrics: $(tail -n 1 said)"; return 1; }
    "$SPECTER" replay --full "$trace" --scale 1 --json replay.json "${@:3}" >replay.txt 2>said ||
        [[ $? == 4 ]] || { echo "$name: replay: $(tail -n 1 said)"; return 1; }
    python3 agree.py "$name"
}
