# SPDX-License-Identifier: MIT
# Two runs into one folder that somebody uses: the second is a run of its own, and what was there stays as it
# was. One GPU is enough.
. "$ROOT/tests/cli/profile_node/common.bash"
mkdir 'my traces'
echo mine >'my traces/notes.txt'
echo mine >'my traces.tar.gz'
profile_node --quick --gpus 1 -o 'my traces' >text || cat text
find . -type f ! -name text ! -name before ! -path './emu/*' -exec cksum {} + >before
profile_node --quick --gpus 1 --sync -o 'my traces/' | mask | sed -n '/^[a-z0-9]/p; /^Files/,$p' | tr -s ' ' | sed -E 's/ [0-9]+ s( |$)/ N s\1/'
cut -d' ' -f3- before | tr '\n' '\0' | xargs -0 cksum | diff before - && echo "nothing changed"
(cd 'my traces' && ls -d ./* bench/* | mask)
grep -ho '"sync_mode":.' 'my traces'/*.jsonl
"$SPECTER" analyze --full 'my traces' 2>&1 | grep '^specter' | sed -E "s/'[^']*'/RUN/"
