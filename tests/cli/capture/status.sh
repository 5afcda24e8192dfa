# The program's own status, as a shell gives it.
check() {
    local want=$1 got=0
    shift
    "$SPECTER" capture -o traces -- "$@" 2>/dev/null || got=$?
    [[ $got == "$want" ]] || { echo "$*: status $got, want $want"; exit 1; }
}
check 0 true
check 3 sh -c 'exit 3'
check 1 sh -c 'exit 1'
check 255 sh -c 'exit 255'
check 137 sh -c 'kill -9 $$'
check 143 sh -c 'kill -15 $$'
check 127 ./no-such-program
check 127 no-such-program
check 126 .
touch plain && check 126 ./plain
printf 'exit 7\n' >no-shebang && chmod +x no-shebang && check 7 ./no-shebang # no #!: sh runs it, as execvp() does

# A folder in PATH that may not be searched (as it is a file) hides nothing.
PATH=$PWD/plain:$PATH:: check 127 no-such-program
PATH=$PWD/plain:$PATH: check 7 no-shebang
