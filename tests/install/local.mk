# SPDX-License-Identifier: BSD-2-Clause
# The installed tree, used as a stranger uses it.
AM_TESTS_ENVIRONMENT += CFLAGS='$(CFLAGS)'; export CFLAGS;
TESTS += tests/install/install.sh
EXTRA_DIST += tests/install/install.sh tests/install/movable.sh
