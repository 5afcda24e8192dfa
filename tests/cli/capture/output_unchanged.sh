# Not a byte of ours on stdout, and the program's own input and output reach it.
printf 'one\ntwo\n' | "$SPECTER" capture -o traces -- tr a-z A-Z 2>/dev/null
"$SPECTER" capture -o traces -- sh -c 'echo to stderr >&2; exec 1>&-; exit 0' 2>&1 | grep -c '^to stderr'
