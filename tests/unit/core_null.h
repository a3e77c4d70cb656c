/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A transport that goes nowhere, and a registry that only takes notes: what libdatp needs around it
 * to be tested by itself. Endpoints connect to nothing, at once; requests succeed at once; receives
 * never complete.
 */
#ifndef CORE_NULL_H
#define CORE_NULL_H

#include <datp/provider.h>

/* What the registry was told. */
struct null_registry {
	const DAT_PROVIDER *table; /* registered, or NULL */
	DAT_PROVIDER_INFO info;
	int adds, removes;
	DAT_RETURN answer;   /* to the next dat_registry_add_provider */
	DAT_RETURN remove_answer; /* to the next dat_registry_remove_provider */
	DAT_IA_HANDLE shown; /* what dats_get_ia_handle says; NULL: that it knows no such IA */
};

extern struct null_registry null_registry;

/* What the transport saw. */
struct null_counts {
	_Atomic int ias, pzs, lmrs, rmrs, eps, evds, sps; /* there now */
	_Atomic int opens, closes;
	char params[64];
	_Atomic int ia_open_answer, lmr_answer, bind_answer; /* to the next call, once */
};

extern struct null_counts null_counts;

/* What the transport logs in ia_open, up to the first NULL. */
struct null_saying {
	int level;
	const char *text;
};

extern struct null_saying null_open_says[3];

/* Called within ep_free; NULL: nothing. */
extern void (*null_in_ep_free)(struct datp_ep *ep);

/* What ep_fit does; NULL: nothing, successfully. */
extern enum datp_err (*null_in_ep_fit)(struct datp_ep_attr *attr, const struct datp_ep_attr *asked);

/* The ops themselves, for tests that bend them. */
extern const struct datp_ops null_ops;
extern const struct datp_plugin null_plugin;

/* Registers the plugin as "null0", as libdat would; and the opposite. */
const DAT_PROVIDER *null_load(void);
void null_unload(void);

#endif
