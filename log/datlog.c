/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of the libraries; datlog.h describes DAT_LOG and states the invariant.
 *
 * A file is opened for each message: messages are rare, and some programs close all descriptors
 * that they do not know, so that the number of a descriptor kept open could be reused for another
 * file.
 */
#include "datlog.h"
#include "line.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#define DEST_STDERR	1
#define DEST_SYSLOG	2

static struct {
	bool given;			/* DAT_LOG decides, and not the mask of DAT_DBG_TYPE */
	enum datlog_level level;
	const char *components;		/* "a,b", or NULL for all; up to the colon */
	size_t components_length;
	const char *file;		/* NULL: where dest says */
	unsigned long dest;
	bool masked;			/* DAT_DBG_TYPE is used */
	unsigned long types;
	const char *wrong;		/* the part of DAT_LOG that is not a level, or NULL */
	double begin;			/* of the process, in seconds since boot */
} setting = { .level = DATLOG_WARNING, .dest = DEST_STDERR };	/* written once */

static pthread_once_t once = PTHREAD_ONCE_INIT;

/*
 * Reads a number from the environment, in any base that C knows. Returns false if it is unset or
 * not a number.
 */
static bool env_number(const char *name, unsigned long *value)
{
	const char *s = secure_getenv(name);
	unsigned long v;
	char *end;

	if (!s || !*s)
		return false;
	v = strtoul(s, &end, 0);
	if (*end)
		return false;
	*value = v;
	return true;
}

static bool level_parse(const char *s, size_t length, enum datlog_level *level)
{
	static const char *const names[] = { "none", "error", "warning", "info", "debug" };
	int i;

	for (i = 0; i < 5; i++) {
		if (length == strlen(names[i]) && !strncmp(s, names[i], length)) {
			*level = (enum datlog_level)i;
			return true;
		}
	}
	return false;
}

static void log_parse(const char *s)
{
	size_t whole = strcspn(s, ":");
	size_t level = strcspn(s, ",:");
	const char *where = s + whole + (s[whole] == ':');

	if (!level_parse(s, level, &setting.level)) {
		setting.wrong = s;
		return;
	}
	setting.given = true;
	if (level < whole) {
		setting.components = s + level + 1;
		setting.components_length = whole - level - 1;
	}
	if (!strcmp(where, "syslog"))
		setting.dest = DEST_SYSLOG;
	else if (*where && strcmp(where, "stderr"))
		setting.file = where;
}

/* OFED's mask for its providers: 1 errors, 2 warnings, and a bit for each kind of detail. */
static enum datlog_level level_of_dapl(unsigned long types)
{
	return types & ~3ul ? DATLOG_DEBUG :
	       types & 2    ? DATLOG_WARNING :
	       types & 1    ? DATLOG_ERROR : DATLOG_NONE;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/*
 * The time when this process began. libdat and libdatp have to agree on it, so it comes from the
 * kernel; without /proc it is the time of the first message that is considered.
 */
static double process_begin(void)
{
	unsigned long long ticks = 0;
	char line[1024], *p = NULL;
	FILE *file;
	int own;

	/* whoever asks whether to log may hold locks, so the thread is not cancelled here */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &own);
	file = fopen("/proc/self/stat", "re");
	if (file && fgets(line, sizeof(line), file))
		p = strrchr(line, ')');	/* the name of the program may contain anything */
	/* The 22nd field; the parenthesis ends the second. */
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (p)
		ticks = strtoull(p + 1, NULL, 10);
	if (file)
		fclose(file);
	pthread_setcancelstate(own, NULL);
	return ticks ? (double)ticks / (double)sysconf(_SC_CLK_TCK) : now();
}

static void setting_read(void)
{
	/* The environment may change later, so what setting points at is a copy. */
	static char text[PATH_MAX + 256];
	const char *s = secure_getenv("DAT_LOG");
	unsigned long dest, types;

	setting.begin = process_begin();
	if (s && *s) {
		strncpy(text, s, sizeof(text) - 1);
		log_parse(text);
	}
	if (setting.given)
		return;
	setting.masked = env_number("DAT_DBG_TYPE", &setting.types);
	if (!setting.masked && env_number("DAPL_DBG_TYPE", &types))
		setting.level = level_of_dapl(types);
	if ((env_number("DAT_DBG_DEST", &dest) || env_number("DAPL_DBG_DEST", &dest)) &&
	    dest & (DEST_STDERR | DEST_SYSLOG))
		setting.dest = dest;
}

static bool component_listed(const char *name)
{
	const char *p = setting.components;
	const char *end = p + setting.components_length;
	size_t length = strlen(name);

	while (p < end) {
		size_t word = strcspn(p, ",:");

		if (word == length && !strncmp(p, name, length))
			return true;
		p += word + 1;
	}
	return false;
}

bool datlog_wanted(enum datlog_level level, unsigned int types, const char *component)
{
	pthread_once(&once, setting_read);
	if (setting.masked)
		return setting.types & types;
	/* a component that is named, and perhaps mistyped, must not hide why another one does not work */
	return level <= setting.level && (!component || !setting.components || level == DATLOG_ERROR ||
					  component_listed(component));
}

bool datlog_curious(void)
{
	pthread_once(&once, setting_read);
	return setting.masked || (setting.given && setting.level >= DATLOG_INFO);
}

char *datlog_complaint(void)
{
	char *text;

	pthread_once(&once, setting_read);
	if (!setting.wrong ||
	    asprintf(&text, "DAT_LOG=%s: does not begin with a level; write none, error, warning, "
			    "info or debug, as in DAT_LOG=debug,registry:/tmp/dat.log",
		     setting.wrong) < 0)
		return NULL;
	return text;
}

/*
 * Returns how many bytes at p are a printable character; 0 if it is a control character, or
 * invalid.
 */
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

/*
 * Returns a copy of text with all bytes that are not printable written as \xNN; NULL if there is no
 * memory.
 */
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

/* "2026-01-31T12:00:00.123 4711 libdat: error: text". Returns false if it could not be written. */
static bool file_write(enum datlog_level level, const char *library, const char *text)
{
	static const char *const names[] = { "", "error", "warning", "info", "debug" };
	struct timespec now;
	char stamp[32] = "";
	struct tm tm;
	struct line_guard guard; /* the file may be a pipe whose reader goes */
	bool written;
	char *line;
	int fd, n;

	clock_gettime(CLOCK_REALTIME, &now);
	if (localtime_r(&now.tv_sec, &tm))
		strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &tm);
	n = asprintf(&line, "%s.%03ld %ld %s: %s: %s\n", stamp, now.tv_nsec / 1000000,
		     (long)getpid(), library, names[level], text);
	if (n < 0)
		return false;
	line_guard_begin(&guard);
	fd = open(setting.file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
		  0644);
	written = fd >= 0 && write(fd, line, (size_t)n) == n;
	if (fd >= 0)
		close(fd);
	line_guard_end(&guard, !written);
	free(line);
	return written;
}

/*
 * Writes "libdat", or, for a user who has asked for more than errors and warnings, "libdat[4711
 * +0.012s]", so that messages of several processes and times can be distinguished.
 */
static void origin_write(char *to, size_t size, const char *library)
{
	double since = now() - setting.begin;

	if (setting.masked || setting.level >= DATLOG_INFO)
		snprintf(to, size, "%s[%ld +%.3fs]", library, (long)getpid(),
			 since > 0 ? since : 0.0);
	else
		snprintf(to, size, "%s", library);
}

/* Whoever logs may hold locks, so the thread is not cancelled in syslog(). */
static void syslog_write(enum datlog_level level, const char *origin, const char *text)
{
	int own;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &own);
	syslog(LOG_USER | (level == DATLOG_ERROR   ? LOG_ERR :
			   level == DATLOG_WARNING ? LOG_WARNING :
			   level == DATLOG_INFO	   ? LOG_INFO : LOG_DEBUG),
	       "%s: %s", origin, text);
	pthread_setcancelstate(own, NULL);
}

void datlog_write(enum datlog_level level, const char *library, const char *text)
{
	int saved = errno;
	char *shown = text_escape(text);
	char origin[64];
	bool to_file;

	if (!shown) {
		errno = saved;
		return;
	}
	pthread_once(&once, setting_read);
	origin_write(origin, sizeof(origin), library);
	to_file = setting.file && file_write(level, library, shown);
	if (!to_file && (setting.file || setting.dest & DEST_STDERR))
		line_write(origin, shown);
	if (!setting.file && setting.dest & DEST_SYSLOG)
		syslog_write(level, origin, shown);
	free(shown);
	errno = saved;
}
