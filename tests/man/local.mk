# SPDX-License-Identifier: BSD-2-Clause
# The manual against what it describes.
TESTS += tests/man/names.sh
# These run nothing of what has been built, in which a sanitizer could find something.
if !SANITIZED
TESTS += tests/man/pages.sh tests/man/examples.sh tests/man/html.sh
endif
EXTRA_DIST += tests/man/pages.sh tests/man/names.sh tests/man/examples.sh tests/man/html.sh
check_DATA += $(MANS)
