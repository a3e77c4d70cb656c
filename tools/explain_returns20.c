/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of a DAT_RETURN of explain_returns.c once more, as those of uDAPL 2.0. */
#define EXPLAIN_API_20
#include "explain_returns.c"
