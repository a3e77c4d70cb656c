/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of libdatp and of providers. log/datlog.h says which of them are printed, and where.
 *
 * Invariant: what can happen again and again is said once for each cause, see log_once().
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log/datlog.h"
#include "tell.h"

/* Causes that are told apart; what comes beyond them is said no more. */
#define CAUSES 64

static struct {
	_Atomic uint32_t lock;
	unsigned int count;
	uint64_t cause[CAUSES];
} said;

/* component NULL: the first word of the text */
static void print(int level, const char *component, const char *fmt, va_list args)
{
	/* what an older libdatp and libdat had for these levels */
	static const unsigned int types[] = { 0, DATLOG_TYPE_ERROR,
					      DATLOG_TYPE_ERROR | DATLOG_TYPE_GENERIC,
					      DATLOG_TYPE_PROVIDER, DATLOG_TYPE_CONSUMER };
	char *text;

	char first[64] = "";

	if (level < DATLOG_ERROR || level > DATLOG_DEBUG ||
	    !datlog_wanted((enum datlog_level)level, types[level], component))
		return;
	if (vasprintf(&text, fmt, args) < 0)
		return;
	if (!component)
		snprintf(first, sizeof(first), "%.*s", (int)strcspn(text, ": "), text);
	if (component || datlog_wanted((enum datlog_level)level, types[level], first))
		datlog_write((enum datlog_level)level, "libdatp", text);
	free(text);
}

/* Of a provider: its messages begin with its name, or the adapter's, and a colon. */
DATP_API void datp_log(int level, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	print(level, NULL, fmt, args);
	va_end(args);
}

void core_log(int level, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	print(level, "core", fmt, args);
	va_end(args);
}

/* FNV-1a */
static uint64_t hash(uint64_t so_far, const void *bytes, size_t size)
{
	const unsigned char *p = bytes;

	while (size--)
		so_far = (so_far ^ *p++) * 0x100000001b3;
	return so_far;
}

bool log_once(const char *what, const void *detail, size_t size)
{
	uint64_t cause = hash(hash(0xcbf29ce484222325, what, strlen(what)), detail, size);
	bool fresh;

	datp_lock(&said.lock);
	fresh = said.count < CAUSES;
	for (unsigned int i = 0; i < said.count && fresh; i++)
		fresh = said.cause[i] != cause;
	if (fresh)
		said.cause[said.count++] = cause;
	datp_unlock(&said.lock);
	return fresh;
}

/* The child of a fork may come from a moment when another thread held the lock. */
void log_forget(void)
{
	atomic_store_explicit(&said.lock, 0, memory_order_relaxed);
}
