# SPDX-License-Identifier: BSD-2-Clause
include tests/harness/local.mk
include tests/abi/local.mk
include tests/unit/local.mk
include tests/mocks/local.mk
include tests/fuzz/local.mk
include tests/soft/local.mk
include tests/api/local.mk
include tests/tools/local.mk
