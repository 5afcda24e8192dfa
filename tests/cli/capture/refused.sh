# Programs that would fail with a preload, or cannot have it, are not started: one line each with the way out, status 3,
# and no folder for traces. A script for such a program is one.
. "$ROOT/tests/cli/doctor/programs.bash"
musl && old_glibc && own_glibc || exit 1
printf '#!%s/musl\n' "$PWD" >script && chmod +x script
printf '#!/bin/sh\nexec "$(dirname "$0")"/musl "$@"\n' >wrapper && chmod +x wrapper
foreign
for program in ./musl ./script ./wrapper ./older ./other; do
    "$SPECTER" capture -o traces -- $program
    echo "status $?"
done 2>&1 | sed "s|$PWD|PWD|g; s/for 64-bit [^;]*/for 64-bit OTHER/; s/needs GLIBC_[^;]*/needs GLIBC_N/"
elf 1 1 3
"$SPECTER" capture -o traces -- ./other 2>&1 | sed 's/for [a-z0-9-]*;/for THIS;/'
ls -d traces 2>/dev/null
# what is as new as here is taken
"$SPECTER" capture -o traces -- ./owner 2>/dev/null
# a wrapper that takes preloads away is run
printf '#!/bin/sh\nunset LD_PRELOAD\nexec %s/owner\n' "$PWD" >wrapper
"$SPECTER" capture -o traces -- ./wrapper 2>/dev/null
sed -i 's/owner/musl/' wrapper
"$SPECTER" capture -o traces -- ./wrapper 2>&1 | { ! grep 'linked to musl'; }
