# find, xargs -P, sort, tar: pipelines of small processes.
prepare() { need find xargs sha256sum tar gzip; }

program() {
    local i
    for i in {1..60}; do
        mkdir -p "folder$((i % 7))"
        echo "$i" >"folder$((i % 7))/file $i"
    done
    find . -type f -print0 | sort -z | xargs -0 -n 5 -P 3 sha256sum | sort -k 2
    find . -name 'file 1*' -exec wc -c {} +
    tar --sort=name --mtime=@0 --owner=0 --group=0 -cf - folder* | gzip -n | sha256sum
    find . -type f | xargs -d '\n' -n 20 sh -c 'exit 3'
    echo "status $?"
}
