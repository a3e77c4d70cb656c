# SPDX-License-Identifier: BSD-2-Clause
# The installed tree, used as a stranger uses it.
AM_TESTS_ENVIRONMENT += CFLAGS='$(CFLAGS)'; CXXFLAGS='$(CXXFLAGS)'; export CFLAGS CXXFLAGS;
# Left out of the sanitized trees: the installed code is the same that the other tests run there.
if !SANITIZED
TESTS += tests/install/install.sh
endif
EXTRA_DIST += tests/install/install.sh tests/install/movable.sh

# What tests move elsewhere and use there (movable.sh): it is installed once for all of them, because linking for it takes long.
tests/install/dest.stamp: $(INSTALLED)
	@rm -rf tests/install/dest
	$(AM_V_at)$(MKDIR_P) tests/install && $(MAKE) $(AM_MAKEFLAGS) install DESTDIR=$(abs_builddir)/tests/install/dest
	@touch $@
CLEANFILES += tests/install/dest.stamp tests/install/dest.lock
clean-local: clean-dest
clean-dest:
	rm -rf tests/install/dest
.PHONY: clean-dest
