/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages for the administrator. DAT_DBG_TYPE is a mask as in libdat: 1 errors (the default), 2
 * general, 0x10 provider calls, 0x20 consumer calls; DAT_DBG_DEST: 1 stderr (the default), 2
 * syslog, 3 both. Standard output belongs to the program and is never written to.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>

#include "core.h"

enum { DEST_STDERR = 1, DEST_SYSLOG = 2 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static unsigned long type_mask, dest_mask; /* written once */

static unsigned long number_of(const char *name, unsigned long otherwise)
{
	const char *text = getenv(name);
	char *end;
	unsigned long value;

	if (!text)
		return otherwise;
	value = strtoul(text, &end, 0);
	return end == text ? otherwise : value;
}

static void read_environment(void)
{
	type_mask = number_of("DAT_DBG_TYPE", 1);
	dest_mask = number_of("DAT_DBG_DEST", DEST_STDERR);
}

void datp_log(int level, const char *fmt, ...)
{
	static const unsigned long bit_of[] = { 0x1, 0x1, 0x2, 0x10, 0x20 };
	int saved = errno;
	char line[512];
	va_list args;

	pthread_once(&once, read_environment);
	if (level < 1 || level > 4 || !(type_mask & bit_of[level]))
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	/* One call a message, so that those of several threads do not mix. */
	if (dest_mask & DEST_STDERR)
		fprintf(stderr, "libdatp: %s\n", line);
	if (dest_mask & DEST_SYSLOG)
		syslog(LOG_USER | (level == 1 ? LOG_ERR : LOG_DEBUG), "libdatp: %s", line);
	errno = saved;
}
