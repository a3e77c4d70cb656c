# SPDX-License-Identifier: BSD-2-Clause
# The conformance suite over soft0, and the suite's own behaviour.
TESTS += tests/conform/datconform.sh tests/conform/soft0.sh
EXTRA_DIST += tests/conform/datconform.sh tests/conform/soft0.sh
tests/conform/datconform.log tests/conform/soft0.log: datconform$(EXEEXT)
