# SPDX-License-Identifier: BSD-2-Clause
# The manual against what it describes.
TESTS += tests/man/pages.sh tests/man/names.sh tests/man/examples.sh tests/man/html.sh
EXTRA_DIST += tests/man/pages.sh tests/man/names.sh tests/man/examples.sh tests/man/html.sh
check_DATA += $(MANS)
