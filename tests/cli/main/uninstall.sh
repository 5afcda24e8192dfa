# `make uninstall` leaves no file that `make install` has put there, and touches no other; build/dist/stage is what
# install made.
[[ -x $BUILD/dist/stage/bin/specter ]] || { echo "no build/dist/stage"; exit 77; }
cp -R "$BUILD/dist/stage" tree
for path in bin/specter lib/specter/libspecter.so share/man/man1/specter-capture.1 share/specter/schemas/analyze.json \
    share/specter/schemas/trace.json share/bash-completion/completions/specter share/zsh/site-functions/_specter \
    share/fish/vendor_completions.d/specter.fish include/specter/specter.h; do
    [[ -s tree/$path ]] || echo "no $path"
done
touch tree/bin/other tree/share/man/man1/other.1 tree/lib/other.so
make -s -C "$ROOT" uninstall DESTDIR="$PWD/tree" prefix= B="$BUILD" >log 2>&1 || cat log
(cd tree && find . ! -type d | sort)
