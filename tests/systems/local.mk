# SPDX-License-Identifier: BSD-2-Clause
# Other releases of Debian. That takes minutes and needs root, so it is no test of `make check`, but a step of ./quickstart.
EXTRA_DIST += tests/systems/archive.sh tests/systems/container.sh tests/systems/debian.sh

# Runs the tests that depend most on the system's compiler, formatters and tools. The other tests, and datperf.sh, are about our own
# code.
check-systems:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(filter-out tests/tools/datperf.sh,$(filter tests/harness/% tests/install/% tests/abi/% \
		tests/unit/% tests/sdk/% tests/tools/% tests/man/% tests/vipl/%,$(TESTS)))'
.PHONY: check-systems
