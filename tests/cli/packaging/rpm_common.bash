# The RPM package of this build, in the test's folder: sourced, not run.
command -v rpmbuild >/dev/null || { echo "no rpmbuild"; exit 77; }
[[ -x $BUILD/dist/stage/bin/specter ]] || { echo "no build/dist/stage"; exit 77; }
rpmbuild -bb --quiet --define "stage $BUILD/dist/stage" --define "release_version 1.2.3" --define "_topdir $PWD/top" \
    --define "_rpmdir $PWD" --nodeps "$ROOT/packaging/rpm/specter.spec" >log 2>&1 || { cat log; exit 1; }
package=$(echo "$(uname -m)"/*.rpm)
