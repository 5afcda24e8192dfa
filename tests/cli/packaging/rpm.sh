# The RPM specification packs every file of the installation; rpmbuild refuses one that %files does not name.
command -v rpmbuild >/dev/null || { echo "no rpmbuild"; exit 77; }
[[ -x $BUILD/dist/stage/bin/specter ]] || { echo "no build/dist/stage"; exit 77; }
rpmbuild -bb --quiet --define "stage $BUILD/dist/stage" --define "release_version 1.2.3" --define "_topdir $PWD/top" \
    --define "_rpmdir $PWD" --nodeps "$ROOT/packaging/rpm/specter.spec" >log 2>&1 || { cat log; exit 1; }
rpm -qp --qf '%{NAME} %{VERSION} %{LICENSE}\n' --nosignature "$(uname -m)"/*.rpm
! rpm -qpl --nosignature "$(uname -m)"/*.rpm | grep "specter_bench_\(mpi\|gloo\)" # built where they are wanted
rpm -qpl --nosignature "$(uname -m)"/*.rpm | grep -c '/usr/bin/specter$\|/libspecter.so$\|specter-capture.1\|/schemas/trace.json'
