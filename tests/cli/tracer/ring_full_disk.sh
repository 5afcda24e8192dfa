# A disk that is full already has no place for a ring; one that fills up later does not touch it.
. "$ROOT/tests/cli/tracer/common.bash"
small_disk 2m
SPECTER_RING=5000 traced small/none "$FLIGHT" steps 3 0
echo "status $?"
ls small/none
SPECTER_RING=100 traced small/out "$FLIGHT" late 5 small/filler never
echo "status $?"
check small/out/*
sed -n 's/.*"total_ops":\([0-9]*\),"dropped":\([0-9]*\).*\("ring.*\)}} *$/\1 \2 \3/p' small/out/*
