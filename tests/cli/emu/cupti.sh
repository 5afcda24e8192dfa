# SPDX-License-Identifier: MIT
# Records of the CUPTI stand-in: complete, ordered, correlated, in buffers of any size, from several
# threads and on the program's own clock; and recording moves no virtual clock.
export LD_LIBRARY_PATH=$BUILD/emu/lib
"$BUILD/emu/check_cupti"
plain=$("$BUILD/emu/check_cupti" plain)
recorded=$("$BUILD/emu/check_cupti" recorded)
printf '%s\n' 'clock_ppm = 0 50' 'host_ppm = 0 -20' >fabric.conf
EMU_FABRIC=$PWD/fabric.conf "$BUILD/emu/check_cupti" drift
[ "$recorded" = "$plain" ] && [ "$plain" -gt 1000000000000 ] && echo "the same clock"
