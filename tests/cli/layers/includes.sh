# Which folder may include which: dependencies point one way (ARCHITECTURE.md). The hook table and the
# settings are what the tracer and the CLI share; the stand-ins know of specter the hook table and the ABI.
allowed() {
    case $1 in
    src/base/*) echo 'base/ specter/' ;;
    src/trace/*) echo 'base/ specter/ trace/' ;;
    src/model/*) echo 'base/ specter/ model/' ;;
    profiles/*) echo 'base/ specter/ model/ profiles/' ;;
    src/calib/*) echo 'base/ specter/ model/ calib/' ;;
    src/bench/modules/*) echo 'base/ specter/ model/ bench/ ../../../tracer/abi/' ;;
    src/bench/*) echo 'base/ specter/ model/ calib/ bench/' ;;
    src/sim/engine/*) echo 'base/ specter/ sim/engine/' ;;
    src/sim/program/*) echo 'base/ specter/ trace/ sim/engine/ sim/program/' ;;
    src/sim/step/*) echo 'base/ specter/ trace/ sim/engine/ sim/program/ sim/step/' ;;
    src/sim/grid/*) echo 'base/ specter/ trace/ sim/engine/ sim/program/ sim/step/ sim/grid/' ;;
    src/sim/scaling/*) echo 'base/ specter/ trace/ model/ sim/engine/ sim/program/ sim/step/ sim/grid/ sim/scaling/' ;;
    src/sim/target/*) echo 'base/ specter/ trace/ model/ sim/engine/ sim/program/ sim/step/ sim/grid/ sim/scaling/ sim/target/' ;;
    src/sim/whatif/*) echo 'base/ specter/ trace/ model/ sim/engine/ sim/program/ sim/step/ sim/grid/ sim/scaling/ sim/target/ sim/whatif/' ;;
    src/sim/*) echo 'base/ specter/ trace/ model/ sim/' ;;
    src/analysis/*) echo 'base/ specter/ trace/ model/ analysis/' ;;
    src/metrics/*) echo 'base/ specter/ trace/ model/ sim/ analysis/ metrics/' ;;
    src/compare/*) echo 'base/ specter/ trace/ model/ sim/ analysis/ metrics/ compare/' ;;
    src/watch/*) echo 'base/ specter/ trace/ model/ analysis/ watch/' ;;
    src/report/*) echo 'base/ specter/ trace/ model/ calib/ bench/ sim/ analysis/ metrics/ compare/ watch/ report/' ;;
    tests/emu/rocm/*) echo '../ ../../../tracer/hooks/' ;;
    tests/emu/*) echo 'abi/ ../shared/ ../../tracer/abi/ ../../tracer/hooks' ;;
    tests/gpu/*) ;;
    tracer/*) echo 'specter/ hooks/ ../hooks/ abi/' ;;
    src/cmd/* | src/main*.c) echo 'base/ specter/ trace/ model/ calib/ bench/ sim/ analysis/ metrics/ compare/ watch/ report/ cmd/ ../tracer/hooks.def ../tracer/settings.' ;;
    esac
}

cd "$ROOT"
bad=0
for file in $(find src profiles tracer tests/emu tests/gpu -name '*.c' -o -name '*.h' -o -name '*.def'); do
    prefixes=$(allowed "$file")
    while read -r included; do
        case $included in
        */*) ;;
        *) [[ -e $(dirname "$file")/$included || $file == tracer/* ]] && continue ;; # a neighbour
        esac
        ok=0
        for prefix in $prefixes; do
            [[ $included == "$prefix"* ]] && ok=1
        done
        if [[ $ok == 0 ]]; then
            echo "$file must not include \"$included\""
            bad=1
        fi
    done < <(sed -n 's/^ *# *include *"\([^"]*\)".*/\1/p' "$file")
done
exit $bad
