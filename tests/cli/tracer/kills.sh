# A few of what `make check-kills` does 1,000 times, none beside spinning threads.
BUILD=$BUILD "$ROOT/tests/tracer/kills.sh" 9
