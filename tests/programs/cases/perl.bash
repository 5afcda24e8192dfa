# perl: fork, pipes, a socket pair, a signal handler, END blocks.
prepare() { need perl; }

program() {
    perl -we '
        use strict; use Socket; use POSIX ":sys_wait_h";
        $| = 1;
        socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die;
        my $pid = fork;
        if (!$pid) { close $a; print $b "from the child\n"; POSIX::_exit(6); }
        close $b;
        print "read ", scalar <$a>;
        waitpid $pid, 0;
        print "child ", $? >> 8, "\n";
        $SIG{USR2} = sub { print "signal\n" };
        kill USR2 => $$;
        open my $pipe, "-|", "sort -r" , () or die;
        close $pipe;
        print sort { $a cmp $b } `printf "b\na\n"`;
        END { print "the end\n" }
        exit 2;'
    echo "status $?"
}
