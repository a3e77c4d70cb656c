/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the provider behind a handle that may be any number: one that no call has written, or one
 * that points to memory that is not mapped. A system call reads the first word, and fails if it
 * cannot.
 *
 * Invariant: a page is read directly only if an object of a live provider was seen on it since an
 * IA was last closed. So the system call is made once for a page, and not for each call.
 */
#include "front.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE_SHIFT	12		/* for 4 KiB, the smallest page size */
#define PAGES		1024

/*
 * Pages on which objects were seen, by page number; 0 if the entry is empty. Relaxed: only the
 * numbers are compared.
 */
static _Atomic uintptr_t pages[PAGES];

/* Reads the word at an aligned address. Returns false if it cannot be read. */
static bool word_read(const void *address, const DAT_PROVIDER **word)
{
	struct iovec to = { .iov_base = word, .iov_len = sizeof(*word) };
	struct iovec from = { .iov_base = (void *)address, .iov_len = sizeof(*word) };
	int saved = errno;
	ssize_t n = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
	bool unmapped = n < 0 && errno == EFAULT;

	errno = saved;
	if (n == (ssize_t)sizeof(*word))
		return true;
	if (unmapped)
		return false;
	/* The kernel refuses such reads here: trust the handle, as the data path does. */
	*word = __atomic_load_n((const DAT_PROVIDER *const *)address, __ATOMIC_RELAXED);
	return true;
}

const DAT_PROVIDER *probe_provider(DAT_HANDLE handle)
{
	uintptr_t page = (uintptr_t)handle >> PAGE_SHIFT;
	_Atomic uintptr_t *known = &pages[page % PAGES];
	const DAT_PROVIDER *p;

	if (atomic_load_explicit(known, memory_order_relaxed) == page)
		return reg_provider(handle);
	if (!reg_handle_is_pointer(handle) || !word_read(handle, &p))
		return NULL;
	p = vtables_find(p);
	if (p)
		atomic_store_explicit(known, page, memory_order_relaxed);
	return p;
}

/*
 * Forgets all pages, because the memory of an IA's objects may be unmapped when the IA is closed.
 */
void probe_forget(void)
{
	int i;

	for (i = 0; i < PAGES; i++)
		atomic_store_explicit(&pages[i], 0, memory_order_relaxed);
}
