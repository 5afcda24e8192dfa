# SPDX-License-Identifier: MIT
# Packages of what `make install` installs (packaging/README.md). All are made from build/dist/stage.

.PHONY: wheel deb check-deb rpm sbom check-reproducible check-tarball check-foreign check-image

# As below a prefix. -o all: that is here already, because the prerequisites are what `all` makes.
STAGE  := $(B)/dist/stage
STAGED := $(STAGE)/bin/specter
$(STAGED): $(B)/specter $(B)/libspecter.so $(MODULES) $(wildcard include/specter/*.h share/schemas/*.json) Makefile
	$(Q)rm -rf $(STAGE) && mkdir -p $(STAGE)
	$(Q)$(MAKE) --no-print-directory -o all install DESTDIR=$(STAGE) prefix= >$(B)/dist/stage.log

## wheel: a Python wheel of this build, for this machine's glibc and newer, in build/dist
WHEEL := $(B)/dist/specter-$(VERSION)-py3-none-linux_$(shell uname -m).whl
wheel: $(WHEEL)
$(WHEEL): $(STAGED) $(wildcard packaging/python/*.py packaging/python/specter/*) docs/python.md LICENSE
	@echo "  WHEEL   $@"
	$(Q)packaging/python/wheel.py $(STAGE) $(VERSION) linux_$(shell uname -m) $(@D) >/dev/null
# Tests install it; without a Python they are skipped.
check-build: $(STAGED) $(if $(shell command -v python3),$(WHEEL))

## deb: a Debian package of this build for this release, in build/dist
DEB := $(B)/dist/specter_$(VERSION)-1_$(shell dpkg --print-architecture 2>/dev/null).deb
deb: $(DEB)
$(DEB): $(STAGED) $(wildcard packaging/deb/*) CHANGELOG.md
	@echo "  DEB     $@"
	$(Q)packaging/deb/build.sh $(STAGE) $(VERSION) $(@D) >/dev/null

## check-deb: installs the Debian package in a bare root, uses and purges it (as root)
SUITE_HERE := $(shell . /etc/os-release 2>/dev/null && echo $$VERSION_CODENAME)
check-deb: deb emu
	$(Q)BUILD=$(B) packaging/check.sh deb $(SUITE_HERE) $(DEB); status=$$?; [ $$status = 77 ] || exit $$status

## rpm: an RPM package of this build, in build/dist (rpmbuild)
rpm: $(STAGED)
	$(Q)rpmbuild -bb --quiet --define "stage $(abspath $(STAGE))" --define "release_version $(VERSION)" \
	    --define "_topdir $(abspath $(B)/dist/rpmbuild)" --define "_rpmdir $(abspath $(B)/dist)" --nodeps \
	    packaging/rpm/specter.spec

## sbom: an SPDX list of what this build consists of, build/dist/specter-VERSION.spdx.json
sbom: $(B)/dist/specter-$(VERSION).spdx.json
$(B)/dist/specter-$(VERSION).spdx.json: $(STAGED) packaging/sbom/sbom.py
	$(Q)packaging/sbom/sbom.py $(STAGE) $(VERSION) >$@

## check-reproducible: builds the commit in two folders and compares the bytes
check-reproducible:
	$(Q)env -u MAKEFLAGS scripts/check-reproducible.sh $(MAKEOVERRIDES)

# The programs that are recorded there, without the stand-ins of ROCm, which zig does not link.
.PHONY: stand-ins
stand-ins: $(EMU_LIBS) $(EXAMPLES)

RELEASED  = build/release/specter-$(VERSION)-linux-$(shell uname -m).tar.gz
# Behind a check: status 77 is a skip, whose reason it has said.
or_skip  := status=$$?; [ $$status = 0 ] || [ $$status = 77 ] || exit $$status

## check-tarball: the tarball of `make release` in bare roots of bullseye and of the newest release (as root)
NEWEST   ?= trixie
check-tarball:
	$(Q)env -u MAKEFLAGS scripts/release.sh --stand-ins $(shell uname -m)
	$(Q)for suite in bullseye $(NEWEST); do \
	    BUILD=build/release/$(shell uname -m) packaging/check.sh tarball $$suite $(RELEASED); $(or_skip); done

## check-foreign: tarball and wheel for aarch64 under qemu, and all that tests say of `make release`
check-foreign: all
	$(Q)env -u MAKEFLAGS scripts/release.sh --stand-ins aarch64
	$(Q)BUILD=$(B) tests/run.sh --cli cli/packaging/release

## check-image: the container image of that tarball, built and run without a daemon (as root, buildah)
check-image:
	$(Q)packaging/check-image.sh $(RELEASED); $(or_skip)
