# Programs into which nothing can be preloaded: static ones, and those for other processors.
. "$ROOT/tests/cli/doctor/common.bash"
# elf CLASS ORDER MACHINE: the head of a program
elf() { printf "\177ELF\\$1\\$2\1\0\0\0\0\0\0\0\0\0\2\0\\$3\0\1\0\0\0%044d" 0 >other && chmod +x other; }
elf 1 1 3
doctor program ./other
case $(uname -m) in
x86_64) elf 2 1 267 ;; # aarch64
*) elf 2 1 76 ;;       # x86-64
esac
doctor program ./other | sed 's/64-bit [^;]*/64-bit OTHER/'
echo 'int main(void) { return 0; }' >main.c
if "$cc" -static -o static main.c 2>/dev/null; then
    doctor program ./static
else # no static libc here: the same words
    echo "problem  program      'PWD/static' is static: no loader runs that could preload anything; to do: link it dynamically"
    echo "status 1"
fi
