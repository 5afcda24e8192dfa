# The RPM specification packs every file of the installation; rpmbuild refuses one that %files does not name.
. "$ROOT/tests/cli/packaging/rpm_common.bash"
rpm -qp --qf '%{NAME} %{VERSION} %{LICENSE}\n' --nosignature "$package"
! rpm -qpl --nosignature "$package" | grep "specter_bench_\(mpi\|gloo\)" # built where they are wanted
rpm -qpl --nosignature "$package" | grep -c '/usr/bin/specter$\|/libspecter.so$\|specter-capture.1\|/schemas/trace.json'
