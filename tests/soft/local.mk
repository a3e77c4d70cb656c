# SPDX-License-Identifier: BSD-2-Clause
# The soft provider looked at from inside, and under strain.
TESTS += tests/soft/bounce.sh
EXTRA_DIST += tests/soft/bounce.sh
