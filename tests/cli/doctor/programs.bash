# Programs that bear no preload, made by the tests of doctor and capture: sourced, not run.
. "$ROOT/tests/cli/doctor/common.bash"

# elf CLASS ORDER MACHINE: the head of a program
elf() { printf "\177ELF\\$1\\$2\1\0\0\0\0\0\0\0\0\0\2\0\\$3\0\1\0\0\0%044d" 0 >other && chmod +x other; }
foreign() {
    case $(uname -m) in
    x86_64) elf 2 1 267 ;; # aarch64
    *) elf 2 1 76 ;;       # x86-64
    esac
}

# Its interpreter's name tells, whether or not that is there.
musl() { "$cc" -o musl -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1 -xc - <<<'int main(void) { return 0; }'; }

# loader: the one that programs name here
loader() { readelf -l "$SPECTER" | sed -n 's/.*interpreter: \(.*\)]/\1/p'; }

# A loader of its own and beside it a C library that ends at GLIBC_2.3, as an old distribution's container has.
old_glibc() {
    mkdir old && cp "$(loader)" old/ld-linux.so && echo 'GLIBC_2.2.5 { }; GLIBC_2.3 { } GLIBC_2.2.5;' >map &&
        "$cc" -shared -nostdlib -Wl,-soname,libc.so.6 -Wl,--version-script=map -o old/libc.so.6 -xc - <<<'int old;' &&
        "$cc" -nostdlib -Wl,--no-as-needed -Wl,--dynamic-linker="$PWD/old/ld-linux.so" -Wl,-rpath,"$PWD/old" -o older \
            -xc - -xnone old/libc.so.6 <<<'void _start(void) { for (;;); }'
}

# The same loader and C library as here, in folders of its own.
own_glibc() {
    mkdir own && cp "$(loader)" own/ld-linux.so && cp -L "$(ldd "$SPECTER" | sed -n "s/.*libc.so.6 => \([^ ]*\) .*/\1/p")" own/libc.so.6 &&
        "$cc" -Wl,--dynamic-linker="$PWD/own/ld-linux.so" -Wl,-rpath,"$PWD/own" -o owner -xc - <<<'int puts(const char *); int main(void) { return puts("ran") < 0; }'
}
