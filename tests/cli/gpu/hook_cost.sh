# The cost of a hook and of the harvester, measured on the stand-ins: what the figures are says nothing there, but
# each call is in the trace, and a capture that leaves some out is caught.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
[[ ! -e $BUILD/libspecter-san.so ]] || { echo "python is not sanitized"; exit 77; }
cc=${CC:-cc}
command -v "$cc" >/dev/null || { echo "no compiler"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH=$BUILD/emu/lib EMU_CLOCK=real EMU_DIR=$PWD
python=$(python3 -c 'import sys; print(sys.executable)')
"$cc" -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -Wshadow -Werror -o program "$ROOT/tests/gpu/hook_cost.c" -ldl || exit 1

# figures KIND SPECTER ARGUMENT...: its rows without figures, and its claims
figures() {
    local status=0
    SPECTER_FIGURES=figures "$python" "$ROOT/tests/gpu/hook_cost.py" "$1" "$2" ./program "${@:3}" >said || status=$?
    sed -E '/: (holds|FAILS)$/!s/ +[-0-9.%]+( |$).*//; /wakeups a second/s/: [0-9.]+,/: N,/' said
    echo "status $status"
}
figures calls "$SPECTER" --rounds 2 --bursts 2
figures harvester "$SPECTER" --rounds 3 --seconds 1 # 0.3 s hold three or four wakeups of ten a second
printf '#!/bin/sh\nshift\nexec "%s" capture --no-cublas "$@"\n' "$SPECTER" >less
chmod +x less
figures calls ./less --rounds 1 --bursts 1 | grep -E 'FAILS|status'
./program calls 0
echo "status $?"
LD_LIBRARY_PATH=$PWD ./program calls 1 2>/dev/null
echo "status $?"
