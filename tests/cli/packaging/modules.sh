# SPDX-License-Identifier: MIT
# The module files, with each tool that reads them: specter, its manual and its header are found, the system's manuals
# still are, and nothing of it is left once the module is unloaded.
stage=$BUILD/dist/stage
[[ -x $stage/bin/specter ]] || { echo "no build/dist/stage"; exit 77; }
[[ ! $SPECTER -nt $stage/bin/specter ]] || { echo "build/dist/stage is older than build/specter"; exit 77; }
lmod=/usr/share/lmod/lmod/libexec/lmod
tools=()
! command -v modulecmd >/dev/null || tools+=("modulecmd tcl")
[[ ! -x $lmod ]] || tools+=("$lmod tcl" "$lmod lua")
[[ ${#tools[@]} != 0 ]] || { echo "neither Environment Modules nor Lmod"; exit 77; }

mkdir -p tcl/specter lua/specter
cp "$ROOT/packaging/modulefile/specter.tcl" tcl/specter/1.2.3
cp "$ROOT/packaging/modulefile/specter.lua" lua/specter/1.2.3.lua
unset MANPATH CPATH
export MODULEPATH SPECTER_PREFIX=$stage
for tool in "${tools[@]}"; do
    (
        MODULEPATH=$PWD/${tool#* } program=${tool% *}
        system=$(man -w man 2>/dev/null)
        before=$(declare -p PATH MANPATH CPATH 2>/dev/null)
        eval "$("$program" bash load specter 2>err)"
        cat err
        [[ $(command -v specter) == "$stage/bin/specter" ]] || echo "$tool: no specter in $PATH"
        [[ $("$SPECTER" --version) == "$(specter --version)" ]] || echo "$tool: another specter"
        [[ :$MANPATH == :$stage/share/man:* ]] || echo "$tool: MANPATH=$MANPATH"
        if command -v man >/dev/null; then
            [[ $(man -w specter-capture) == "$stage/share/man/man1/specter-capture.1" ]] || echo "$tool: no manual"
            [[ $(man -w man 2>/dev/null) == "$system" ]] || echo "$tool: the system's manuals are hidden"
        fi
        echo '#include <specter/specter.h>' | $CC -fsyntax-only -xc - || echo "$tool: no header in $CPATH"
        eval "$("$program" bash unload specter 2>err)"
        cat err
        [[ $(declare -p PATH MANPATH CPATH 2>/dev/null) == "$before" ]] || declare -p PATH MANPATH CPATH
    )
done
