# A library that needs a newer glibc than `make release` promises is refused.
"$ROOT/scripts/release.sh" --check "$LIBSPECTER" >said 2>&1 || refused=1
need=$(readelf -VW "$LIBSPECTER" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
case $need in
GLIBC_2.[3-9][0-9]*)
    [[ ${refused:-0} == 1 ]] || echo "a library that needs $need was let through"
    grep -q "needs glibc ${need#GLIBC_}, and 2.28 is the limit" said || cat said
    ;;
esac
! "$ROOT/scripts/release.sh" --check no-such-file 2>/dev/null || echo "a file that is not there was let through"
