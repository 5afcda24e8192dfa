# SPDX-License-Identifier: MIT
# What the build found: required libraries, and the CUDA and NCCL headers when they are there.
# scripts/setup.sh installs what is missing; build/deps/root holds what it unpacked without root.

DEPS_ROOT := $(wildcard build/deps/root)
ifneq ($(DEPS_ROOT),)
  DEPS_CPPFLAGS += -I$(CURDIR)/build/deps/root/usr/include
  DEPS_LIBDIR   := $(firstword $(wildcard $(CURDIR)/build/deps/root/usr/lib/*-linux-gnu))
  DEPS_LIBS     += -L$(DEPS_LIBDIR) -Wl,-rpath,$(DEPS_LIBDIR)
endif
DEPS_LIBS += -lcjson -lz

# The folder that holds cuda.h, nccl.h and cublas_v2.h, or empty: then tracer/abi.h declares the few
# types itself.
cuda_home := $(firstword $(CUDA_HOME) $(patsubst %/bin/nvcc,%,$(realpath $(shell command -v nvcc))) \
             /usr/local/cuda)
CUDA_INCLUDE ?= $(firstword $(foreach d,$(cuda_home)/include /usr/include,\
                $(if $(and $(wildcard $(d)/cuda.h),$(wildcard $(d)/nccl.h),$(wildcard $(d)/cublas_v2.h)),$(d))))
