/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which lines of dat.conf serve a program of DAT 2.0: those that say u2.0, and those for 1.2 whose
 * library is one of OpenDAT's. Each case has a registry of its own, which a process of its own reads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dat2/udat.h>

#define LINE(name, api, library) name " " api " nonthreadsafe default " library " x.1.0 \"\" \"\"\n"
#define SOFT(name, api)		 LINE(name, api, SOFT_PLUGIN)
#define TRACE(name, api, beneath) name " " api " nonthreadsafe default " TRACE_PLUGIN " x.1.0 \"" beneath "\" \"\"\n"
/* A library that is not there: a line with it is never used. */
#define NOWHERE(name, api)	 LINE(name, api, "/nowhere/libnothing.so")

/* A registry, and what it means for a program of 2.0. */
static const struct lines {
	const char *test;
	const char *conf;
	const char *drop_in;	/* or NULL */
	const char *providers;	/* DAT_PROVIDERS, or NULL */
	const char *listed;	/* the names of the list, in its order, with a blank behind each */
	const char *opens;	/* the name of an adapter that opens, or NULL */
	const char *refused;	/* one that does not, or NULL */
	DAT_RETURN subtype;	/* the error's */
	const char *says;	/* words of the message to the user about that, or NULL */
} cases[] = {
	{ .test = "a line for 1.2 with a library of ours serves 2.0",
	  .conf = SOFT("soft0", "u1.2"),
	  .listed = "soft0 ",
	  .opens = "soft0",
	  .refused = "soft1",
	  .subtype = DAT_NAME_NOT_REGISTERED },
	{ .test = "a line for 2.0 decides alone what its name means",
	  .conf = SOFT("soft0", "u1.2") NOWHERE("soft0", "u2.0"),
	  .listed = "soft0 ",
	  .refused = "soft0",
	  .subtype = DAT_NAME_NOT_REGISTERED,
	  .says = "dat.conf:2: soft0: library /nowhere/libnothing.so" },
	{ .test = "two lines of one name, for 1.2 and for 2.0, are one adapter for 2.0",
	  .conf = SOFT("soft0", "u2.0") NOWHERE("soft0", "u1.2"),
	  .listed = "soft0 ",
	  .opens = "soft0" },
	{ .test = "lines that say 2.0 come first in the list",
	  .conf = SOFT("first", "u1.2") SOFT("second", "u2.0") SOFT("third", "u1.2") SOFT("fourth", "u2.0"),
	  .listed = "second fourth first third ",
	  .opens = "third" },
	{ .test = "a line for 2.0 that is skipped decides nothing",
	  .conf = SOFT("soft0", "u1.2") "soft0 u2.0 nonthreadsafe nondefault libnothing.so x.1.0 \"\" \"\"\n",
	  .listed = "soft0 ",
	  .opens = "soft0" },
	{ .test = "a plugin for 1.2 that is not ours is not offered",
	  .conf = LINE("foreign0", "u1.2", FOREIGN12_PLUGIN),
	  .listed = "",
	  .refused = "foreign0",
	  .subtype = DAT_MAJOR_NOT_FOUND,
	  .says = "offers u1.2 nonthreadsafe, the program asks for u2.0" },
	{ .test = "one that only has the name of ours is not used",
	  .conf = LINE("foreign0", "u1.2", "@/libdatsoft.so"),
	  .listed = "foreign0 ",
	  .refused = "foreign0",
	  .subtype = DAT_NAME_NOT_REGISTERED,
	  .says = "is not OpenDAT's, so its line serves programs of uDAPL 1.2 only" },
	{ .test = "a wrapper's line for 1.2 serves 2.0 if the adapter beneath does",
	  .conf = TRACE("trace0", "u1.2", " soft0 file=@/trace") SOFT("soft0", "u1.2"),
	  .listed = "trace0 soft0 ",
	  .opens = "trace0" },
	{ .test = "so does one over an adapter whose line says 2.0, and over another wrapper",
	  .conf = SOFT("soft0", "u2.0") TRACE("trace0", "u1.2", "soft0 file=@/trace")
		  TRACE("trace1", "u1.2", "trace0 file=@/trace1"),
	  .listed = "soft0 trace0 trace1 ",
	  .opens = "trace1" },
	{ .test = "a wrapper's line over an adapter for 1.2 alone is not offered",
	  .conf = TRACE("trace0", "u1.2", "foreign0") LINE("foreign0", "u1.2", FOREIGN12_PLUGIN),
	  .listed = "",
	  .refused = "trace0",
	  .subtype = DAT_MAJOR_NOT_FOUND },
	{ .test = "one that wraps nothing is refused with its reason",
	  .conf = TRACE("trace0", "u1.2", "soft") SOFT("soft0", "u1.2"),
	  .listed = "trace0 soft0 ",
	  .opens = "soft0",
	  .refused = "trace0",
	  .subtype = DAT_NAME_NOT_REGISTERED,
	  .says = "soft: no such adapter" },
	{ .test = "a circle of wrappers is refused with its reason",
	  .conf = TRACE("trace0", "u1.2", "trace1") TRACE("trace1", "u1.2", "trace0"),
	  .listed = "trace0 trace1 ",
	  .refused = "trace0",
	  .subtype = DAT_NO_SUBTYPE,
	  .says = "would be beneath itself" },
	{ .test = "a wrapper's line for 2.0 decides alone what its name means",
	  .conf = TRACE("trace0", "u1.2", "soft0") NOWHERE("trace0", "u2.0") SOFT("soft0", "u1.2"),
	  .listed = "trace0 soft0 ",
	  .opens = "soft0",
	  .refused = "trace0",
	  .subtype = DAT_NAME_NOT_REGISTERED },
	{ .test = "a section of a drop-in serves 2.0, and one that says 2.0 comes first",
	  .conf = "",
	  .drop_in = "[plain]\nlibrary = " SOFT_PLUGIN "\n[said]\nlibrary = " SOFT_PLUGIN "\napi_version = u2.0\n",
	  .listed = "said plain ",
	  .opens = "plain" },
	{ .test = "what DAT_PROVIDERS hides is hidden from 2.0 as well",
	  .conf = SOFT("soft0", "u1.2") SOFT("soft1", "u1.2"),
	  .providers = "^soft0",
	  .listed = "soft1 ",
	  .opens = "soft1",
	  .refused = "soft0",
	  .subtype = DAT_NAME_NOT_REGISTERED },
	{ .test = "a line for 2.0 that DAT_PROVIDERS hides is not replaced by one for 1.2",
	  .conf = SOFT("soft0", "u1.2") LINE("soft0", "u2.0", "/nowhere/libdapltwo.so"),
	  .providers = "^two",
	  .listed = "",
	  .refused = "soft0",
	  .subtype = DAT_MAJOR_NOT_FOUND },
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

static char folder[] = "/tmp/opendat-lines-XXXXXX";

/* Writes text into a file of the folder, with the folder's path in place of each @. Returns 0 on success. */
static int file_write(const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	if (file == NULL)
		return -1;
	for (; *text != '\0'; text++)
		if (*text == '@')
			fputs(folder, file);
		else
			fputc(*text, file);
	return fclose(file);
}

static int registry_write(const struct lines *l)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/dat.conf", folder);
	setenv("DAT_OVERRIDE", path, 1);
	if (l->providers != NULL)
		setenv("DAT_PROVIDERS", l->providers, 1);
	else
		unsetenv("DAT_PROVIDERS");
	return file_write("dat.conf", l->conf) != 0 ||
	       file_write("dat.conf.d/x.ini", l->drop_in != NULL ? l->drop_in : "") != 0;
}

/* Returns whether the list of the registry is the expected one, all of it for 2.0. */
static int lists(const char *wanted)
{
	DAT_PROVIDER_INFO info[8], *list[8];
	DAT_COUNT n = 0;
	char text[1024] = "";
	size_t used = 0;

	for (int i = 0; i < 8; i++)
		list[i] = &info[i];
	if (dat_registry_list_providers(8, &n, list) != DAT_SUCCESS)
		return 0;
	for (DAT_COUNT i = 0; i < n; i++) {
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%.64s ", info[i].ia_name);
		if (info[i].dapl_version_major != 2 || info[i].dapl_version_minor != 0)
			printf("# %s is listed for %u.%u\n", info[i].ia_name, info[i].dapl_version_major,
			       info[i].dapl_version_minor);
	}
	if (strcmp(text, wanted) == 0)
		return 1;
	printf("# the list is '%s', not '%s'\n", text, wanted);
	return 0;
}

static DAT_RETURN open_and_close(const char *adapter)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_PROVIDER_ATTR attr;
	DAT_RETURN ret = dat_ia_open((DAT_NAME_PTR)adapter, 8, &async, &ia);

	if (ret != DAT_SUCCESS)
		return ret;
	memset(&attr, 0, sizeof(attr));
	ret = dat_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr);
	if (ret == DAT_SUCCESS && attr.dapl_version_major != 2)
		printf("# %s is open for %u\n", adapter, attr.dapl_version_major);
	dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	return ret;
}

/* Directs the messages to the user to a file. Returns 0 on success. */
static int messages_catch(void)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/messages", folder);
	setenv("DAT_LOG", "warning", 1);
	return freopen(path, "w+", stderr) == NULL;
}

/* Returns whether the words are in the first message, which it prints if they are not. */
static int says(const char *words)
{
	char line[1024] = "";

	rewind(stderr);
	if (fgets(line, sizeof(line), stderr) != NULL && strstr(line, words) != NULL)
		return 1;
	printf("# the first message does not say '%s', but: %s\n", words, line);
	return 0;
}

static int holds(const struct lines *l)
{
	DAT_RETURN wanted = (DAT_RETURN)DAT_CLASS_ERROR | (DAT_RETURN)DAT_PROVIDER_NOT_FOUND | l->subtype, ret;
	int good = 1;

	if (l->opens != NULL && (ret = open_and_close(l->opens)) != DAT_SUCCESS) {
		printf("# %s does not open: 0x%08x\n", l->opens, ret);
		good = 0;
	}
	if (l->refused != NULL && (ret = open_and_close(l->refused)) != wanted) {
		printf("# %s returns 0x%08x, not 0x%08x\n", l->refused, ret, wanted);
		good = 0;
	}
	if (l->says != NULL && !says(l->says))
		good = 0;
	/* this comes last, because a program that has got a name from the list is not told why it does not open */
	return lists(l->listed) && good;
}

/* Returns whether the case holds, in a process of its own. */
static int in_child(const struct lines *l)
{
	int status = -1;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) /* exit() runs the libraries' destructors */
		exit(registry_write(l) == 0 && messages_catch() == 0 && holds(l) ? 0 : 1);
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
		printf("# the process ended with status 0x%x\n", (unsigned int)status);
		return 0;
	}
	return WEXITSTATUS(status) == 0;
}

static int folder_make(void)
{
	char path[256];

	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/dat.conf.d", folder);
	if (mkdir(path, 0700) != 0)
		return -1;
	snprintf(path, sizeof(path), "%s/libdatsoft.so", folder);
	return symlink(FOREIGN12_PLUGIN, path);
}

static void folder_remove(void)
{
	static const char *const names[] = { "dat.conf", "dat.conf.d/x.ini", "libdatsoft.so", "messages" };
	char path[256];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/dat.conf.d", folder);
	rmdir(path);
	rmdir(folder);
}

int main(void)
{
	int failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("1..%d\n", (int)CASES);
	if (folder_make() != 0) {
		printf("Bail out! cannot make %s\n", folder);
		return 99;
	}
	for (size_t i = 0; i < CASES; i++) {
		int good = in_child(&cases[i]);

		printf("%sok %d - %s\n", good ? "" : "not ", (int)i + 1, cases[i].test);
		failed |= !good;
	}
	folder_remove();
	return failed;
}
