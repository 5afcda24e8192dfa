# Ctrl-C at a terminal reaches the whole process group: the program gets it once, not once more from
# capture, which goes on waiting.
script -qec true /dev/null >/dev/null 2>&1 </dev/null || { echo "no terminal can be made here"; exit 77; }
cat >job.sh <<'J'
trap 'count=$((count + 1))' INT
echo started >ready
for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; done
echo "INT $count time(s)"
exit 6
J
{
    for i in {1..200}; do
        [[ -s ready ]] && break
        sleep 0.05
    done
    printf '\003'
    sleep 3
} | script -qec 'trap : INT; "$SPECTER" capture -o traces -- bash job.sh 2>/dev/null; echo "status $?"' /dev/null |
    tr -d '\r' | grep -o -E '(INT|status).*'
