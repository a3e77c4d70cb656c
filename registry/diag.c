/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registry's messages. log/datlog.h says which of them are printed, and where.
 *
 * Invariant: a DAT_LOG that cannot be parsed is reported once, with the first message that is to be
 * printed.
 */
#include "reg.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "log/datlog.h"

static const char component[] = "registry";

static pthread_once_t complained = PTHREAD_ONCE_INIT;

static void complain(void)
{
	char *text = datlog_complaint();

	if (text)
		datlog_write(DATLOG_WARNING, "libdat", text);
	free(text);
}

static enum datlog_level level_of(enum diag_type type)
{
	switch (type) {
	case DIAG_ERROR:
		return DATLOG_ERROR;
	case DIAG_GENERIC:
	case DIAG_SR:
		return DATLOG_INFO;
	default:
		return DATLOG_DEBUG;
	}
}

bool diag_wanted(enum diag_type type)
{
	pthread_once(&complained, complain);
	return datlog_wanted(level_of(type), type, component);
}

bool diag_wanted_about(enum diag_type type, const char *adapter)
{
	return diag_wanted(type) || datlog_wanted(level_of(type), type, adapter);
}

/* Returns true if the user has raised the level of messages. */
bool diag_explicit(void)
{
	return datlog_curious();
}

static void print(int level, const char *fmt, va_list ap)
{
	char *text;

	if (vasprintf(&text, fmt, ap) < 0)
		return;
	datlog_write(level, "libdat", text);
	free(text);
}

/* Prints a warning: something works, but perhaps not as the user expects. */
void diag_warn(const char *fmt, ...)
{
	va_list ap;

	pthread_once(&complained, complain);
	if (!datlog_wanted(DATLOG_WARNING, DIAG_ERROR, component))
		return;
	va_start(ap, fmt);
	print(DATLOG_WARNING, fmt, ap);
	va_end(ap);
}

void diag_print(enum diag_type type, const char *fmt, ...)
{
	va_list ap;

	if (!diag_wanted(type))
		return;
	va_start(ap, fmt);
	print(level_of(type), fmt, ap);
	va_end(ap);
}

void diag_print_about(enum diag_type type, const char *adapter, const char *fmt, ...)
{
	va_list ap;

	if (!diag_wanted_about(type, adapter))
		return;
	va_start(ap, fmt);
	print(level_of(type), fmt, ap);
	va_end(ap);
}
