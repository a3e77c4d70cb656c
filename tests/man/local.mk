# SPDX-License-Identifier: BSD-2-Clause
# The manual against what it describes.
TESTS += tests/man/pages.sh
EXTRA_DIST += tests/man/pages.sh
check_DATA += $(MANS)
