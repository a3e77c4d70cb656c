/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the reason why a plugin was refused. The caller that had the plugin initialised asks for
 * it, and prints it in one message with the file and the line that named the plugin. Invariant:
 * each thread has its own, of its latest datp_plugin_init() or attempt to open an adapter.
 */
#include <stdarg.h>
#include <stdio.h>

#include "log.h"
#include "refuse.h"

static _Thread_local char refusal[1024];

void plugin_refuse_begin(void)
{
	refusal[0] = '\0';
}

void plugin_refuse(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(refusal, sizeof(refusal), fmt, args);
	va_end(args);
	/* for a registry that does not ask */
	core_log(4, "%s", refusal);
}

void plugin_refuse_words(const char *words)
{
	snprintf(refusal, sizeof(refusal), "%s", words);
}

DATP_API const char *datp_plugin_why(void)
{
	return refusal[0] ? refusal : NULL;
}
