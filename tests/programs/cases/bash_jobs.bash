# bash: job control, traps, process substitution, a signal to a job.
prepare() { need bash mkfifo; }

program() {
    bash -c '
        set -m
        trap "echo left with \$?" EXIT
        trap "echo got USR1" USR1
        mkfifo ready hold
        sh -c "echo; read -r line" <>hold >ready &
        waiter=$!
        read -r _ <ready # it is sh by now, and stays so
        (exit 3) &
        wait $!
        echo "first job: $?"
        kill -TERM $waiter
        wait $waiter
        echo "second job: $?"
        kill -USR1 $$
        diff <(seq 5) <(seq 6)
        coproc { read -r line; echo "echo $line"; }
        echo hello >&"${COPROC[1]}"
        read -r line <&"${COPROC[0]}"
        echo "$line"
        exec 7<>file
        ls -l /proc/self/fd | wc -l
        exit 4'
    echo "status $?"
}
