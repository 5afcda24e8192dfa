# Of the machine: everything is there, and a GPU answers.
. "$ROOT/tests/cli/doctor/common.bash"
export LD_LIBRARY_PATH=$BUILD/emu/lib
doctor 'library|directory|preload|plugin|gpu' -o traces
ls -A | grep -v said # nothing was made
grep -c "libnccl .*$BUILD/emu/lib/libnccl.so.2" said
grep -E '^(ok|warning) +clock ' said | wc -l
grep -E '^ok +glibc .* needs 2\.[0-9]+, this system has 2\.[0-9]+$' said | wc -l
ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=$BUILD/emu/libemuext.so NCCL_PROFILER_PLUGIN=other.so NCCL_TUNER_PLUGIN=t.so SPECTER_OUTPUT=said/x \
    doctor 'directory|preload|plugin'
SPECTER_LIB=none.so doctor library
# The answer stands first, then what stands against a capture.
"$SPECTER" doctor -o traces | sed -E "2,\$d; s/, [0-9]+ warnings?//"
"$SPECTER" doctor -o traces | awk 'NR > 1 && $1 ~ /^(ok|warning|problem)$/ { if ($1 == "ok") ok = 1; else if (ok) print "after what is well: " $0 }'
"$SPECTER" doctor -o traces --expect-lib /nowhere/libnccl.so.2 | sed -E "2,\$d; s/, [0-9]+ warnings?//"
