/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages. By default errors only, on stderr; DAT_DBG_TYPE is a mask of the types wanted, and
 * DAT_DBG_DEST where they go: 1 standard output, 2 syslog, 3 both.
 *
 * Invariant: a message is one line and one write, and what a file or a library has put into it
 * cannot steer the terminal; standard output is touched only if DAT_DBG_DEST says so.
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

/* How many bytes at p are a character that can be shown as it is; 0: it is a control, or none. */
static size_t shown_length(const unsigned char *p)
{
	size_t n = p[0] < 0x20 ? 0 : p[0] < 0x7f ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 :
		   p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
	size_t i;

	for (i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return p[0] == 0xc2 && p[1] < 0xa0 ? 0 : n;	/* U+0080 to U+009f are controls too */
}

/* A copy of text with all that is not shown written as \xNN; NULL: no memory. */
static char *text_escape(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	char *copy = malloc(4 * strlen(text) + 1);
	char *to = copy;
	size_t n;

	if (!copy)
		return NULL;
	for (; *p; p += n ? n : 1) {
		n = shown_length(p);
		if (n)
			to = mempcpy(to, p, n);
		else
			to += sprintf(to, "\\x%02x", *p);
	}
	*to = '\0';
	return copy;
}

void diag_print(enum diag_type type, const char *fmt, ...)
{
	const struct diag_settings *s = settings_get();
	char *raw, *text;
	va_list ap;
	int n;

	if (!diag_wanted(type))
		return;
	va_start(ap, fmt);
	n = vasprintf(&raw, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	text = text_escape(raw);
	free(raw);
	if (!text)
		return;
	if (s->dest & DEST_SYSLOG)
		syslog(LOG_USER | LOG_DEBUG, "libdat: %s", text);
	if (s->dest & DEST_STDOUT)
		fprintf(stdout, "libdat: %s\n", text);
	if (!(s->dest & (DEST_SYSLOG | DEST_STDOUT)))
		fprintf(stderr, "libdat: %s\n", text);
	free(text);
}
