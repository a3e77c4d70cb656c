# SPDX-License-Identifier: BSD-2-Clause
include tests/unit/registry.mk
include tests/unit/core.mk
include tests/unit/core_events.mk

TESTS += tests/unit/tree.sh
EXTRA_DIST += tests/unit/tree.sh
