# SPDX-License-Identifier: BSD-2-Clause
include tests/unit/registry.mk
include tests/unit/core.mk
include tests/unit/core_events.mk
