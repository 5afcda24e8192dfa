# SPDX-License-Identifier: MIT
# Input that cannot be compared is refused; what makes sides hard to compare comes first; what one side alone has is a
# row.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks a
cp -r a b
said() { "$SPECTER" compare "$@" 2>&1; echo "status $?"; }
said a
said a a
said a ./a
said a b,./b
said a b --name one
said a b --table colls
said a b --format xls
said a b --threshold -1
# An unset variable leaves an empty name, and -o of none is not the root.
said a ,b
said a b, | tail -n 2
said a,,b b
said a b --name ,b,c
said a b --name "$(printf '%0300d' 0),b"
said a b --table ''
said a b -o ''
said a missing
mkdir empty && said a empty | sed 's/(.*//'
sed -i 's/"name":"NVIDIA H100 80GB HBM3"/"name":"NVIDIA B200"/; s/"bytes":[0-9]*/"bytes":4096/' b/*.jsonl
said a b
said a b --table collectives
said a b --threshold 99 --json - | grep -c '"verdict"'
mkdir -p x/run y/run && cp a/* x/run && cp b/* y/run
said x/run y/run | grep -o '[xy]/run' | sort -u
cp -r a c
said a c --fail-on 'step>2%,worse>0' | tail -n 1
said a c --fail-on 'step<1%' | tail -n 2
said a c --fail-on 'steps>1'
