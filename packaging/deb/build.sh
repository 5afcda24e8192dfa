#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A Debian package of what `make install` has put into a folder, with dpkg-deb alone.
#
#   packaging/deb/build.sh TREE VERSION FOLDER     prints the path of FOLDER/specter_VERSION-1_ARCH.deb
#
# TREE has bin/, lib/, share/ and include/ as below /usr. The libraries that the program needs become dependencies:
# those of this system's packages. DEB_MAINTAINER names who answers for it, "NAME <MAIL>"; without it stands an address
# that cannot exist (RFC 2606). The bytes depend on the files alone, and on $SOURCE_DATE_EPOCH.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin # ldconfig

here=$(cd "$(dirname "$0")" && pwd)
tree=$1 version=$2 folder=$3
[[ -x $tree/bin/specter ]] || {
    echo "deb: no bin/specter in '$tree'; make install DESTDIR=... prefix= puts it there" >&2
    exit 1
}
arch=$(dpkg --print-architecture)
maintainer=${DEB_MAINTAINER:-The specter authors <authors@specter.invalid>}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/specter_$version-1_$arch
mkdir -p "$root/DEBIAN" "$root/usr" "$root/usr/share/doc/specter" "$folder"
chmod 755 "$work" "$root"

cp -R "$tree/." "$root/usr/"
# Modules of libraries that a system need not have are built from the source where they are wanted.
rm -f "$root"/usr/lib/specter/specter_bench_{mpi,gloo}.so
mv "$root/usr/share/zsh/site-functions" "$root/usr/share/zsh/vendor-completions"
gzip -9n "$root"/usr/share/man/man1/*.1
cp "$here/copyright" "$root/usr/share/doc/specter/copyright"
gzip -9nc "$here/../../CHANGELOG.md" >"$root/usr/share/doc/specter/changelog.gz"
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-315532800}
printf 'specter (%s) unstable; urgency=medium\n\n  * What is new is in changelog.gz.\n\n -- %s  %s\n' \
    "$version-1" "$maintainer" "$(LC_ALL=C date -u -d "@$SOURCE_DATE_EPOCH" '+%a, %d %b %Y %H:%M:%S +0000')" |
    gzip -9n >"$root/usr/share/doc/specter/changelog.Debian.gz"
strip --strip-unneeded --remove-section=.comment --remove-section=.note.gnu.gold-version \
    "$root/usr/bin/specter" "$root"/usr/lib/specter/*.so

# dpkg-shlibdeps wants a source package; what it would find is asked of dpkg instead.
depends=$(objdump -p "$root/usr/bin/specter" | awk '$1 == "NEEDED" { print $2 }' | while read -r library; do
    file=$(ldconfig -p | awk -v name="$library" '$1 == name { print $NF; exit }')
    dpkg -S "$(realpath "$file")" 2>/dev/null || dpkg -S "$file"
done | cut -d: -f1 | LC_ALL=C sort -u | while read -r package; do
    if [[ $package == libc6 ]]; then # which versions its symbols, unlike others
        echo "libc6 (>= $(objdump -T "$root/usr/bin/specter" "$root"/usr/lib/specter/*.so | grep -o 'GLIBC_[0-9.]*' |
            sed 's/GLIBC_//' | sort -Vu | tail -n 1))"
    else
        version=$(dpkg-query -W -f '${Version}' "$package" | sed 's/^\([0-9]*:\)\?\([0-9.]*[0-9]\).*/\1\2/')
        echo "$package (>= $version)"
    fi
done | paste -sd, | sed 's/,/, /g')

find "$root" -type d -exec chmod 755 {} +
find "$root/usr" -type f -exec chmod 644 {} +
chmod 755 "$root/usr/bin/specter"
(cd "$root" && find usr -type f | LC_ALL=C sort | xargs md5sum) >"$root/DEBIAN/md5sums"
sed -e "s/@VERSION@/$version-1/; s/@ARCH@/$arch/; s/@DEPENDS@/$depends/; s/@MAINTAINER@/$maintainer/" \
    -e "s/@SIZE@/$(du -k -s --apparent-size "$root/usr" | cut -f1)/" "$here/control.in" >"$root/DEBIAN/control"
find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Zxz --build "$root" "$folder" >/dev/null
echo "$folder/specter_$version-1_$arch.deb"
