# busybox, linked statically: its shell and its own cat, awk and sort.
prepare() {
    need busybox
    ! ldd "$(command -v busybox)" >/dev/null 2>&1 || missing "busybox is not static"
}

program() {
    busybox sh -c 'busybox seq 20 | busybox awk "{ s += \$1 } END { print s }"; (exit 3); echo $?; busybox ls /proc/self/fd | busybox wc -l'
    echo "status $?"
}
