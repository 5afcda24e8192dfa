"$SPECTER" capture --delay soon -- touch ran
status=$?
[[ ! -e ran ]] || echo ran
exit $status
