# SPDX-License-Identifier: MIT
# Device code that NVIDIA's assembler made, and its source.
ptxas=$(command -v ptxas || echo "${CUDA_HOME:-/usr/local/cuda}/bin/ptxas")
[[ -x $ptxas ]] || { echo "no ptxas"; exit 77; }
export LD_LIBRARY_PATH=$BUILD/emu/lib
cat >code.ptx <<'EOF'
.version 8.0
.target sm_90
.address_size 64
.visible .entry add(.param .u64 p) .maxntid 128, 1, 1 { .reg .b64 %d<2>; ld.param.u64 %d1, [p]; st.global.u64 [%d1], %d1; ret; }
.visible .entry _Z5otherPf(.param .u64 p) { ret; }
EOF
"$ptxas" -arch=sm_90 -o code.cubin code.ptx || exit
"$BUILD/emu/check_module" code.cubin add _Z5otherPf && "$BUILD/emu/check_module" code.ptx add _Z5otherPf
