# Tests for the test runner, of which one fails at once and one waits until it was seen to run: sourced.
export JOBS=1 BUILD=build
mkdir -p tests/cli/a build
cp "$ROOT/tests/run.sh" tests/
echo 'exit 3' >tests/cli/a/fails.sh
echo 'for i in {1..1000}; do [[ ! -e ../../../../../seen ]] || exit 0; sleep 0.1; done' >tests/cli/a/waits.sh
touch progress

# seen LINE: waits until this is shown; then the test may end.
seen() {
    for i in {1..1000}; do
        grep -q "$1" progress && break
        sleep 0.1
    done
    touch seen
}
