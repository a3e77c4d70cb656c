/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A transport without a peer, and a registry that only records its calls: what libdatp needs to be
 * tested by itself. A connection is established at once, to no peer; requests succeed at once;
 * receives never complete.
 */
#ifndef CORE_NULL_H
#define CORE_NULL_H

#include <datp/provider.h>

/* What the registry has recorded, and what it returns. */
struct null_registry {
	const DAT_PROVIDER *table; /* registered, or NULL */
	DAT_PROVIDER_INFO info;
	int adds, removes;
	DAT_RETURN answer;   /* to the next dat_registry_add_provider */
	DAT_RETURN remove_answer; /* to the next dat_registry_remove_provider */
	DAT_IA_HANDLE shown; /* what dats_get_ia_handle returns; NULL: the registry has no such IA */
};

extern struct null_registry null_registry;

/* What the transport has recorded, and what it returns. */
struct null_counts {
	_Atomic int ias, pzs, lmrs, rmrs, eps, evds, sps; /* the objects that exist */
	_Atomic int opens, closes;
	char params[64];
	_Atomic int ia_open_answer, lmr_answer, bind_answer; /* to the next call, once */
	bool bind_invalidated; /* a peer invalidates each bind before it completes */
	bool bind_ended; /* the RMR is not bound by a bind any more when that completes */
};

extern struct null_counts null_counts;

/* A message that the transport logs in ia_open. The first NULL ends the list. */
struct null_saying {
	int level;
	const char *text;
};

extern struct null_saying null_open_says[3];

/* Called within ia_open and ia_close; NULL: nothing. */
extern void (*null_in_ia_open)(void);
extern void (*null_in_ia_close)(void);

/* Called within ep_free; NULL: nothing. */
extern void (*null_in_ep_free)(struct datp_ep *ep);

/* Called within ep_fit, whose result it is; NULL: success. */
extern enum datp_err (*null_in_ep_fit)(struct datp_ep_attr *attr, const struct datp_ep_attr *asked);

/* The ops themselves, for tests that change them. */
extern const struct datp_ops null_ops;
extern const struct datp_plugin null_plugin;

/* Registers the plugin as "null0", as libdat would; and removes it. */
const DAT_PROVIDER *null_load(void);
void null_unload(void);

#endif
