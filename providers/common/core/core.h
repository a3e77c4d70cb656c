/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of libdatp share. Functions here are neutral: they return enum datp_err and know
 * nothing of a frozen table; the dat12_* files marshal between them and the DAT 1.2 calls. Objects
 * are named as in the standard, `struct datp_x` being the public head and `struct x_priv` libdatp's
 * own part of x.
 *
 * Objects are created and freed under these rules, all of them with the IA lock:
 * - what a new object depends on is held (obj_hold) before it is published, and dropped after it is
 *   retired;
 * - X_create() returns a published object; X_free() is the consumer's free, which may be refused;
 * - X_destroy() cannot be refused: dat_ia_close(abrupt) calls it, in the order of dependency.
 */
#ifndef CORE_H
#define CORE_H

#include "count.h"
#include "loop.h"
#include "obj.h"
#include "providers/common/base/log.h"
#include <datp/provider.h>

struct datp_cno;
struct datp_wrapper;

/* ------------------------------------------------------------------ plugins */

struct plugin;

/*
 * Converts the calls of an API into calls of the core, and registers adapters with the registry of
 * that API. An edge passes its own to plugin_add(); the core makes no other calls upwards.
 */
struct edge {
	size_t table_size; /* the size of the table that the first word of its objects points at */
	void (*table_fill)(struct plugin *plugin);
	/* Registers the adapter by its name. Returns 0, or the registry's error. No lock held. */
	DAT_RETURN (*announce)(struct plugin *plugin);
	/* Returns false if the registry keeps the adapter, because it is in use. No lock held. */
	bool (*withdraw)(struct plugin *plugin);
	/* Returns the consumer's handle of an IA. Any lock but those of the registry. */
	DAT_IA_HANDLE (*shown)(struct datp_ia *ia);
	/* the end of a connection whose endpoint uses an SRQ is reported as an asynchronous error as well */
	bool srq_end_is_error;
	/* the events of a connection stay queued when its endpoint is freed, and that of its end is queued then */
	bool keeps_events;
	/* an endpoint may have an EVD of another IA for the events of its connections (loan.h) */
	bool borrows_evds;
	/* programs know the extensions of <datp/ext.h> */
	bool has_extensions;
};

/* One registration: a plugin under one IA name. Never changes between init and fini. */
struct plugin {
	struct plugin *next; /* core.lock */
	const struct edge *edge;
	const struct datp_plugin *desc;	    /* NULL for a wrapper */
	const struct datp_wrapper *wrapper; /* NULL for a plugin */
	struct datp_ops ops; /* complete: no op is NULL */
	void *table;	     /* the edge's table, whose address is the first word of its objects */
	DAT_PROVIDER_INFO info;
	char *params;
	/* its name; a copy, because the library may be unloaded */
	char provider[DAT_NAME_MAX_LENGTH];
	struct log_name log_name;
	/* among those of its IA name: which slot of the table opens it; core.lock */
	uint32_t nth;
	uint32_t opens; /* the number of IAs open through it; core.lock */
	bool counters;	/* the line says counters=on: the edge counts posts and events, too */
	bool leaving;	/* core.lock: in dat_provider_fini */
};

/*
 * The number of registrations of one IA name at a time: they differ in version, thread safety or
 * library.
 */
enum { PLUGIN_NTHS = 16 };

/*
 * Checks a descriptor and makes a complete table of its ops. Returns false after plugin_refuse().
 */
bool plugin_negotiate(const struct datp_plugin *desc, struct datp_ops *ops);
/* The same for a libdatp that knows only the first `known` bytes of the ops. */
bool plugin_negotiate_as(const struct datp_plugin *desc, size_t known, struct datp_ops *ops);
/*
 * Registers an adapter, of a plugin with its complete ops, or of a wrapper; `name` is the plugin's
 * own. If that fails, it calls plugin_refuse(). From then on forks are handled.
 */
void plugin_add(const struct edge *edge, const struct plugin *what, const char *name,
		const char *params);
/* Undoes plugin_add(); if IAs are open, the registration stays, and a message says why. */
void plugin_remove(const struct datp_plugin *desc, const struct datp_wrapper *wrapper,
		   const DAT_PROVIDER_INFO *info);
/* Returns the nth registration of an IA name, and counts it in `opens`; returns NULL if there are fewer. */
struct plugin *plugin_get(const char *name, uint32_t nth);
void plugin_put(struct plugin *plugin);

/* ------------------------------------------------------------------ the library */

struct core {
	_Atomic uint32_t lock; /* first in the lock order, with the catalogue */
	struct plugin *plugins;
	struct ia_priv *ias; /* every open IA */
};

extern struct core core;

/* ------------------------------------------------------------------ IA */

enum { RMR_LOCKS = 16 };

struct ia_priv {
	_Atomic uint32_t lock;		       /* the IA lock */
	/*
	 * After EP: guards what an RMR is bound to. It is not in the RMR, because a bind may
	 * outlive its RMR, and find another in that memory.
	 */
	_Atomic uint32_t rmr_locks[RMR_LOCKS];
	/* spare records, so that binds need not allocate; the lock above */
	struct binding *rmr_spares[RMR_LOCKS];
	bool closing;			       /* IA lock: nothing new may be published */
	bool own_async;			       /* the async EVD was made by open; set once */
	struct obj_list live[DATP_TYPE_COUNT]; /* IA lock */
	/* Below the SRQ locks and above those of EVDs: errors are reported with an SRQ locked. */
	_Atomic uint32_t async_lock;
	struct datp_evd *async_evd; /* async lock; NULL: there is none, and events are dropped */
	struct loop *loop;
	uint32_t put_off; /* ends of connections that wait for poll locks (service thread) */
	struct plugin *plugin;
	struct datp_ia_attr attr; /* what ia_query said at open, and "allow"; never changes */
	/* what ext_query said at open; no more than the edge can serve. Never changes */
	struct datp_ext_attr ext;
	uint32_t allow;		  /* enum allow; set by open, never changes */
	DAT_NAMED_ATTR *named;	  /* attr.provider_attr, if allow_show() allocated it */
	_Atomic uint64_t counts[IA_COUNTS];
	_Atomic uint64_t shown_from[IA_SHOWN]; /* the value of each of the edge's counters at its last reset */
	void *edge_part;	  /* allocated and set by the edge at open; freed with the IA; or NULL */
	struct ia_priv *next;	  /* core.lock */
	struct datp_ia *ia;
};

static inline struct ia_priv *ia_priv(struct datp_ia *ia)
{
	return OBJ_PRIV(struct ia_priv, ia);
}

static inline void ia_count(struct datp_ia *ia, enum ia_count what)
{
	count_add(&ia_priv(ia)->counts[what], 1);
}

/* Returns the bytes for n counts before an object's private part, if the edge counts. */
static inline size_t ia_count_bytes(struct datp_ia *ia, size_t n)
{
	return ia_priv(ia)->plugin->counters ? n * sizeof(uint64_t) : 0;
}

static inline const struct datp_ia_attr *ia_attr(struct datp_ia *ia)
{
	return &ia_priv(ia)->attr;
}

/* Returns the rights that a region of this IA may give. */
static inline unsigned int ia_privs(struct datp_ia *ia)
{
	return (unsigned int)DAT_MEM_PRIV_ALL_FLAG | (ia_priv(ia)->ext.atomics ? DATP_MEM_PRIV_REMOTE_ATOMIC : 0);
}

/*
 * Opens an IA. *async selects its asynchronous EVD: NULL creates one of at least qlen events,
 * DAT_EVD_ASYNC_EXISTS means none, and any other is shared. *async and *ia change on success only.
 */
enum datp_err ia_open(struct plugin *plugin, int32_t qlen, DAT_EVD_HANDLE *async,
		      struct datp_ia **ia);
enum datp_err ia_close(struct datp_ia *ia, bool graceful);
/* Returns the consumer's handle of the IA: the registry's small integer, or else the pointer. */
static inline DAT_IA_HANDLE ia_shown(struct datp_ia *ia)
{
	return ia_priv(ia)->plugin->edge->shown(ia);
}
/* Returns the limit on the number of objects of a type, and the error if it is exceeded. */
uint32_t ia_limit(struct datp_ia *ia, enum datp_type type, enum datp_err *err);

/* ------------------------------------------------------------------ memory */

enum datp_err pz_create(struct datp_ia *ia, struct datp_pz **out);
enum datp_err pz_free(struct datp_pz *pz);
void pz_destroy(struct datp_pz *pz);

struct lmr_new {
	DAT_MEM_TYPE mem_type;
	uint64_t addr, len; /* VIRTUAL, SHARED_VIRTUAL */
	DAT_HANDLE source;  /* LMR */
	const void *cookie; /* SHARED_VIRTUAL */
	DAT_HANDLE pz;
	DAT_MEM_PRIV_FLAGS priv;
};

/* What the consumer asked for; the public head has what was registered. Set at creation. */
struct lmr_priv {
	uint64_t asked_addr, asked_len; /* VIRTUAL, SHARED_VIRTUAL */
	DAT_HANDLE source;		/* LMR */
	char cookie[DAT_LMR_COOKIE_SIZE]; /* SHARED_VIRTUAL: a copy */
};

enum datp_err lmr_create(struct datp_ia *ia, const struct lmr_new *what, struct datp_lmr **out);
enum datp_err lmr_free(struct datp_lmr *lmr);
void lmr_destroy(struct datp_lmr *lmr);
bool lmr_covers(const struct datp_lmr *lmr, uint64_t addr, uint64_t len);
/* Checks the segments, for both directions. */
enum datp_err lmr_sync(struct datp_ia *ia, const struct datp_sge *segments, uint64_t n);

enum datp_err rmr_create(struct datp_pz *pz, struct datp_rmr **out);
enum datp_err rmr_bind(struct datp_rmr *rmr, const struct datp_sge *where, DAT_MEM_PRIV_FLAGS priv,
		       DAT_EP_HANDLE ep, DAT_CONTEXT cookie, unsigned int flags, uint32_t *context);
/* Returns what the RMR is bound to, or false if it is not bound. */
bool rmr_bound(struct datp_rmr *rmr, struct datp_sge *where, DAT_MEM_PRIV_FLAGS *priv,
	       uint32_t *context);
enum datp_err rmr_free(struct datp_rmr *rmr);
void rmr_destroy(struct datp_rmr *rmr);
void rmr_spares_free(struct datp_ia *ia); /* called when no thread binds any more */

/* ------------------------------------------------------------------ events and connections */

/* `cno` may be NULL; the EVD holds it. qlen 0 means the smallest queue. */
enum datp_err evd_create(struct datp_ia *ia, int32_t qlen, struct datp_cno *cno,
			 DAT_EVD_FLAGS flags, struct datp_evd **out);
/* Waiters return DATP_ERR_ABORT, and have left when this returns. */
void evd_destroy(struct datp_evd *evd);
/*
 * Queues an asynchronous error about `about`, whose handle it contains, on the IA's async EVD (read
 * and posted to under the async lock); drops it if there is none. No lock after SRQ held.
 */
void evd_post_async(struct datp_ia *ia, DAT_EVENT_NUMBER number, struct datp_obj *about,
		    int32_t reason);
/* Removes the asynchronous errors about an object from the IA's async EVD, if it has one. No lock after SRQ held. */
void evd_purge_async(struct datp_ia *ia, const struct datp_obj *about);

/* Waiters return a NULL EVD, and have left when this returns. */
void cno_destroy(struct datp_cno *cno);
/* In a forked child: resets the state that these files keep for all IAs. Takes no locks. */
void ep_forget_all(void);
void sp_forget_all(void);
/* Frees the endpoint in any state; if it is connected, the peer is told. */
void ep_destroy(struct datp_ep *ep);
void sp_destroy(struct datp_sp *sp);
/* Frees a connection request, and rejects it if it has not been answered. */
void cr_destroy(struct datp_cr *cr);
void srq_destroy(struct datp_srq *srq);

#endif
