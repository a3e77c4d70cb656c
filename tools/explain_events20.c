/* SPDX-License-Identifier: BSD-2-Clause */
/* Compiles explain_events.c a second time, with the events, statuses and reasons of uDAPL 2.0. */
#define EXPLAIN_API_20
#include "explain_events.c"
