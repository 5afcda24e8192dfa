# make -j4 with a recursive make under its jobserver, a compiler, and a rule that fails.
prepare() { need make "$CC"; }

program() {
    mkdir sub
    cat >Makefile <<'MAKE'
PARTS := $(patsubst %,part%.o,$(shell seq 12))
all: program again
part%.c:
	echo 'int part$*(void); int part$*(void) { return $*; }' >$@
main.c:
	echo 'int part7(void); int main(void) { return part7(); }' >$@
program: main.o $(PARTS)
	$(CC) -o $@ $^
again:
	+$(MAKE) -C sub -f ../Makefile wrong part20.o
wrong:
	@echo going wrong; exit 9
.SECONDARY:
.PHONY: all again wrong
MAKE
    make -j4 -k -Otarget
    echo "status $?"
    ./program
    echo "the program: $?"
}
normalize() { sed -E 's,/cc[A-Za-z0-9]{6}\.,/ccTEMP.,g' | if [[ $1 == processes ]]; then descriptor_kinds; else sort; fi; }
