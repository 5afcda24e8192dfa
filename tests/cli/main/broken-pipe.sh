# A reader that has seen enough ends us without a word; where SIGPIPE is ignored, with one line.
mkfifo pipe
sleep 5 <pipe &
reader=$!
exec 3>pipe
kill $reader
wait $reader 2>/dev/null
"$SPECTER" help >&3
echo "status $?"
(trap '' PIPE; "$SPECTER" help >&3; echo "status $?")
