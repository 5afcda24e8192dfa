# From shell scripts to the program that runs: shims of pyenv, rbenv, asdf and mise, which are asked, what pip and uv write
# for long paths, wrappers whose last line is exec; and it is said where that cannot be known.
. "$ROOT/tests/cli/doctor/common.bash"
mkdir -p pyenv/{shims,libexec} pyenv/versions/{3.8,3.9}/bin bin 'a b'
"$cc" -o plain -xc - <<<'int main(void) { return 0; }' || exit 1
for dir in pyenv/versions/3.8/bin pyenv/versions/3.9/bin bin 'a b'; do cp plain "$dir/python3"; done
script() { cat >"$1" && chmod +x "$1"; }
# of pyenv, as it writes them
script pyenv/libexec/pyenv <<'S'
#!/bin/sh
[ "$1" = which ] || { touch started; exit 1; }
exec echo "$PYENV_ROOT/versions/${PYENV_VERSION:-3.9}/bin/$2"
S
script pyenv/shims/python3 <<S
#!/usr/bin/env bash
set -e
[ -n "\$PYENV_DEBUG" ] && set -x

program="\${0##*/}"

export PYENV_ROOT="$PWD/pyenv"
SHIM_PATH=\${0%/*}
exec "$PWD/pyenv/libexec/pyenv" exec "\$program" "\$@"
S
cp pyenv/shims/python3 pyenv/shims/torchrun
printf '#!%s/pyenv/versions/3.9/bin/python3\n' "$PWD" | script pyenv/versions/3.9/bin/torchrun
cp pyenv/shims/python3 pyenv/shims/lost
script bin/asdf <<S
#!/bin/sh
[ "\$1" = which ] && echo "$PWD/bin/\$2"
S
script asdf_shim <<'S'
#!/usr/bin/env bash
# asdf-plugin: python 3.12.1
exec asdf exec "python3" "$@"
S
"$cc" -o bin/mise -xc - <<<'#include <stdio.h>
int main(int n, char **v) { return n == 3 && printf("%s/bin/%s\n", getenv("PWD"), v[2]) < 0; }' -include stdlib.h
mkdir mise && ln -s ../bin/mise mise/python3
printf "#!/bin/sh\n'''exec' \"%s/a b/python3\" \"\$0\" \"\$@\"\n' '''\nimport sys\n" "$PWD" | script pip
printf "#!/bin/sh\n'''exec' \"\$(dirname -- \"\$(realpath -- \"\$0\")\")\"/'python3' \"\$0\" \"\$@\"\n' '''\n" | script bin/uv
ln -s bin/uv uv_link
printf '#!/bin/bash\n. activate\nexport A=1\nexec env B=2 "%s/bin/python3" -u "$@"\n' "$PWD" | script wrapper
printf '#!/bin/bash\n"$PYTHON" "$@"\n' | script unknown
printf '#!/bin/bash\nexec "$@"\n' | script entrypoint
printf '#!/bin/bash\nunset LD_PRELOAD\nexec %s/plain\n' "$PWD" | script taken
PATH=$PWD/bin:$PATH
steps() { doctor program "$@" | sed "s|'[^']*/bin/\(ba\)\?sh'|SH|; s|^ok       program      .*/[a-z]*sh$|ok       program      SH|"; }
steps pyenv/shims/python3
PYENV_VERSION=3.8 steps pyenv/shims/python3
for program in pyenv/shims/torchrun ./asdf_shim mise/python3 ./pip ./uv_link ./wrapper; do steps $program; done
echo --- unknown
for program in pyenv/shims/lost ./unknown ./entrypoint ./taken sh; do steps $program; done
script pyenv/libexec/pyenv <<<$'#!/bin/sh\nexec sleep 100'
steps --timeout 0.3 pyenv/shims/python3 | grep warning
[[ ! -e started ]]
