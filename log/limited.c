/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of a provider that another process can provoke: datp_log() writes those that the limit of log/limit.h lets pass. */
#include "log/limited.h"
#include <datp/provider.h>
#include <stdarg.h>
#include <stdio.h>

void log_limited(struct log_limit *cause, int level, const char *fmt, ...)
{
	char text[512];
	uint32_t left_out;
	va_list args;

	if (!log_limit_pass(cause, &left_out))
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	if (left_out)
		datp_log(level, "%s (and %u more lines like this one were left out)", text, left_out);
	else
		datp_log(level, "%s", text);
}
