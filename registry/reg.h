/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of the registry share: its one state. The fronts stand on it, each the API of one
 * library: dat12/ is that of libdat.so.1.
 *
 * Locks: reg.lock guards all of struct registry but the atomics; it is a leaf (nothing else is
 * taken under it) and is never held across dlopen, dat_provider_init, dat_provider_fini or any
 * other call into a plugin. The loader has one lock of its own, see loader.c.
 */
#ifndef REGISTRY_REG_H
#define REGISTRY_REG_H

/*
 * The library is compiled with hidden visibility, and exports only what the standard's headers
 * declare.
 */
#pragma GCC visibility push(default)
#include <dat/udat.h>
#include <dat/dat_registry.h>
extern DAT_RETURN dats_get_ia_handle(unsigned long handle, DAT_IA_HANDLE *ia_handle);
#pragma GCC visibility pop

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The rest is private to the library. It is marked hidden here too, so that calls do not go through
 * the PLT.
 */
#pragma GCC visibility push(hidden)
#include "conf.h"
#include "loader.h"

#define REG_LIKELY(x)	__builtin_expect(!!(x), 1)
#define REG_UNLIKELY(x)	__builtin_expect(!!(x), 0)
#define REG_COLD	__attribute__((noinline, cold))
/* For functions that read through a pointer that may be misaligned: the sanitizers accept that. */
#define REG_MISALIGNED	__attribute__((no_sanitize("alignment")))

/* A full return code from its parts. */
#define REG_ERROR(type, subtype)	((DAT_RETURN)(DAT_CLASS_ERROR | (type) | (subtype)))

/*
 * Values below this are never addresses, because the kernel maps nothing there: they are IA
 * handles, or invalid.
 */
#define REG_POINTER_MIN	((uintptr_t)65536)

/* Providers that may be registered at a time. */
#define REG_RECORDS_MAX	4096

struct reg_thread;
struct reg_record;

/*
 * A front: an API by which programs reach the registry. It has the major version and the functions
 * that know the provider tables of that API; the rest of the registry is the same for each front.
 * Each request and each record name their front.
 */
struct reg_front {
	unsigned int major;
	/* The tables that objects of live providers begin with, each counted. 0 or -ENOMEM. reg.lock */
	int (*table_add_locked)(const void *table);
	void (*table_remove_locked)(const void *table);
	/* An IA has been opened whose objects begin with it. reg.lock */
	void (*table_prefer_locked)(const void *table);
	/* Calls into the provider. No lock held. */
	DAT_RETURN (*ia_open)(const struct reg_record *record, const char *name, DAT_COUNT qlen,
			      DAT_EVD_HANDLE *evd, DAT_IA_HANDLE *object);
	DAT_RETURN (*ia_close)(const void *table, DAT_IA_HANDLE object, DAT_CLOSE_FLAGS flags);
	/* Whether a handle, which may be any number, is an object of a live provider. */
	bool (*is_object)(DAT_HANDLE handle);
	/* Converts an error to the value that its programs get. */
	DAT_RETURN (*names)(DAT_RETURN value, const char **type, const char **subtype);
	/*
	 * Called when an IA has been closed: facts that were cached about its objects are no longer
	 * valid.
	 */
	void (*ia_gone)(void);
};

enum plugin_state {
	PLUGIN_IDLE,
	PLUGIN_LOADING,			/* thread is in dlopen or dat_provider_init */
	PLUGIN_READY,
	PLUGIN_UNLOADING,		/* thread is in dat_provider_fini or dlclose */
};

/* One line of the static registry and the library behind it. Lives as long as the registry. */
struct reg_plugin {
	const struct conf_entry *entry;
	DAT_PROVIDER_INFO info;		/* what init and fini are given; constant */
	enum plugin_state state;	/* reg.lock; changes are announced on reg.changed */
	struct reg_thread *thread;	/* reg.lock: who loads or unloads it */
	unsigned int opens;		/* reg.lock: open IAs and opens under way */
	struct loader_lib *lib;		/* owned by thread while loading or unloading */
	bool initialised;		/* likewise: dat_provider_init has run */
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
	/* a copy of that function pointer, of a type that the front knows; or NULL */
	void (*open_func)(void);
	DAT_PROVIDER_INFO info;		/* a copy: the plugin's own may go */
	/* the plugin whose init registered it; NULL if it registered itself */
	struct reg_plugin *plugin;
	unsigned int opens;		/* reg.lock: open IAs and opens under way */
};

/* One open IA: what is behind a handle. */
struct reg_ia {
	_Atomic(DAT_IA_HANDLE) object;	/* the provider's; NULL: not open, or not yet */
	struct reg_record *record;	/* reg.lock; NULL: the slot is free */
	const void *vtable;		/* reg.lock: the first word of its object */
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
	bool ready;			/* the static registry has been read */
	bool gone;			/* the library has been torn down */
	struct conf conf;		/* constant once ready */
	struct reg_plugin *plugins;	/* likewise; the elements have rules of their own */
	unsigned int nplugins;
	struct reg_record *records;
	struct reg_record **records_tail;
	unsigned int nrecords;
	bool probed;			/* dat_registry_list_providers has named adapters */
	bool environment_told;		/* what is wrong with the environment has been told */
	struct reg_unknown *unknown;	/* names reported as unknown, see report.c */
	unsigned int nunknown;
};

extern struct registry reg;

/* What a thread is doing in the registry. */
struct reg_thread {
	struct reg_plugin *plugin;	/* whose code it is running: owns what gets registered */
	struct reg_plugin *waits_for;	/* reg.lock */
};

extern _Thread_local struct reg_thread reg_self;

/* What a consumer asks for when it opens an IA. */
struct reg_request {
	const struct reg_front *front;
	const char *name;
	unsigned int major;
	unsigned int minor;
	bool thread_safe;
};

/* The progress of a search for a provider that serves a request. Zero-filled at first. */
struct reg_search {
	const struct reg_plugin *first;	/* was loaded already, and went before its turn */
	struct reg_plugin *last;	/* the line that was tried last */
	bool again;			/* what was found before could not be opened */
};

/* catalog.c */
DAT_RETURN catalog_ready(void);
/* The calls of a front's that plugins and programs make upon the dynamic registry. */
DAT_RETURN catalog_add(const struct reg_front *front, const void *table, void (*open_func)(void),
		       const DAT_PROVIDER_INFO *info);
DAT_RETURN catalog_remove(const void *table, const DAT_PROVIDER_INFO *info);
DAT_RETURN catalog_list(const struct reg_front *front, DAT_COUNT max, DAT_COUNT *returned,
			DAT_PROVIDER_INFO *list[]);
DAT_RETURN record_acquire(const struct reg_request *rq, struct reg_search *search,
			  struct reg_record **record);
bool search_is_choice(const struct reg_request *rq);
bool search_goes_on(const struct reg_request *rq, const struct reg_search *search,
		    const struct reg_record *record);
bool plugin_is_hidden(const struct reg_plugin *p);
void record_release(struct reg_record *record);
void catalog_free_locked(void);

/* plugin.c */
int plugin_acquire_locked(struct reg_plugin *p);
void plugin_release_locked(struct reg_plugin *p);
int plugin_wait_locked(struct reg_plugin *p);
void plugin_why_locked(struct reg_plugin *p, char *why);
char *plugin_words(struct reg_plugin *p);

/* handle.c */
unsigned int ia_reserve_locked(struct reg_record *record);
void ia_publish_locked(unsigned int handle, DAT_IA_HANDLE object, const void *vtable);
void ia_drop_locked(unsigned int handle);
struct reg_ia *ia_slot(unsigned int handle);
unsigned int ia_handle_of(DAT_IA_HANDLE object);
DAT_IA_HANDLE ia_object_of_pointer(DAT_IA_HANDLE pointer);
DAT_HANDLE ia_to_consumer(DAT_HANDLE handle);
void ia_free_locked(void);

/* ia.c */
DAT_RETURN ia_request(const struct reg_request *rq, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd_handle,
		      DAT_IA_HANDLE *ia_handle);
DAT_RETURN ia_end(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS flags);
void ia_exit(void (*free_tables_locked)(void));

/* report.c */
void report_environment(void);
void report_not_found(const struct reg_request *rq, DAT_RETURN rc);
void report_lines(const struct reg_request *rq, bool served);
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
 * A thread that is cancelled must not take a lock with it: calls that load, wait or read files
 * begin with cancel_off() and end with cancel_restore(). The calls that are only passed on do
 * neither. The type goes first and comes back last: a signal of pthread_cancel() on its way to a
 * thread that can be cancelled at any instant ends it as long as the type says so, whatever the
 * state is by then.
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

/* NULL handles, small integers and misaligned values do not point to an object. */
static inline bool reg_handle_is_pointer(DAT_HANDLE handle)
{
	return REG_LIKELY((uintptr_t)handle >= REG_POINTER_MIN &&
			  !((uintptr_t)handle & (sizeof(void *) - 1)));
}

/*
 * The provider's object behind an IA handle, NULL if there is none. Acquire pairs with the release
 * in ia_publish_locked: whoever sees the object sees what the provider put into it.
 */
static inline DAT_IA_HANDLE reg_ia_object(DAT_IA_HANDLE handle)
{
	uintptr_t h = (uintptr_t)handle;
	struct reg_ia *chunk;

	if (REG_UNLIKELY(h >= REG_POINTER_MIN))
		return ia_object_of_pointer(handle);
	chunk = atomic_load_explicit(&reg.ias[h / REG_IA_CHUNK], memory_order_acquire);
	if (REG_UNLIKELY(!chunk))
		return NULL;
	return atomic_load_explicit(&chunk[h % REG_IA_CHUNK].object, memory_order_acquire);
}

#pragma GCC visibility pop

#endif
