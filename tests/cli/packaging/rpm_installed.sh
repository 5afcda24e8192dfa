# The RPM package, installed into a root of its own, runs; its files are as they were packed; erased, it leaves none.
[[ $(id -u) == 0 ]] || { echo "rpm changes its root only as root"; exit 77; }
. "$ROOT/tests/cli/packaging/rpm_common.bash"
mkdir root
of_root() { rpm --root "$PWD/root" --nodeps "$@" 2>>log; }
of_root --nosignature -i "$package" && root/usr/bin/specter --version | head -n 1
of_root -V specter
of_root -e specter && find root -name '*specter*'
