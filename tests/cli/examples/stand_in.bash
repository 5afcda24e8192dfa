# shellcheck shell=bash
# The recorder of examples/traces over the stand-ins, with examples/train where PyTorch's model would be: leaves
# out/examples in the current folder.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
[[ ! -e $BUILD/libspecter-san.so ]] || { echo "python is not sanitized"; exit 77; }
[[ -x $BUILD/examples/train ]] || { echo "no examples built: make emu"; exit 77; }
mkdir bin
cat >bin/nvidia-smi <<'SH'
#!/bin/sh
case $* in *-L*) echo "GPU 0: Made GPU" ;; *=name*) echo "Made GPU" ;; esac
SH
# Ranks of a job have the same parent: their meeting place is named by it. A profile is made by make_profile.py.
cat >bin/python <<SH
#!/bin/bash
case \$1 in
-c) [[ \$2 != *version* ]] || echo "PyTorch 0.0" ; exit 0 ;;
*/workload.py)
    while [[ \$# -gt 1 && \$1 != --profile ]]; do shift; done
    [[ \$1 != --profile ]] || exec python3 "$ROOT/tests/cli/examples/make_profile.py" "\$2"
    export EMU_DIR="$PWD/emu.\$PPID" SPECTER_EXAMPLE_ID="$PWD/emu.\$PPID/id"
    mkdir -p "\$EMU_DIR"
    exec "$BUILD/examples/train" --iters 7
    ;;
*) exec python3 "\$@" ;;
esac
SH
chmod +x bin/*
export PATH=$PWD/bin:$PATH PYTHON=$PWD/bin/python PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH=$BUILD/emu/lib
