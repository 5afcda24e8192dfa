# strace -f: what a shell pipeline does with processes and signals.
OBSERVE=alone
COMMAND=strace

prepare() { need strace; }

program() {
    strace -f -o log -e trace=execve,exit_group,kill,write,dup2 \
        sh -c 'printf "b\na\n" | sort; (exit 3); kill -USR1 $$' 2>&1
    echo "status $?"
    # The order of processes, and the calls that are cut in two, differ from run to run.
    grep -E 'execve|exit_group|kill\(|write\(|dup2\(|^[0-9]+ +(---|\+\+\+)' log |
        sed -E '/resumed>|SIGCHLD/d; s/^[0-9]+ +//; s,/\* [0-9]+ vars \*/,,; s/0x[0-9a-f]+/ADDRESS/g' |
        sed -E 's/\b[0-9]{3,}\b/N/g; s/ *\)? *(= .*|<unfinished.*)?$//' | sort
    strace -o log -c -e trace=write echo counted
    grep -c write log
    strace -e trace=exit_group -o log sh -c 'exit 4'
    echo "status $?"
    cat log
}
normalize() { if [[ $1 == files ]]; then sed -E '/run\/log$/s/^[0-9]+ [0-9]+//'; else cat; fi; }
