# A program that gains rights by being started.
. "$ROOT/tests/cli/doctor/common.bash"
[[ $(id -u) == 0 ]] || { echo "only root can make such a program"; exit 77; }
echo 'int main(void) { return 0; }' >main.c
"$cc" -o gains main.c && chown 65534 gains && chmod u+s gains && [[ -u gains ]] || { echo "no setuid here"; exit 77; }
doctor program ./gains
