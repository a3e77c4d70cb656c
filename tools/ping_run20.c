/* SPDX-License-Identifier: BSD-2-Clause */
/* The test of ping_run.c once more, as a program of uDAPL 2.0. */
#define PING_API_20
#include "ping_run.c"
