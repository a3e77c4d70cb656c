/* SPDX-License-Identifier: BSD-2-Clause */
/* Compiles ping_queue.c a second time, as a program of uDAPL 2.0. */
#define PING_API_20
#include "ping_queue.c"
