/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of ping_end.c once more, as a program of uDAPL 2.0. */
#define PING_API_20
#include "ping_end.c"
