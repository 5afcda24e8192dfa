# A signal sent to capture reaches the program, whose answer is the status.
"$SPECTER" capture -o traces -- bash -c 'trap "echo asked to end; exit 5" TERM
    echo started >ready; sleep 10 & wait $!' 2>/dev/null &
capture=$!
while [[ ! -s ready ]]; do sleep 0.05; done
kill -TERM $capture
wait $capture
echo "status $?"

# One signal to capture is one signal to the program, and capture goes on waiting.
"$SPECTER" capture -o traces -- bash -c 'trap "count=\$((count + 1))" USR1; echo started >ready2
    for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; done; echo "USR1 $count time(s)"; exit 6' 2>/dev/null &
capture=$!
while [[ ! -s ready2 ]]; do sleep 0.05; done
kill -USR1 $capture
wait $capture
echo "status $?"

# SIGCHLD ignored, as some launchers leave it.
(trap '' CHLD; "$SPECTER" capture -o traces -- sh -c 'exit 9' 2>/dev/null; echo "status $?")
# The program inherits the same as without us.
"$SPECTER" capture -o traces -- grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status 2>/dev/null >traced
grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status | cmp - traced
