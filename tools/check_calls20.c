/* SPDX-License-Identifier: BSD-2-Clause */
/* Compiles check_calls.c a second time, with the calls of uDAPL 2.0. */
#define CHECK_API_20
#include "check_calls.c"
