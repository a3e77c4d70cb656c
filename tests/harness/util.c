/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions for tests besides assertions: patience, the depth of the run, a directory of their own, captured stderr. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

static struct {
	char *tmpdir;			/* NULL: this test has asked for none */
	pid_t tmpdir_owner;		/* a peer inherits the name, and does not remove the directory */
	int real_stderr;		/* the saved stderr while a capture is on */
	int capture_fd;			/* memfd that stands in for stderr */
	bool capturing;
	char *captured;			/* the latest result of check_stderr_end() */
} util;

unsigned int check_patience_ms(void)
{
	const char *text = getenv("CHECK_PATIENCE");
	int seconds = text ? atoi(text) : 0;

	return (unsigned int)(seconds > 0 ? seconds : 20) * 1000;
}

bool check_is_brief(void)
{
	const char *depth = getenv("CHECK_DEPTH");

	return depth && !strcmp(depth, "brief");
}

const char *check_tmpdir(void)
{
	const char *base = getenv("TMPDIR");

	if (util.tmpdir)
		return util.tmpdir;
	REQUIRE(asprintf(&util.tmpdir, "%s/opendat-check-XXXXXX", base ? base : "/tmp") > 0);
	REQUIRE(mkdtemp(util.tmpdir) != NULL);
	util.tmpdir_owner = getpid();
	return util.tmpdir;
}

void check_write(const char *name, const char *text)
{
	char path[1024];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", check_tmpdir(), name);
	file = fopen(path, "w");
	REQUIRE(file != NULL);
	fputs(text, file);
	fclose(file);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void check_stderr_begin(void)
{
	REQUIRE(!util.capturing);
	fflush(stderr);
	util.capture_fd = memfd_create("stderr", MFD_CLOEXEC);
	util.real_stderr = dup(STDERR_FILENO);
	REQUIRE(util.capture_fd >= 0 && util.real_stderr >= 0);
	REQUIRE(dup2(util.capture_fd, STDERR_FILENO) >= 0);
	util.capturing = true;
}

/* Returns what has been written so far. Does not move the file position, since others may be writing. */
static const char *captured(void)
{
	struct stat file;

	REQUIRE(util.capturing && !fstat(util.capture_fd, &file));
	free(util.captured);
	util.captured = calloc(1, (size_t)file.st_size + 1);
	if (util.captured && pread(util.capture_fd, util.captured, (size_t)file.st_size, 0) != file.st_size)
		CHECK_FAIL("what went to stderr cannot be read back");
	return util.captured ? util.captured : "";
}

bool check_stderr_holds(const char *text)
{
	fflush(stderr);
	return strstr(captured(), text) != NULL;
}

const char *check_stderr_end(void)
{
	const char *text;

	fflush(stderr);
	dup2(util.real_stderr, STDERR_FILENO);
	close(util.real_stderr);
	text = captured();
	util.capturing = false;
	close(util.capture_fd);
	return text;
}

void check_util_end(void)
{
	if (util.capturing)
		fputs(check_stderr_end(), stderr);
	free(util.captured);
	util.captured = NULL;
	if (!util.tmpdir)
		return;
	if (util.tmpdir_owner == getpid())
		nftw(util.tmpdir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(util.tmpdir);
	util.tmpdir = NULL;
}

bool check_sleeps(pid_t tid)
{
	char path[64], line[256] = "", *state;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	file = fopen(path, "r");
	if (!file)
		return false;
	/* the state is behind the name, which may contain any character */
	state = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	fclose(file);
	return state && state[1] == ' ' && state[2] == 'S';
}

int check_mappings(const char *words)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4096 + 128]; /* the longest path, and what precedes it */
	int n = 0;

	REQUIRE(maps != NULL);
	while (fgets(line, sizeof(line), maps))
		n += strstr(line, words) != NULL;
	fclose(maps);
	return n;
}
