# The wheel in a clean venv: the command with its library, man page and completion; uninstalled, no file
# is left (pip leaves folders that are empty).
. "$ROOT"/tests/cli/python/common.bash
make_venv 3
export PYTHONDONTWRITEBYTECODE=1
(cd venv && find . -type f | sort) >before
install_wheel
[[ $(venv/bin/specter --version | head -n 1) == "specter $(sed -n 's/^VERSION *:= *//p' "$ROOT/Makefile")" ]] || venv/bin/specter --version
LD_LIBRARY_PATH=$BUILD/emu/lib venv/bin/specter capture -o traces -- "$ROOT/examples/launch.sh" -n 2 \
    "$BUILD/examples/train" --iters 2 >out 2>err || cat out err
venv/bin/specter analyze traces >out 2>&1 || cat out
grep -q '^2 ranks' out || cat out
[[ $(venv/bin/python -c 'import specter; print(specter.analyze("traces")["run"]["ranks"])') == 2 ]] || echo "analyze()"
grep -q '^\.TH SPECTER-CAPTURE 1' venv/share/man/man1/specter-capture.1 || echo "no man page"
bash -c '. venv/share/bash-completion/completions/specter && COMP_WORDS=(specter an) COMP_CWORD=1; _specter; [[ ${COMPREPLY[0]} == analyze ]]' ||
    echo "no completion"
venv/bin/python -m pip uninstall -q -y specter
(cd venv && find . -type f | sort) >after
diff before after
