/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls of check_calls.c once more, as those of uDAPL 2.0. */
#define CHECK_API_20
#include "check_calls.c"
