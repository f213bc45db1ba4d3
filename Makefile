# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Everything is built and tested in the Debian 13 root that scripts/devroot
# makes: called outside, make calls itself again inside, once for all goals.

goals := demo check kmod loader dpu bpf selftests bench-hooks bench-dpu bench-nic bench-maps \
	 bench-size doc install

help:
	@echo 'make demo [MODEL=config.json]  one policy enforced on a model'\''s prefill graph'
	@echo 'make check [ONLY=REGEXP]       all tests, or the steps that match; AGAIN=1: also what'
	@echo '                               passed and nothing has changed since'
	@echo '                               (scripts/devroot run scripts/check --list names the steps)'
	@echo 'make kmod                      fabric_ext.ko for both kernels'
	@echo 'make loader                    fabricctl'
	@echo 'make dpu                       fabric-dpu, which runs policies on packets with DPDK'
	@echo 'make bpf                       the shipped policies'
	@echo 'make selftests                 the tests, without running them'
	@echo 'make bench-hooks               what a hooked call costs, in instructions'
	@echo 'make bench-dpu                 what a policy costs in librte_bpf, against a native build'
	@echo 'make bench-nic                 what a packet costs with a policy on the device'
	@echo 'make bench-maps                how soon all devices see a snapshot that is published'
	@echo 'make bench-size [POLICY=FILE]  instructions of a policy on each device'
	@echo 'make doc                       man pages and documentation'
	@echo 'make install [DESTDIR=DIR]     modules, fabricctl, headers, examples, man pages'
	@echo 'make clean                     remove what was built'

clean:
	rm -rf build

.PHONY: help clean $(goals)

ifndef FX_INSIDE

# One recipe, whatever the goals: the others wait for it and do nothing.
wanted := $(filter $(goals),$(MAKECMDGOALS))
installs := $(filter install,$(wanted))
built := $(filter-out install,$(wanted)) $(if $(installs),kmod loader dpu bpf doc)
ifneq ($(wanted),)
$(firstword $(wanted)): | $(filter clean,$(MAKECMDGOALS))
ifneq ($(MODEL),)
	@# The root sees this checkout, not where the user keeps models.
	@test -f '$(MODEL)' || { echo "MODEL: there is no file '$(MODEL)'" >&2; exit 1; }
	@install -D -m 644 '$(MODEL)' build/demo/user-config.json
endif
	@scripts/devroot ensure
	@# One make at a time builds in a checkout.
	+@mkdir -p build && exec 9>build/lock && \
	if ! flock -n 9; then \
		echo 'another make works in this checkout; waiting for it' >&2; flock 9; \
	fi && { \
		$(if $(filter check,$(wanted)),mkdir -p build/check && \
		selftests/scripts/outside.sh >build/check/outside.ktap 9>&- || :;) \
		scripts/devroot run $(MAKE) --no-print-directory FX_INSIDE=1 $(built) \
			$(if $(MODEL),MODEL='$(CURDIR)/build/demo/user-config.json') \
			$(if $(POLICY),POLICY='$(POLICY)') 9>&- \
		$(if $(installs),&& scripts/install '$(abspath $(DESTDIR))' 9>&-); \
	}
$(filter-out $(firstword $(wanted)),$(wanted)): $(firstword $(wanted)) ; @:
endif

else

out	:= $(CURDIR)/build
stable	:= $(shell scripts/vm release stable)
newest	:= $(shell scripts/vm release newest)
kernels := $(stable) $(newest)

all: kmod loader dpu bpf selftests

# One build directory per kernel, of links to the sources: kbuild builds where
# the sources are.
kmod: $(kernels:%=kmod-%)

kmod-%: FORCE
	@echo '  KMOD	fabric_ext.ko for $*'
	@scripts/link-tree kmod $(out)/kmod-$*
	@scripts/link-tree uapi $(out)/kmod-$*/uapi
	+@$(MAKE) -s -C /usr/lib/modules/$*/build M=$(out)/kmod-$* W=1 KCFLAGS=-Werror modules

# Sparse over every file, also those that needed no compiling.  7.3's headers
# say __typeof_unqual__, which no released sparse knows.
sparse-%: kmod-%
	+@$(MAKE) -s -C /usr/lib/modules/$*/build M=$(out)/kmod-$* KBUILD_CHECKSRC=2 \
		CHECK='$(CURDIR)/scripts/sparse-once -D__typeof_unqual__=__typeof__' modules

loader:
	+@$(MAKE) -s -C loader OUT=$(out)

dpu:
	+@$(MAKE) -s -C dpu OUT=$(out)

bpf: $(out)/include/vmlinux.h
	+@$(MAKE) -s -C bpf OUT=$(out)

# Debian's headers hold a vmlinux with nothing but its BTF.
$(out)/include/vmlinux.h: /usr/lib/modules/$(stable)/build/vmlinux
	@mkdir -p $(@D)
	@bpftool btf dump file $< format c >$@.new
	@mv $@.new $@

# Modules that play drivers in the tests.
testmod-%: FORCE
	@scripts/link-tree selftests/modules $(out)/kmod-test-$*
	+@$(MAKE) -s -C /usr/lib/modules/$*/build M=$(out)/kmod-test-$* W=1 KCFLAGS=-Werror modules

selftests: $(kernels:%=testmod-%) loader dpu
	+@$(MAKE) -s -C selftests OUT=$(out) LINUX=$(FX_LINUX)

bench-hooks: kmod loader $(kernels:%=testmod-%)
	+@$(MAKE) -s -C bench OUT=$(out)
	@for k in stable newest; do scripts/vm run --icount $$k -- sh bench/hook-cost.sh || exit; done

bench-dpu: loader dpu
	+@$(MAKE) -s -C selftests/portable OUT=$(out) bench

bench-nic: loader
	+@$(MAKE) -s -C bench OUT=$(out) nic
	@bench/nic-cost.py

bench-maps: loader dpu
	+@$(MAKE) -s -C selftests/maps OUT=$(out) bench

bench-size: loader
	@bench/policy-size.sh $(POLICY)

check:
	@FX_AGAIN='$(AGAIN)' scripts/check '$(ONLY)'

demo: kmod loader dpu bpf
	@scripts/demo $(MODEL)

doc:
	+@$(MAKE) -s -C Documentation OUT=$(out) LINUX=$(FX_LINUX)

FORCE:
.PHONY: all FORCE

endif
