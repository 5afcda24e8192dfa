# ssh-keygen: a key pair, its fingerprint, a signature and its check.
prepare() { need ssh-keygen; }

program() {
    ssh-keygen -q -t ed25519 -N '' -C nobody -f key
    echo "status $?"
    ssh-keygen -l -f key.pub | wc -w
    echo text >text
    ssh-keygen -Y sign -f key -n file text
    echo "nobody $(<key.pub)" >allowed
    ssh-keygen -Y verify -f allowed -I nobody -n file -s text.sig <text | cut -d ' ' -f 1-4
    ssh-keygen -l -f no_such_file
    echo "status $?"
}
normalize() { sed -E 's/^[0-9]+ ([0-9]+ run\/(key|allowed|text\.sig))/\1/'; }
