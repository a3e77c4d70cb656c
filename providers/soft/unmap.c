/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mappings of peers' files that are not needed any more. A peer that has ended leaves the last reference to such a file to this
 * process, and the kernel frees all pages of the file when that goes, even if a small part of it was mapped: that takes a second or
 * so for 10 GB. The service thread and the posts of the program do not wait for it, but one thread, which ends when it has nothing
 * to do.
 */
#include "unmap.h"
#include "run.h"
#include "soft.h"
#include <stdlib.h>
#include <sys/mman.h>

static struct {
	_Atomic uint32_t lock; /* a leaf */
	struct soft_unmap *first;
	bool runs; /* the thread takes what is listed */
} unmaps;

static struct soft_unmap *next(void)
{
	struct soft_unmap *mapping;

	datp_lock(&unmaps.lock);
	mapping = unmaps.first;
	if (mapping)
		unmaps.first = mapping->next;
	else
		unmaps.runs = false;
	datp_unlock(&unmaps.lock);
	return mapping;
}

static void *run(void *arg)
{
	struct soft_unmap *mapping;

	while ((mapping = next())) {
		munmap(mapping->at, mapping->len);
		free(mapping);
	}
	return arg;
}

void soft_unmap_later(struct soft_unmap *mapping)
{
	pthread_t thread;
	bool runs;

	datp_lock(&unmaps.lock);
	mapping->next = unmaps.first;
	unmaps.first = mapping;
	runs = unmaps.runs;
	unmaps.runs = true;
	datp_unlock(&unmaps.lock);
	if (runs)
		return;
	if (soft_run(&thread, run, NULL) == 0)
		pthread_detach(thread);
	else
		run(NULL);
}

void soft_unmap_forked(void)
{
	/*
	 * If another thread had the lock when this one forked, that thread does not exist here, and may have been changing the
	 * list. What is in it stays mapped in this process
	 */
	(void)datp_trylock(&unmaps.lock);
	unmaps.first = NULL;
	unmaps.runs = false;
	datp_unlock(&unmaps.lock);
}
