# Go: a static program, which no preload reaches, and one with cgo, which has threads of its own making.
# Each starts a child and looks at its descriptors.
find_go() {
    local go
    for go in "$PROGRAMS"/apt/root/usr/lib/go-*/bin/go /usr/lib/go/bin/go; do
        [[ ! -x $go ]] || PATH=${go%/go}:$PATH
    done
    need go
}

prepare() {
    find_go
    need "$CC"
    cat >small.go <<'GO'
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
)

func main() {
	var wait sync.WaitGroup
	parts := make([]int, 50)
	for i := range parts {
		wait.Add(1)
		go func(i int) { defer wait.Done(); parts[i] = i * i }(i)
	}
	wait.Wait()
	fmt.Println("sum", parts[49], len(parts), extra())
	out, err := exec.Command("sh", "-c", "echo from the child; exit 3").Output()
	fmt.Printf("%s%v\n", out, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() { c, _ := listener.Accept(); c.Write([]byte("hello")); c.Close() }()
	conn, _ := net.Dial("tcp", listener.Addr().String())
	read, _ := io.ReadAll(conn) // to the end: the other side is closed then
	fmt.Println("read", string(read))
	got := make(chan os.Signal, 1)
	signal.Notify(got, syscall.SIGUSR1)
	syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	fmt.Println("signal", <-got)
	os.Exit(7)
}
GO
    printf 'package main\n\nfunc extra() int { return 0 }\n' >static.go
    printf 'package main\n\n// int twice(int v) { return 2 * v; }\nimport "C"\n\nfunc extra() int { return int(C.twice(21)) }\n' >cgo.go
    export GOCACHE=$PWD/cache GOPATH=$PWD/path GO111MODULE=off GOTOOLCHAIN=local GOFLAGS=
    CGO_ENABLED=0 go build -o static small.go static.go && CGO_ENABLED=1 go build -o cgo small.go cgo.go
}

program() {
    "$MADE/static"
    echo "status $?"
    "$MADE/cgo"
    echo "status $?"
}
