# The Debian package: the same bytes when it is made again from a copy of the tree; what lintian says of it, where that is
# there, but for a tag of Debian's own packages.
command -v dpkg-deb >/dev/null || { echo "no dpkg-deb"; exit 77; }
[[ -x $BUILD/dist/stage/bin/specter ]] || { echo "no build/dist/stage"; exit 77; }
cp -R "$BUILD/dist/stage" copy
"$ROOT/packaging/deb/build.sh" "$BUILD/dist/stage" 1.2.3 one >path 2>log || cat log
"$ROOT/packaging/deb/build.sh" copy 1.2.3 two >path 2>log || cat log
cmp one/*.deb two/*.deb
dpkg-deb -f one/*.deb Depends | grep -q 'libc6 (>= 2\.[0-9]*), libcjson1' || dpkg-deb -f one/*.deb Depends
"$ROOT/packaging/deb/build.sh" nothing 1.2.3 three >path 2>log
grep -q "no bin/specter in 'nothing'" log || cat log
! command -v lintian >/dev/null || lintian --allow-root --suppress-tags initial-upload-closes-no-bugs one/*.deb 2>&1
