# SPDX-License-Identifier: MIT
# Finds the libraries that the build needs, those that it can do without, and the headers of CUDA and
# NCCL where they are there.
# scripts/setup.sh installs what is missing; build/deps/root holds what it unpacked without root.

DEPS_ROOT := $(wildcard build/deps/root)
ifneq ($(DEPS_ROOT),)
  DEPS_CPPFLAGS += -I$(CURDIR)/$(DEPS_ROOT)/usr/include
  DEPS_LIBDIR   := $(firstword $(wildcard $(CURDIR)/$(DEPS_ROOT)/usr/lib/*-linux-gnu))
  DEPS_LIBS     += -L$(DEPS_LIBDIR) -Wl,-rpath,$(DEPS_LIBDIR)
endif
DEPS_LIBS += -lcjson -lz

# Optional: $(call optional,HEADER,NAME,FLAG). WITHOUT_LIBS=1 builds as if there were none, WITHOUT_LIBS="YAML XLSX"
# without these.
optional = $(if $(filter 1 $(2),$(WITHOUT_LIBS)),,$(if $(shell echo '$(no_hash)include <$(1)>' | \
           $(CC) $(DEPS_CPPFLAGS) -E -x c - >/dev/null 2>&1 && echo yes),$(eval \
           DEPS_CPPFLAGS += -DSPECTER_HAVE_$(2))$(eval DEPS_LIBS += $(3))))
no_hash := \#
$(call optional,sqlite3.h,SQLITE,-lsqlite3)
$(call optional,zstd.h,ZSTD,-lzstd)
$(call optional,yaml.h,YAML,-lyaml)
$(call optional,xlsxwriter.h,XLSX,-lxlsxwriter)

# Libraries of collectives for `specter bench`, whose modules are built where they compile and link:
# $(call builds,HEADER,COMPILER,FLAGS). MPI's flags are those of its compiler's wrapper (Open MPI), or
# of pkg-config (MPICH).
builds = $(if $(filter 1,$(WITHOUT_LIBS)),,$(shell printf '$(no_hash)include <$(1)>\nint main(void) { return 0; }\n' | \
         $(2) - -o /dev/null $(DEPS_CPPFLAGS) $(3) >/dev/null 2>&1 && echo yes))
MPI_CPPFLAGS := $(shell mpicc --showme:compile 2>/dev/null || pkg-config --cflags mpich 2>/dev/null)
MPI_LIBS     := $(shell mpicc --showme:link 2>/dev/null || pkg-config --libs mpich 2>/dev/null)
MPI_FOUND    := $(call builds,mpi.h,$(CC) -x c,$(MPI_CPPFLAGS) $(MPI_LIBS))
GLOO_FOUND   := $(and $(call builds,gloo/config.h,$(CXX) -x c++,-fsyntax-only),\
                $(call builds,stddef.h,$(CC) -x c,-lgloo -lstdc++))

# The folder that holds cuda.h, nccl.h and cublas_v2.h, or empty when one is missing: then tracer/abi
# declares the few types itself. Pip installs them apart; then it is a list that can stand behind one
# -isystem. CUDA_INCLUDE= on the command line switches the search off.
cuda_homes  := $(CUDA_HOME) $(patsubst %/bin/nvcc,%,$(realpath $(shell command -v nvcc 2>&-))) \
               /usr/local/cuda
pip_folders := $(foreach d,$(VIRTUAL_ENV) $(HOME)/.local /usr/local,\
               $(wildcard $(d)/lib/python3*/site-packages/nvidia/*/include \
                          $(d)/lib/python3*/dist-packages/nvidia/*/include))
folder_of    = $(firstword $(foreach d,$(addsuffix /include,$(cuda_homes) /usr/local /usr) \
               $(pip_folders),$(if $(wildcard $(d)/$(1)),$(d))) none)
cuda_found  := $(sort $(call folder_of,cuda.h) $(call folder_of,nccl.h) $(call folder_of,cublas_v2.h))
no_text     :=
CUDA_INCLUDE ?= $(if $(filter none,$(cuda_found)),,$(subst $(no_text) , -isystem ,$(cuda_found)))
