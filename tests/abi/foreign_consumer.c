/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A uDAPL program as it may have been compiled anywhere, for 1.2 with the generated foreign header
 * alone: it runs on our library and through it on the foreign plugin of the same API. Each function of the
 * standard is called twice, once for success and once for an error; arguments, handles and return
 * value have to come through unchanged, but for the IA handle, which libdat translates.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <foreign_dat.h>
#include "foreign_log.h"

/* An error of the plugin's own choice, which libdat must pass on unchanged. */
#define FOREIGN_ERROR	(DAT_CLASS_ERROR | DAT_MODEL_NOT_SUPPORTED | DAT_RESOURCE_SRQ)

struct foreign_ends {
	DAT_IA_HANDLE ia;		/* as the consumer knows it */
	void *object;			/* the same, as the plugin knows it */
	struct foreign_log *log;
};

static int tests;
static int failed;
static int differs;

static void report(const char *name)
{
	printf("%sok %d - %s\n", differs ? "not " : "", ++tests, name);
	failed += differs;
	differs = 0;
}

static void expect(int holds, const char *what)
{
	if (holds)
		return;
	printf("# %s\n", what);
	differs = 1;
}

static void foreign_begin(const struct foreign_ends *ends, DAT_RETURN answer)
{
	ends->log->answer = answer;
	ends->log->calls = 0;
	ends->log->slot = -1;
}

static void foreign_returned(const struct foreign_ends *ends, DAT_RETURN status, int slot,
			     int arguments)
{
	if (status != ends->log->answer) {
		printf("# returned 0x%08x, the plugin 0x%08x\n", status, ends->log->answer);
		differs = 1;
	}
	if (ends->log->calls != 1 || ends->log->slot != slot ||
	    ends->log->arguments != arguments) {
		printf("# %u calls, the last to slot %d with %d arguments, not slot %d with %d\n",
		       ends->log->calls, ends->log->slot, ends->log->arguments, slot, arguments);
		differs = 1;
	}
}

static void foreign_passed(const struct foreign_ends *ends, int i, const char *name,
			   const void *wanted, size_t size)
{
	if (ends->log->size[i] == size && memcmp(ends->log->bytes[i], wanted, size) == 0)
		return;
	printf("# the plugin got another %s\n", name);
	differs = 1;
}

static void foreign_made(const struct foreign_ends *ends, const char *name, DAT_HANDLE made)
{
	if (made == (ends->log->answer == DAT_SUCCESS ? ends->object : NULL))
		return;
	printf("# %s came back as %p, the plugin has %p\n", name, made, ends->object);
	differs = 1;
}

#include <foreign_calls.h>

/* dat.conf for this run alone; the file is gone before the tests begin to matter to anyone. */
static int write_conf(char *path)
{
	int fd = mkstemp(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (!f)
		return -1;
	fprintf(f, "foreign0 u%d.%d nonthreadsafe default %s foreign.1.0 "
		"\"foreign instance \\\"7\\\"\" \"\"\n", DAT_VERSION_MAJOR, DAT_VERSION_MINOR,
		FOREIGN_PLUGIN);
	return fclose(f);
}

static void lists(void)
{
	DAT_PROVIDER_INFO info = { .ia_name = "" };
	DAT_PROVIDER_INFO *list[1] = { &info };
	DAT_COUNT n = -1;

	expect(dat_registry_list_providers(1, &n, list) == DAT_SUCCESS, "the list is refused");
	expect(n == 1 && strcmp(info.ia_name, "foreign0") == 0, "foreign0 is not listed");
	expect(info.dapl_version_major == DAT_VERSION_MAJOR &&
	       info.dapl_version_minor == DAT_VERSION_MINOR && info.is_thread_safe == DAT_FALSE, "not listed as dat.conf has it");
	expect(dlsym(RTLD_DEFAULT, "foreign_log") == NULL, "listing loads the plugin");
	report("a foreign program lists the foreign provider");
}

static void opens(struct foreign_ends *ends)
{
	static char name[] = "foreign0";
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	char *passed;
	DAT_COUNT qlen;

	expect(dat_ia_open(name, 17, &evd, &ends->ia) == DAT_SUCCESS, "the open is refused");
	ends->log = dlsym(RTLD_DEFAULT, "foreign_log");
	if (!ends->log) {
		expect(0, "the plugin's symbols are not global");
		report("a foreign program opens the foreign provider");
		return;
	}
	ends->object = ends->log->object;
	expect(ends->log->inits == 1, "dat_provider_init was not called once");
	expect(ends->log->instance_right, "the instance data came out different");
	expect(ends->log->slot == 2, "ia_open was not called last");
	memcpy(&passed, ends->log->bytes[0], sizeof(passed));
	memcpy(&qlen, ends->log->bytes[1], sizeof(qlen));
	expect(passed == name && qlen == 17, "name or queue length came out different");
	expect(evd == ends->object, "the asynchronous EVD is not the plugin's");
	expect(ends->ia != ends->object && (size_t)ends->ia < 4096, "the IA is no small number");
	report("a foreign program opens the foreign provider");
}

static void refuses(void)
{
	static char name[] = "foreign1";
	static int untouched;
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = &untouched;

	expect(DAT_GET_TYPE(dat_ia_open(name, 8, &evd, &ia)) == DAT_PROVIDER_NOT_FOUND,
	       "an unknown name is not DAT_PROVIDER_NOT_FOUND");
	expect(evd == DAT_HANDLE_NULL && ia == &untouched, "a failed open returned handles");
	report("a foreign program is told of an unknown name");
}

/* The three calls that take any handle have to know the consumer's number for an IA. */
static void knows_ia(const struct foreign_ends *ends)
{
	DAT_CONTEXT context = { .as_64 = 0x1122334455667788 };
	DAT_HANDLE_TYPE type;

	foreign_begin(ends, DAT_SUCCESS);
	foreign_returned(ends, dat_set_consumer_context(ends->ia, context), 5, 2);
	foreign_passed(ends, 0, "IA", &ends->object, sizeof(ends->object));
	foreign_passed(ends, 1, "context", &context, sizeof(context));
	foreign_begin(ends, DAT_SUCCESS);
	foreign_returned(ends, dat_get_consumer_context(ends->ia, &context), 6, 2);
	foreign_passed(ends, 0, "IA", &ends->object, sizeof(ends->object));
	foreign_begin(ends, DAT_SUCCESS);
	foreign_returned(ends, dat_get_handle_type(ends->ia, &type), 7, 2);
	foreign_passed(ends, 0, "IA", &ends->object, sizeof(ends->object));
	report("calls that take any handle take that of an IA");
}

#if DAT_VERSION_MAJOR >= 2
/* The calls of extensions are passed on with their arguments. */
static void extends(const struct foreign_ends *ends)
{
	int op = 0x77, number = 123456;

	foreign_begin(ends, DAT_SUCCESS);
	foreign_returned(ends, dat_extension_op(ends->ia, op, number), 80, 3);
	foreign_passed(ends, 0, "IA", &ends->object, sizeof(ends->object));
	foreign_passed(ends, 1, "call", &op, sizeof(op));
	foreign_passed(ends, 2, "argument", &number, sizeof(number));
	foreign_begin(ends, FOREIGN_ERROR);
	foreign_returned(ends, dat_extension_op(ends->object, op, number), 80, 3);
	foreign_passed(ends, 0, "object", &ends->object, sizeof(ends->object));
	expect(DAT_GET_TYPE(dat_extension_op(NULL, op, number)) == DAT_INVALID_HANDLE,
	       "a call about no object is not DAT_INVALID_HANDLE");
	report("dat_extension_op reaches a foreign plugin unchanged");
}

/* A query loads the plugin by a name, and its handle is the plugin's own. */
static void queries(struct foreign_ends *ends)
{
	static char name[] = "foreign0", other[] = "foreign1";
	DAT_HANDLE made = NULL;
	int op = 0x1000, number = 4711;
	char *passed;

	foreign_begin(ends, DAT_SUCCESS);
	foreign_returned(ends, dat_extension_op(NULL, op, name, &made, number), 80, 3);
	memcpy(&passed, ends->log->bytes[0], sizeof(passed));
	expect(passed == name, "the name is not in the handle's place");
	foreign_passed(ends, 2, "argument", &number, sizeof(number));
	expect(made == ends->object, "the handle is not the plugin's");
	expect(DAT_GET_TYPE(dat_extension_op(NULL, op, other, &made, number)) ==
	       DAT_PROVIDER_NOT_FOUND, "an unknown name is not DAT_PROVIDER_NOT_FOUND");
	expect(DAT_GET_TYPE(dat_extension_op(NULL, op, NULL, &made, number)) ==
	       DAT_INVALID_PARAMETER, "no name is not DAT_INVALID_PARAMETER");
	expect(DAT_GET_TYPE(dat_extension_op(NULL, op, name, NULL, number)) ==
	       DAT_INVALID_PARAMETER, "no place for a handle is not DAT_INVALID_PARAMETER");
	report("a query is opened by a name");

	op = 0x2000;
	expect(DAT_GET_TYPE(dat_extension_op(NULL, op, number)) == DAT_INVALID_HANDLE,
	       "no handle is not DAT_INVALID_HANDLE");
	foreign_begin(ends, FOREIGN_ERROR);
	foreign_returned(ends, dat_extension_op(made, op, number), 80, 3);
	foreign_begin(ends, DAT_SUCCESS);
	foreign_returned(ends, dat_extension_op(made, op, number), 80, 3);
	foreign_passed(ends, 0, "handle", &ends->object, sizeof(ends->object));
	report("and closed by its handle");
}
#endif

static void closes(const struct foreign_ends *ends)
{
	static int finished;
	struct foreign_log *log = ends->log;

	log->finished = &finished;
	foreign_begin(ends, FOREIGN_ERROR);
	expect(dat_ia_close(ends->ia, DAT_CLOSE_GRACEFUL_FLAG) == FOREIGN_ERROR,
	       "the plugin's refusal is lost");
	expect(finished == 0, "a refused close ends the plugin");
	foreign_begin(ends, DAT_SUCCESS);
	expect(dat_ia_close(ends->ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS,
	       "the close is refused");
	expect(finished == 1, "dat_provider_fini was not called once");
	expect(DAT_GET_TYPE(dat_ia_close(ends->ia, DAT_CLOSE_ABRUPT_FLAG)) == DAT_INVALID_HANDLE,
	       "a closed IA can be closed again");
	report("a foreign program closes the foreign provider");
}

int main(void)
{
	char conf[] = "/tmp/opendat-foreign-XXXXXX";
	struct foreign_ends ends = { .log = NULL };
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (write_conf(conf) != 0) {
		printf("Bail out! cannot write %s\n", conf);
		return 99;
	}
	setenv("DAT_OVERRIDE", conf, 1);
	lists();
	unlink(conf);
	opens(&ends);
	if (!ends.log) {
		printf("Bail out! the foreign plugin was not loaded\n");
		return 1;
	}
	refuses();
	for (i = 0; i < sizeof(foreign_calls) / sizeof(foreign_calls[0]); i++) {
		char name[128];

		foreign_calls[i].run(&ends, DAT_SUCCESS);
		foreign_calls[i].run(&ends, FOREIGN_ERROR);
		snprintf(name, sizeof(name), "%s reaches a foreign plugin unchanged",
			 foreign_calls[i].name);
		report(name);
	}
	knows_ia(&ends);
#if DAT_VERSION_MAJOR >= 2
	extends(&ends);
	queries(&ends);
#endif
	closes(&ends);
	printf("1..%d\n", tests);
	return failed != 0;
}
