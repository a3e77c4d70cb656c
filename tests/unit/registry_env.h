/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For tests that need a registry of their own: libdat reads dat.conf once in a process, so each such
 * test runs in a peer, whose DAT_OVERRIDE is a file with the given text.
 */
#ifndef TESTS_UNIT_REGISTRY_ENV_H
#define TESTS_UNIT_REGISTRY_ENV_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dat/udat.h>
#include <dat/dat_registry.h>

#include "check.h"
#include "tests/mocks/mock.h"

/* Tests start in the top of the build tree, where libtool puts the mocks into .libs. */
#define MOCK_LIB(odd)	"./.libs/mock_" odd ".so"

/* A line of dat.conf: an adapter in version 1.2, not thread-safe, behind a mock. */
#define LINE(name, odd)	name " u1.2 nonthreadsafe default " MOCK_LIB(odd) " mock.1.0 \"\" \"\"\n"
#define LINE_AS(name, api, safety, lib, params) \
	name " " api " " safety " default " lib " mock.1.0 \"" params "\" \"\"\n"

struct env_job {
	const char *conf;
	void (*body)(void);
};

static inline void env_peer(void *arg)
{
	const struct env_job *job = arg;
	char path[1024];

	check_write("dat.conf", job->conf);
	snprintf(path, sizeof(path), "%s/dat.conf", check_tmpdir());
	setenv("DAT_OVERRIDE", path, 1);
	unsetenv("DAT_LOG");
	unsetenv("DAT_DBG_TYPE");
	unsetenv("DAT_DBG_DEST");
	unsetenv("DAT_PROVIDERS");
	unsetenv("DAT_CONF_PATH");
	job->body();
}

static inline void env_run(const char *conf, void (*body)(void))
{
	struct env_job job = { conf, body };

	check_tmpdir();
	check_join(check_fork(env_peer, &job));
}

/* TEST_WITH(name, text of dat.conf) { ... } */
#define TEST_WITH(name, conf)					\
	static void name##_body(void);				\
	static void name(void) { env_run(conf, name##_body); }	\
	static void name##_body(void)

static inline DAT_RETURN open_version(const char *name, DAT_UINT32 api_major, DAT_UINT32 api_minor,
				      DAT_BOOLEAN thread_safe, DAT_IA_HANDLE *ia)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	return dat_ia_openv((const DAT_NAME_PTR)name, 8, &evd, ia, api_major, api_minor,
			    thread_safe);
}

static inline DAT_RETURN open_plain(const char *name, DAT_IA_HANDLE *ia)
{
	return open_version(name, 1, 2, DAT_FALSE, ia);
}

static inline DAT_IA_HANDLE open_or_fail(const char *name)
{
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;

	REQUIRE_EQ_INT(open_plain(name, &ia), DAT_SUCCESS);
	REQUIRE(ia != DAT_HANDLE_NULL);
	return ia;
}

#define NOT_FOUND(subtype)	(DAT_CLASS_ERROR | DAT_PROVIDER_NOT_FOUND | (subtype))

static inline int lines(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/*
 * Opens `name`, which has to fail with rc and print one line with this word in it, and nothing the
 * next time.
 */
static inline void fails_saying(const char *name, DAT_RETURN rc, const char *word)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = (DAT_IA_HANDLE)0x77;
	const char *said;

	check_stderr_begin();
	CHECK_EQ_INT(dat_ia_open((const DAT_NAME_PTR)name, 8, &evd, &ia), rc);
	said = check_stderr_end();
	CHECK_EQ_INT(lines(said), 1);
	CHECK_HAS_STR(said, word);
	CHECK_HAS_STR(said, name);
	CHECK(evd == DAT_HANDLE_NULL);
	CHECK(ia == (DAT_IA_HANDLE)0x77);
	check_stderr_begin();
	CHECK_EQ_INT(dat_ia_open((const DAT_NAME_PTR)name, 8, &evd, &ia), rc);
	CHECK_EQ_STR(check_stderr_end(), "");
}

extern DAT_RETURN dats_get_ia_handle(unsigned long handle, DAT_IA_HANDLE *ia_handle);

#endif
