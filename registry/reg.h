/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of the registry's core share: its one state. core.h has what the fronts know of it.
 *
 * Locks: reg.lock guards all of struct registry but the atomics; it is a leaf (nothing else is
 * taken under it) and is never held across dlopen, dat_provider_init, dat_provider_fini or any
 * other call into a plugin. The loader has one lock of its own, see loader.c.
 */
#ifndef REGISTRY_REG_H
#define REGISTRY_REG_H

#include "core.h"

#include <stdatomic.h>

/*
 * The types of errors are the same in each API. Of the subtypes, only those below
 * DAT_INVALID_HANDLE1 are the same; struct reg_front has the others.
 */
#include <dat/dat_error.h>

/*
 * The rest is private to the core. It is marked hidden here too, so that calls do not go through
 * the PLT.
 */
#pragma GCC visibility push(hidden)
#include "conf.h"
#include "loader.h"

/* APIs that can be served in one process. */
#define REG_FRONTS_MAX	2

/* Providers that may be registered at a time. */
#define REG_RECORDS_MAX	4096

struct reg_thread;

enum plugin_state {
	PLUGIN_IDLE,
	PLUGIN_LOADING,			/* thread is in dlopen or dat_provider_init */
	PLUGIN_READY,
	PLUGIN_UNLOADING,		/* thread is in dat_provider_fini or dlclose */
};

/*
 * One line of the static registry and the library behind it. Lives as long as the registry. A line for
 * DAT 1.2 that serves 2.0 as well has two of these, and each loads and initialises the library for its API.
 */
struct reg_plugin {
	const struct conf_entry *entry;
	/* what init and fini are given; constant. The version is that of the API, which the line may not say */
	DAT_PROVIDER_INFO info;
	enum plugin_state state;	/* reg.lock; changes are announced on reg.changed */
	struct reg_thread *thread;	/* reg.lock: the thread that loads or unloads it */
	unsigned int opens;		/* reg.lock: open IAs and opens under way */
	struct loader_lib *lib;		/* owned by thread while loading or unloading */
	bool initialised;		/* likewise: dat_provider_init has run */
	bool repeats;			/* an earlier line that is shown has the same info; constant */
	bool listed;			/* reg.lock: dat_registry_list_providers has named it */
	bool reported;			/* reg.lock: why has been printed */
	char *why;			/* reg.lock: what the last failure was, malloced, or NULL */
	/* owned by thread, then by reg.lock: the library's own words, or NULL */
	char *said;
};

/* One provider of the dynamic registry. */
struct reg_record {
	struct reg_record *next;
	const struct reg_front *front;
	/* the provider's table, which also has the function that opens an IA */
	const void *table;
	void (*opener)(void);		/* what its front's opener_of() returned */
	DAT_PROVIDER_INFO info;		/* a copy, because the plugin may free its own */
	/* the plugin whose init registered it; NULL if it registered itself */
	struct reg_plugin *plugin;
	unsigned int opens;		/* reg.lock: open IAs and opens under way */
};

/* One open IA: what is behind a handle. */
struct reg_ia {
	_Atomic(DAT_IA_HANDLE) object;	/* the provider's; NULL: not open, or not yet */
	struct reg_record *record;	/* reg.lock; NULL: the slot is free */
	const void *vtable;		/* reg.lock: the first word of its object */
	/* reg.lock: what it has to be closed with */
	DAT_RETURN (*close)(struct reg_opening *how, const void *table, DAT_IA_HANDLE object);
	bool closing;			/* reg.lock */
};

#define REG_IA_CHUNK	1024
#define REG_IA_CHUNKS	64		/* times REG_IA_CHUNK is REG_POINTER_MIN */

struct registry {
	_Atomic(struct reg_ia *) ias[REG_IA_CHUNKS];
	_Atomic unsigned int ia_top;	/* one more than the largest handle ever given out */
	unsigned int ia_next;		/* reg.lock: where the search for a free handle begins */
	unsigned int ia_open;		/* reg.lock: handles in use */

	pthread_mutex_t lock;
	pthread_cond_t changed;		/* a plugin changed its state */
	const struct reg_front *fronts[REG_FRONTS_MAX];	/* those whose library is there, or NULL */
	bool ready;			/* the static registry has been read */
	bool gone;			/* all has been torn down */
	struct conf conf;		/* constant once ready */
	struct reg_plugin *plugins;	/* likewise; the elements have rules of their own */
	unsigned int nplugins;
	unsigned int nlines;		/* the first of them, one for each line; those for another API follow */
	struct reg_record *records;
	struct reg_record **records_tail;
	unsigned int nrecords;
	bool probed;			/* dat_registry_list_providers has named adapters */
	bool environment_told;		/* errors in the environment have been reported */
	struct reg_unknown *unknown;	/* names reported as unknown, see report.c */
	unsigned int nunknown;
};

extern struct registry reg;

/* Returns true if p serves programs of another API than the one that its line says. */
static inline bool plugin_is_for_another_api(const struct reg_plugin *p)
{
	return p->info.dapl_version_major != p->entry->major;
}

/* What a thread is doing in the registry. */
struct reg_thread {
	struct reg_plugin *plugin;	/* whose code it is running: owns what gets registered */
	struct reg_plugin *waits_for;	/* reg.lock */
};

extern _Thread_local struct reg_thread reg_self;

/* The progress of a search for a provider that serves an open request. Zero-filled at first. */
struct reg_search {
	const struct reg_plugin *first;	/* was loaded already, so it was tried before the earlier lines */
	struct reg_plugin *last;	/* the line that was tried last */
	bool again;			/* the provider found before could not be opened */
};

/* catalog.c */
DAT_RETURN catalog_ready(const struct reg_front *front);
DAT_RETURN record_acquire(const struct reg_open_request *rq, struct reg_search *search,
			  struct reg_record **record);
bool search_is_choice(const struct reg_open_request *rq);
bool search_goes_on(const struct reg_open_request *rq, const struct reg_search *search,
		    const struct reg_record *record);
bool plugin_is_hidden(const struct reg_plugin *p);
void record_release(struct reg_record *record);
void catalog_free_locked(void);
void catalog_forked_locked(void);

/* plugin.c */
int plugin_acquire_locked(struct reg_plugin *p);
void plugin_release_locked(struct reg_plugin *p);
int plugin_wait_locked(struct reg_plugin *p);
void plugin_why_locked(struct reg_plugin *p, char *why);
char *plugin_words(struct reg_plugin *p);
void plugin_forked_locked(struct reg_plugin *p);

/* Returns the error for argument n of a call, counted from 1. */
static inline DAT_RETURN reg_argument(const struct reg_front *front, unsigned int n)
{
	return REG_ERROR(DAT_INVALID_PARAMETER, front->first_argument + n - 1);
}

/* handle.c */
unsigned int ia_reserve_locked(struct reg_record *record);
void ia_publish_locked(unsigned int handle, DAT_IA_HANDLE object, const void *vtable,
		       DAT_RETURN (*close)(struct reg_opening *, const void *, DAT_IA_HANDLE));
void ia_drop_locked(unsigned int handle);
struct reg_ia *ia_slot(unsigned int handle);
unsigned int ia_handle_of(DAT_IA_HANDLE object);
void ia_free_locked(void);

/* report.c */
void report_environment(void);
void report_not_found(const struct reg_open_request *rq, DAT_RETURN rc);
void report_lines(const struct reg_open_request *rq, bool served);
void report_open(const struct reg_record *r, const char *name, DAT_RETURN rc, bool several);
void report_free_locked(void);

/* diag.c */
/* The bits of the older DAT_DBG_TYPE. */
enum diag_type {
	DIAG_ERROR = 1,
	DIAG_GENERIC = 2,
	DIAG_SR = 4,			/* static registry */
	DIAG_DR = 8,			/* dynamic registry */
	DIAG_PROVIDER = 0x10,		/* the calls providers make */
	DIAG_CONSUMER = 0x20,		/* the calls consumers make */
};
void diag_print(enum diag_type type, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A message about an adapter can be selected by the adapter's name as well. */
bool diag_wanted_about(enum diag_type type, const char *adapter);
void diag_print_about(enum diag_type type, const char *adapter, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
bool diag_wanted(enum diag_type type);
void diag_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
bool diag_explicit(void);

/*
 * A thread must not be cancelled while it holds a lock: calls that load, wait or read files begin
 * with cancel_off() and end with cancel_restore(). The calls that are only passed on do neither.
 * The type is set first and restored last, because the signal that pthread_cancel() sends to a
 * thread with asynchronous cancellation ends it as long as the type is asynchronous, whatever the
 * state is when the signal arrives.
 */
struct cancel {
	int state, type;	/* the consumer's own */
};

static inline struct cancel cancel_off(void)
{
	struct cancel own;

	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &own.type);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &own.state);
	return own;
}

static inline void cancel_restore(struct cancel own)
{
	pthread_setcancelstate(own.state, NULL);
	pthread_setcanceltype(own.type, NULL);
}

#pragma GCC visibility pop

#endif
