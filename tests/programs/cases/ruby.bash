# ruby: threads, fork, Open3, at_exit.
COMMAND=ruby

prepare() { need ruby; }

program() {
    local root=$PROGRAMS/apt/root
    [[ $(command -v ruby) != "$root"/* ]] ||
        export RUBYLIB=$root/usr/lib/ruby/3.1.0:$(echo "$root"/usr/lib/*/ruby/3.1.0)
    ruby --disable-gems -e '
        require "open3"; require "socket"
        at_exit { puts "the end" }
        puts (1..4).map { |i| Thread.new { i * i } }.map(&:value).inspect
        pid = fork { exit! 7 }
        Process.wait pid
        puts $?.exitstatus
        out, status = Open3.capture2e("cat; echo oops >&2; exit 3", stdin_data: "in\n")
        puts out, status.exitstatus
        a, b = UNIXSocket.pair
        a.puts "over a socket"; puts b.gets
        exit 5'
    echo "status $?"
}
