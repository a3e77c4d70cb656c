/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages. By default errors only, on stderr; DAT_DBG_TYPE is a mask of the types wanted, and
 * DAT_DBG_DEST where they go: 1 standard output, 2 syslog, 3 both.
 *
 * Invariant: a message is one line and one write; standard output is touched only if DAT_DBG_DEST
 * says so.
 */
#include "reg.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#define DEST_STDOUT	1
#define DEST_SYSLOG	2

struct diag_settings {
	unsigned long types;
	unsigned long dest;		/* 0: stderr */
	bool is_explicit;		/* DAT_DBG_TYPE is set */
};

/* A number in the environment, in any base C knows. Returns false when unset or no number. */
static bool env_number(const char *name, unsigned long *value)
{
	const char *s = secure_getenv(name);
	char *end;
	unsigned long v;

	if (!s || !*s)
		return false;
	v = strtoul(s, &end, 0);
	if (*end)
		return false;
	*value = v;
	return true;
}

static struct diag_settings settings = { .types = DIAG_ERROR };
static pthread_once_t settings_once = PTHREAD_ONCE_INIT;

static void settings_read(void)
{
	settings.is_explicit = env_number("DAT_DBG_TYPE", &settings.types);
	if (!env_number("DAT_DBG_DEST", &settings.dest))
		settings.dest = 0;
}

static const struct diag_settings *settings_get(void)
{
	pthread_once(&settings_once, settings_read);
	return &settings;
}

bool diag_wanted(enum diag_type type)
{
	return settings_get()->types & type;
}

/* Has the user chosen what to see? */
bool diag_explicit(void)
{
	return settings_get()->is_explicit;
}

void diag_print(enum diag_type type, const char *fmt, ...)
{
	const struct diag_settings *s = settings_get();
	char *text;
	va_list ap;
	int n;

	if (!diag_wanted(type))
		return;
	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if (s->dest & DEST_SYSLOG)
		syslog(LOG_USER | LOG_DEBUG, "libdat: %s", text);
	if (s->dest & DEST_STDOUT)
		fprintf(stdout, "libdat: %s\n", text);
	if (!(s->dest & (DEST_SYSLOG | DEST_STDOUT)))
		fprintf(stderr, "libdat: %s\n", text);
	free(text);
}
