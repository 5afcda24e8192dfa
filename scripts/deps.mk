# SPDX-License-Identifier: MIT
# What the build found: required libraries, and the CUDA and NCCL headers when they are there.
# scripts/setup.sh installs what is missing; build/deps/root holds what it unpacked without root.

DEPS_ROOT := $(wildcard build/deps/root)
ifneq ($(DEPS_ROOT),)
  DEPS_CPPFLAGS += -I$(CURDIR)/$(DEPS_ROOT)/usr/include
  DEPS_LIBDIR   := $(firstword $(wildcard $(CURDIR)/$(DEPS_ROOT)/usr/lib/*-linux-gnu))
  DEPS_LIBS     += -L$(DEPS_LIBDIR) -Wl,-rpath,$(DEPS_LIBDIR)
endif
DEPS_LIBS += -lcjson -lz

# The folders that hold cuda.h, nccl.h and cublas_v2.h (one, or several: pip installs them apart), or
# empty when one is missing: then tracer/abi declares the few types itself. CUDA_INCLUDE= switches
# the search off.
cuda_homes  := $(CUDA_HOME) $(patsubst %/bin/nvcc,%,$(realpath $(shell command -v nvcc 2>&-))) \
               /usr/local/cuda
pip_folders := $(foreach d,$(VIRTUAL_ENV) $(HOME)/.local /usr/local,\
               $(wildcard $(d)/lib/python3*/site-packages/nvidia/*/include \
                          $(d)/lib/python3*/dist-packages/nvidia/*/include))
folder_of    = $(firstword $(foreach d,$(addsuffix /include,$(cuda_homes) /usr/local /usr) \
               $(pip_folders),$(if $(wildcard $(d)/$(1)),$(d))))
cuda_found  := $(foreach h,cuda.h nccl.h cublas_v2.h,$(or $(call folder_of,$(h)),none))
CUDA_INCLUDE ?= $(if $(filter none,$(cuda_found)),,$(sort $(cuda_found)))
