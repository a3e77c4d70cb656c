# SPDX-License-Identifier: BSD-2-Clause
# The installed tree, used as a stranger uses it.
AM_TESTS_ENVIRONMENT += CFLAGS='$(CFLAGS)'; export CFLAGS;
# The installed code is the code that was built, which the other tests run under the sanitizers.
if !SANITIZED
TESTS += tests/install/install.sh
endif
EXTRA_DIST += tests/install/install.sh tests/install/movable.sh
