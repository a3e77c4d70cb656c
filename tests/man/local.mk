# SPDX-License-Identifier: BSD-2-Clause
# Tests that compare the manual with what it describes. They run no built code in which a sanitizer could find more than it
# finds in other tests.
if !SANITIZED
TESTS += tests/man/names.sh tests/man/pages.sh tests/man/examples.sh tests/man/html.sh
endif
EXTRA_DIST += tests/man/pages.sh tests/man/names.sh tests/man/examples.sh tests/man/html.sh
check_DATA += $(MANS)
