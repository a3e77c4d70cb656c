/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The assertions. Every failure becomes one CUnit failure record, whichever thread found it: CUnit's list
 * is not safe from several threads, so it is only touched under `records`.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "internal.h"

static pthread_mutex_t records = PTHREAD_MUTEX_INITIALIZER;
static pthread_t test_thread;	/* written before the test starts any thread */

/* Defined if the program links libdat; otherwise NULL. */
extern uint32_t dat_strerror(uint32_t value, const char **major, const char **minor)
	__attribute__((weak));

void check_claim_thread(void)
{
	test_thread = pthread_self();
}

static void record(bool fatal, const char *text, const char *file, unsigned int line)
{
	check_note(file, line, text);
	pthread_mutex_lock(&records);
	CU_assertImplementation(CU_FALSE, line, text, file, "", CU_FALSE);
	pthread_mutex_unlock(&records);
	if (!fatal)
		return;
	if (pthread_equal(pthread_self(), test_thread))
		longjmp(*CU_get_current_test()->pJumpBuf, 1);
	pthread_exit(NULL);
}

void check_true(bool ok, bool fatal, const char *text, const char *file, unsigned int line)
{
	if (!ok)
		record(fatal, text, file, line);
}

void check_fail(bool fatal, const char *file, unsigned int line, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	record(fatal, text, file, line);
}

void check_int(long long got, long long want, bool fatal, const char *text, const char *file,
	       unsigned int line)
{
	if (got != want)
		check_fail(fatal, file, line, "%s: got %lld (0x%llx), wanted %lld (0x%llx)", text, got,
			   (unsigned long long)got, want, (unsigned long long)want);
}

void check_str(const char *got, const char *want, bool fatal, const char *text, const char *file,
	       unsigned int line)
{
	if (got == want || (got && want && !strcmp(got, want)))
		return;
	check_fail(fatal, file, line, "%s: got \"%s\", wanted \"%s\"", text, got ? got : "(null)",
		   want ? want : "(null)");
}

void check_has(const char *got, const char *part, bool fatal, const char *text, const char *file,
	       unsigned int line)
{
	if (!got || !strstr(got, part))
		check_fail(fatal, file, line, "%s: got \"%s\", wanted \"%s\" in it", text,
			   got ? got : "(null)", part);
}

void check_mem(const void *got, const void *want, size_t size, bool fatal, const char *text,
	       const char *file, unsigned int line)
{
	const unsigned char *g = got, *w = want;
	size_t at = 0;

	while (at < size && g[at] == w[at])
		at++;
	if (at < size)
		check_fail(fatal, file, line, "%s: byte %zu of %zu: got 0x%02x, wanted 0x%02x", text, at,
			   size, g[at], w[at]);
}

/* Returns "0x80040002 (DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP)", or without libdat the number alone. */
static const char *dat_text(uint32_t value, char *buf, size_t size)
{
	const char *major = "?", *minor = "?";

	if (dat_strerror && dat_strerror(value, &major, &minor) == 0)
		snprintf(buf, size, "0x%08x (%s, %s)", value, major, minor);
	else
		snprintf(buf, size, "0x%08x", value);
	return buf;
}

void check_dat(uint32_t got, uint32_t want, bool fatal, const char *expr, const char *want_text,
	       const char *file, unsigned int line)
{
	uint32_t mask = want & 0xffff ? 0x3fffffff : 0x3fff0000;
	char text[256];

	if ((got & mask) == (want & mask))
		return;
	check_fail(fatal, file, line, "%s: got %s, wanted %s", expr, dat_text(got, text, sizeof(text)),
		   want_text);
}

uint64_t check_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void check_nap(void)
{
	struct timespec step = { .tv_nsec = 1000000 };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &step, NULL);
}
