/* SPDX-License-Identifier: BSD-2-Clause */
/* Compiles explain_returns.c a second time, with the return values of uDAPL 2.0. */
#define EXPLAIN_API_20
#include "explain_returns.c"
