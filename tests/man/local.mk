# SPDX-License-Identifier: BSD-2-Clause
# The manual against what it describes.
# These run nothing of what has been built, in which a sanitizer could find something that it does not find elsewhere.
if !SANITIZED
TESTS += tests/man/names.sh tests/man/pages.sh tests/man/examples.sh tests/man/html.sh
endif
EXTRA_DIST += tests/man/pages.sh tests/man/names.sh tests/man/examples.sh tests/man/html.sh
check_DATA += $(MANS)
