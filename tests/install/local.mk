# SPDX-License-Identifier: BSD-2-Clause
# The installed tree, used as a stranger uses it.
AM_TESTS_ENVIRONMENT += CFLAGS='$(CFLAGS)'; export CFLAGS;
# Left out of the sanitized trees: the installed code is the same that the other tests run there.
if !SANITIZED
TESTS += tests/install/install.sh
endif
EXTRA_DIST += tests/install/install.sh tests/install/movable.sh
