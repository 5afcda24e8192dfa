# A dozen of what `make check-kills` does 200 times.
BUILD=$BUILD "$ROOT/tests/tracer/kills.sh" 12
