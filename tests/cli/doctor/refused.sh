# Doctor names by the same words whatever capture refuses.
. "$ROOT/tests/cli/doctor/programs.bash"
musl && old_glibc && own_glibc || exit 1
for program in ./musl ./older ./owner; do
    doctor program -- $program
done | sed 's/needs GLIBC_.*/needs GLIBC_N/'
for program in ./musl ./older; do
    "$SPECTER" doctor -- $program | sed -n 's/^problem  program *//p' >said
    "$SPECTER" capture -o traces -- $program 2>&1 | grep -cF "specter: $(cat said); "
done
