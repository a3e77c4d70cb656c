/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of libdatp and of providers. log/datlog.h says which of them are printed, and where.
 *
 * Invariant: a message that could recur is printed once for each cause, see log_once(). If a
 * provider fails to open an adapter, its messages are not printed but passed to libdat, which knows
 * whether the program asked for that adapter by name.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "log/datlog.h"
#include "refuse.h"

/* The number of causes in a table of log_once(); a cause for which the table has no room is not logged. */
#define CAUSES 64
/*
 * Causes of peers: the latest ones, so that a peer that causes one after the other does not
 * suppress another's.
 */
#define PEER_CAUSES 16

struct causes {
	unsigned int count;
	uint64_t cause[CAUSES];
};

static struct {
	_Atomic uint32_t lock;
	/*
	 * Errors and warnings have a table of their own. A program at level debug may have a refused post on each of a
	 * hundred endpoints, which fill the other table, and a later warning is printed nevertheless.
	 */
	struct causes grave, minor;
	unsigned int peer_count;
	uint64_t peer_cause[PEER_CAUSES];
} said;

static struct {
	_Atomic uint32_t lock; /* no other lock is taken under it */
	struct log_name *first;
} names;

/* A message that is kept until the end of an open. */
struct buffered {
	struct buffered *next;
	int level;
	char *text;
};

static _Thread_local struct {
	bool on;
	struct buffered *first, **last;
} buffered;

/* ------------------------------------------------------------------ components */

void log_name_add(struct log_name *name)
{
	datp_lock(&names.lock);
	name->next = names.first;
	names.first = name;
	datp_unlock(&names.lock);
}

void log_name_remove(struct log_name *name)
{
	struct log_name **at;

	datp_lock(&names.lock);
	for (at = &names.first; *at && *at != name; at = &(*at)->next)
		;
	if (*at)
		*at = name->next;
	datp_unlock(&names.lock);
}

/*
 * Returns true if the user has asked for messages that begin with this word. An adapter's messages
 * are its provider's, too, and a provider's message without an adapter's name concerns each of its
 * adapters.
 */
static bool word_wanted(enum datlog_level level, unsigned int type, const char *word)
{
	const struct log_name *n;
	bool wanted = datlog_wanted(level, type, word);

	if (wanted)
		return true;
	datp_lock(&names.lock);
	for (n = names.first; n && !wanted; n = n->next) {
		if (!strcmp(n->adapter, word))
			wanted = datlog_wanted(level, type, n->provider);
		else if (!strcmp(n->provider, word))
			wanted = datlog_wanted(level, type, n->adapter);
	}
	datp_unlock(&names.lock);
	return wanted;
}

/* The values that an older libdatp and libdat had for the levels. */
static const unsigned int types[] = { 0, DATLOG_TYPE_ERROR, DATLOG_TYPE_ERROR | DATLOG_TYPE_GENERIC,
				      DATLOG_TYPE_PROVIDER, DATLOG_TYPE_CONSUMER };

bool log_wanted(int level)
{
	return level >= DATLOG_ERROR && level <= DATLOG_DEBUG &&
	       datlog_wanted((enum datlog_level)level, types[level], NULL);
}

/* component: one that the message has besides the first word of its text, or NULL */
static void text_print(int level, const char *component, const char *text)
{
	char first[DAT_NAME_MAX_LENGTH];

	if (!log_wanted(level))
		return;
	snprintf(first, sizeof(first), "%.*s", (int)strcspn(text, ": "), text);
	if ((component && datlog_wanted((enum datlog_level)level, types[level], component)) ||
	    word_wanted((enum datlog_level)level, types[level], first))
		datlog_write((enum datlog_level)level, "libdatp", text);
}

static void print(int level, const char *component, const char *fmt, va_list args)
{
	char *text;

	if (!log_wanted(level) || vasprintf(&text, fmt, args) < 0)
		return;
	text_print(level, component, text);
	free(text);
}

/* ------------------------------------------------------------------ while an adapter is opened */

void log_buffer(void)
{
	buffered.on = true;
	buffered.first = NULL;
	buffered.last = &buffered.first;
}

static void buffer_message(int level, const char *fmt, va_list args)
{
	struct buffered *h = malloc(sizeof(*h));

	if (!h)
		return;
	*h = (struct buffered){ .level = level };
	if (vasprintf(&h->text, fmt, args) < 0) {
		free(h);
		return;
	}
	*buffered.last = h;
	buffered.last = &h->next;
}

/*
 * Returns the text after the names before it, which the caller that passes it on has printed
 * already.
 */
static const char *text_proper(const char *text, const struct log_name *name)
{
	const char *const fronts[] = { name->provider, "adapter ", name->adapter };
	const char *after;

	for (int i = 0; i < 3; i++) {
		if (strncmp(text, fronts[i], strlen(fronts[i])) != 0)
			continue;
		after = text + strlen(fronts[i]);
		if (i == 1)
			text = after;
		else if (!strncmp(after, ": ", 2))
			text = after + 2;
	}
	return text;
}

void log_buffer_end(const struct log_name *name, bool opened)
{
	struct buffered *h, *next;
	int worst = DATLOG_DEBUG;
	bool passed_on; /* libdat's messages are enabled, so it prints what has to be printed */

	buffered.on = false;
	passed_on = !opened && (datlog_wanted(DATLOG_ERROR, DATLOG_TYPE_ERROR, "registry") ||
				datlog_wanted(DATLOG_ERROR, DATLOG_TYPE_ERROR, name->adapter));
	for (h = buffered.first; h; h = next) {
		next = h->next;
		if (!opened && h->level < worst) {
			worst = h->level;
			plugin_refuse_words(text_proper(h->text, name));
		}
		text_print(passed_on ? DATLOG_DEBUG : h->level, NULL, h->text);
		free(h->text);
		free(h);
	}
}

/* ------------------------------------------------------------------ */

/* For providers: a message begins with the provider's or the adapter's name, and a colon. */
DATP_API void datp_log(int level, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (buffered.on && (level == DATLOG_ERROR || level == DATLOG_WARNING))
		buffer_message(level, fmt, args);
	else
		print(level, NULL, fmt, args);
	va_end(args);
}

/* For libdatp: a message begins with the adapter's name if it is about one. */
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

static uint64_t cause_of(const char *what, const void *detail, size_t size)
{
	return hash(hash(0xcbf29ce484222325, what, strlen(what)), detail, size);
}

bool log_once_of_peer(const char *what, const void *detail, size_t size)
{
	uint64_t cause = cause_of(what, detail, size);
	bool fresh = true;

	datp_lock(&said.lock);
	for (unsigned int i = 0; i < PEER_CAUSES && fresh; i++)
		fresh = said.peer_cause[i] != cause;
	if (fresh)
		said.peer_cause[said.peer_count++ % PEER_CAUSES] = cause;
	datp_unlock(&said.lock);
	return fresh;
}

bool log_once(int level, const char *what, const void *detail, size_t size)
{
	struct causes *table = level <= DATLOG_WARNING ? &said.grave : &said.minor;
	uint64_t cause = cause_of(what, detail, size);
	bool fresh;

	datp_lock(&said.lock);
	fresh = table->count < CAUSES;
	for (unsigned int i = 0; i < table->count && fresh; i++)
		fresh = table->cause[i] != cause;
	if (fresh)
		table->cause[table->count++] = cause;
	datp_unlock(&said.lock);
	return fresh;
}

/* A child may be forked while another thread of the parent holds a lock. */
void log_forget(void)
{
	atomic_store_explicit(&said.lock, 0, memory_order_relaxed);
	atomic_store_explicit(&names.lock, 0, memory_order_relaxed);
}
