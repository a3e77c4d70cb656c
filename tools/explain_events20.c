/* SPDX-License-Identifier: BSD-2-Clause */
/* The events, statuses and reasons of explain_events.c once more, as those of uDAPL 2.0. */
#define EXPLAIN_API_20
#include "explain_events.c"
