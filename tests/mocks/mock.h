/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory that the mock plugins of datp-mocks(7) and a test share. One source is built many
 * times, and each binary has the name of what is unusual about it.
 *
 * The test program defines
 *	struct mock mock = { .lock = PTHREAD_MUTEX_INITIALIZER };
 * and is linked with -rdynamic, so that the plugins find it. In a program without it the mocks work,
 * and count nothing.
 */
#ifndef OPENDAT_MOCK_H
#define OPENDAT_MOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include <dat/udat.h>

#define MOCK_WORDS	16

struct mock {
	/* Written by the plugin; a field that is not atomic is written under the lock. */
	pthread_mutex_t lock;
	atomic_int inits;
	atomic_int finis;
	atomic_int opens;
	atomic_int closes;
	atomic_int running;		/* inits and finis under way at this moment */
	atomic_int overlaps;		/* how often one began while another was under way */
	DAT_RETURN init_open;		/* reenter: what the open of an IA within init returned */
	DAT_RETURN init_list;		/* reenter: what the list of adapters within init returned */
	DAT_RETURN add;			/* what the last dat_registry_add_provider returned */
	DAT_RETURN remove;		/* what the last dat_registry_remove_provider returned */
	char params[256];		/* instance data of the last init */
	char name[DAT_NAME_MAX_LENGTH];	/* IA name of the last init */
	DAT_PVOID object;		/* the object of the IA opened last */
	const void *vtable;		/* the table with which that object begins */
	int slot;			/* of the last call: its place in DAT_PROVIDER */
	unsigned int nwords;		/* its arguments, each in one word or two */
	uint64_t words[MOCK_WORDS];

	/* Written by the test. */
	DAT_RETURN answer;		/* what calls on an open IA return */
	_Atomic(void (*)(const char *name)) init_hook;	/* called within init */
	void (*close_hook)(void);	/* called within the close of an IA */
};

extern struct mock mock __attribute__((weak));

/* An object of a mock. The vtable comes first, as the binary contract requires. */
struct mock_object {
	const void *vtable;
	DAT_EVD_HANDLE async_evd;
};

#endif
