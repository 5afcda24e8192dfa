# tmux: a server of its own, a session whose shell runs a command, what its screen shows.
COMMAND=tmux

prepare() { need tmux; }

program() {
    local tmux=(tmux -f /dev/null -S "$PWD/socket")
    "${tmux[@]}" new-session -d -x 60 -y 8 "PS1='$ ' bash --norc --noprofile"
    "${tmux[@]}" send-keys "tty >tty; echo screen \$((6 * 7)); tmux -S '$PWD/socket' wait-for -S done" Enter
    "${tmux[@]}" wait-for done
    "${tmux[@]}" capture-pane -p | grep '^screen'
    wc -l <tty
    "${tmux[@]}" list-sessions -F '#{session_name} #{session_windows}'
    "${tmux[@]}" kill-server
    echo "status $?"
}
# The kernel chooses the terminal; the client may have left by then, and the server may have removed the lock.
normalize() {
    sed -E '/^tmux utempter /s/:.*/:/; s,/dev/pts/[0-9]+( \(deleted\))?,TERMINAL,g; s,socket.lock \(deleted\),socket.lock,; s/^[0-9]+ ([0-9]+) run\/tty/run\/tty/'
}
