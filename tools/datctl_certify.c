/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datctl certify IA: runs the programs that show what works on an adapter, and writes what they print into one file.
 *
 * Invariant: each program runs in a process of its own, one after the other, and the file holds its whole output and how it has
 * ended, also if it fails, crashes or takes too long. The last lines of the file are a summary. datconform prints its results at
 * its end, so it is told to come to it before it would be ended. No program outlives datctl.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "dat20.h"
#include "datctl.h"

const char datctl_certify_help[] =
	"Usage: datctl certify [OPTION...] IA\n"
	"Find out what works on the adapter IA, and write it into one file that can be sent: the\n"
	"output of 'datctl report', 'datctl show IA', 'datctl ping IA', 'datperf --ia IA' and\n"
	"'datconform --ia IA', with its verdicts as JSON. This takes some minutes. The file has\n"
	"addresses and names of adapters, as 'datctl report' has: read it before you send it.\n"
	"\n"
	"  --api VERSION       as programs of uDAPL 1.2 or 2.0 (default 1.2, and 2.0 for an adapter\n"
	"                      that has lines for 2.0 only)\n"
	"  --output FILE       write this file (default certify-IA.txt, and certify-IA-2.0.txt for 2.0)\n"
	"  --only GLOB         test only these clauses of datconform\n"
	"  --patience SECONDS  how long an event may take in the tests, for slow or busy hosts: 1 to 600\n"
	"                      (default: that of each program, 5 to 20)\n"
	"  --timeout SECONDS   for each of the programs (default 3600)\n"
	"\n"
	"Exit status: 0 all programs succeeded, 1 one did not, or the file cannot be written.\n";

enum { SECONDS = 3600, PATIENCE = 600, REPORTS = 60, LOOK_MS = 10, ARGUMENTS = 16, WIDTH = 68, LAST_LINE = 200 };

struct certify {
	const char *adapter, *output, *only, *patience;
	bool by_20; /* as programs of uDAPL 2.0 */
	uint64_t seconds; /* that each program may take */
	char folder[PATH_MAX]; /* where the programs are: that of datctl itself */
	int fd; /* of the file, which is read, too */
	char *summary; /* a line for each program that has run, malloced */
	unsigned int failed; /* programs that did not succeed */
};

/* ------------------------------------------------------------------ one program */

/* Writes to the file; an error shows when it is closed, or in what the programs write. */
static bool put(const struct certify *c, const char *text)
{
	size_t length = strlen(text);

	while (length > 0) {
		ssize_t done = write(c->fd, text, length);

		if (done < 0 && errno != EINTR)
			return false;
		text += done > 0 ? done : 0;
		length -= done > 0 ? (size_t)done : 0;
	}
	return true;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/*
 * Runs the program in this process. What it prints, and what libraries print, goes to the file in the order of the writes.
 *
 * The process leads a group of its own, so that the program's processes are ended with it. A signal of the terminal does not reach
 * that group, so the program gets SIGKILL when datctl ends, and its processes when it ends, because they ask for that as well.
 */
_Noreturn static void become(const struct certify *c, char **argv, pid_t parent)
{
	char *path = NULL;
	int null;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(c->fd, STDOUT_FILENO) < 0 || dup2(c->fd, STDERR_FILENO) < 0)
		_exit(127);
	if (asprintf(&path, "%s/%s", c->folder, argv[0]) > 0)
		execv(path, argv);
	/* not beside datctl: where the shell would find it */
	execvp(argv[0], argv);
	dprintf(STDERR_FILENO, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* Waits for the process, and ends it after the time for it. Returns its status as waitpid() gives it. */
static int await(const struct certify *c, pid_t pid, bool *late)
{
	struct timespec pause = { .tv_nsec = LOOK_MS * 1000000L };
	uint64_t until = now_ms() + c->seconds * 1000;
	int status = 0;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (!*late && now_ms() >= until) {
			*late = true;
			/* its group: datconform and datperf have processes of their own */
			kill(-pid, SIGKILL);
		}
		nanosleep(&pause, NULL);
	}
	return status;
}

/* Returns a malloced copy of the last line that the program has printed, or NULL if it has printed nothing. */
static char *last_line(const struct certify *c)
{
	char text[LAST_LINE + 1];
	off_t end = lseek(c->fd, 0, SEEK_END), at = end > LAST_LINE ? end - LAST_LINE : 0;
	ssize_t length = pread(c->fd, text, LAST_LINE, at);
	char *line;

	while (length > 0 && text[length - 1] == '\n')
		length--;
	if (length <= 0)
		return NULL;
	text[length] = '\0';
	line = strrchr(text, '\n');
	line = line != NULL ? line + 1 : text;
	/* the heading: it has printed nothing */
	return strncmp(line, "==== ", 5) != 0 ? cli_text("%s", line) : NULL;
}

/* Returns how the program has ended, malloced. */
static char *ended(int status, bool late, uint64_t ms)
{
	double s = (double)ms / 1000;

	if (late)
		return cli_text("it was ended after %.1f s", s);
	if (WIFSIGNALED(status))
		return cli_text("signal %d (%s) after %.1f s", WTERMSIG(status), strsignal(WTERMSIG(status)), s);
	return cli_text("exit status %d after %.1f s", WEXITSTATUS(status), s);
}

/* Returns the arguments as one line, malloced. */
static char *line_of(char **argv)
{
	char *line = cli_strdup("");

	for (; *argv != NULL; argv++) {
		char *longer = cli_text("%s%s%s", line, *line != '\0' ? " " : "", *argv);

		free(line);
		line = longer;
	}
	return line;
}

/* Adds a line about a program to the summary, and prints it. */
static void sum_up(struct certify *c, const char *line, const char *how)
{
	char *longer = NULL;

	printf("%s\n", how);
	if (asprintf(&longer, "%s%-*s %s\n", c->summary != NULL ? c->summary : "", WIDTH, line, how) < 0)
		return;
	free(c->summary);
	c->summary = longer;
}

/* Returns a malloced text: how datconform has ended, and its last line, which sums up its results. Frees `how`. */
static char *with_verdict(const struct certify *c, char *how)
{
	char *verdict = last_line(c), *longer;

	if (verdict == NULL)
		return how;
	longer = cli_text("%s: %s", how, verdict);
	free(verdict);
	free(how);
	return longer;
}

/* Runs a program of OpenDAT, and writes its output. Returns false if the file cannot be written, or no process can be had. */
static bool run(struct certify *c, char **argv)
{
	char *line = line_of(argv), *heading = cli_raw("\n==== %s\n", line), *how, *end;
	uint64_t begun = now_ms();
	bool late = false, good;
	pid_t self = getpid(), pid;
	int status;

	printf("%-*s ", WIDTH, line);
	fflush(stdout);
	good = put(c, heading);
	free(heading);
	pid = good ? fork() : -1;
	if (pid == 0)
		become(c, argv, self);
	if (pid < 0) {
		int why = errno;

		printf("not run\n");
		free(line);
		cli_error("certify: %s: %s", good ? argv[0] : c->output, strerror(why));
		return false;
	}
	setpgid(pid, pid); /* here too, because either process may run first */
	status = await(c, pid, &late);
	how = ended(status, late, now_ms() - begun);
	if (strcmp(argv[0], "datconform") == 0)
		how = with_verdict(c, how);
	good = status == 0 && !late;
	c->failed += !good;
	sum_up(c, line, how);
	free(line);
	end = cli_raw("==== %s\n", how);
	good = put(c, end);
	if (!good)
		cli_error("certify: %s: %s", c->output, strerror(errno));
	free(end);
	free(how);
	return good;
}

/* ------------------------------------------------------------------ all programs */

/* Runs a program as one of the API: PROGRAM, the option for 2.0, and then the arguments that are not NULL. */
static bool run_by_api(struct certify *c, char **argv)
{
	char *with[ARGUMENTS], **next = with;

	*next++ = *argv++;
	/* datctl has its command first */
	if (strcmp(with[0], "datctl") == 0)
		*next++ = *argv++;
	if (c->by_20) {
		*next++ = (char *)"--api";
		*next++ = (char *)"2.0";
	}
	while (*argv != NULL)
		*next++ = *argv++;
	*next = NULL;
	return run(c, with);
}

/* Returns how many seconds datconform gets to run its tests. The rest of its time is for the reports. */
static uint64_t time_to_judge(const struct certify *c)
{
	uint64_t rest = c->seconds / 2 < REPORTS ? c->seconds / 2 : REPORTS;

	return c->seconds - rest;
}

static bool run_all(struct certify *c)
{
	char *ia = (char *)(uintptr_t)c->adapter, *only = (char *)(uintptr_t)c->only;
	char *seconds = (char *)(uintptr_t)c->patience, *deadline = cli_text("%llu", (unsigned long long)time_to_judge(c));
	char *timeout = seconds ? (char *)"--timeout" : NULL;
	char *report[] = { (char *)"datctl", (char *)"report", NULL };
	char *programs[][ARGUMENTS - 2] = {
		{ (char *)"datctl", (char *)"show", ia },
		{ (char *)"datctl", (char *)"ping", ia, timeout, seconds },
		/* by time, because a count of messages takes minutes where the adapter or the machine is slow */
		{ (char *)"datperf", (char *)"--ia", ia, (char *)"--duration", (char *)"0.3", (char *)"--warmup", (char *)"0",
		  timeout, seconds },
		{ (char *)"datconform", (char *)"--ia", ia, (char *)"--json", (char *)"-", (char *)"--deadline", deadline },
	};
	char **last = programs[sizeof(programs) / sizeof(programs[0]) - 1] + 7;
	bool good;

	if (seconds) {
		*last++ = (char *)"--patience";
		*last++ = seconds;
	}
	if (only) {
		*last++ = (char *)"--only";
		*last++ = only;
	}

	good = run(c, report);
	for (size_t i = 0; good && i < sizeof(programs) / sizeof(programs[0]); i++)
		good = run_by_api(c, programs[i]);
	free(deadline);
	return good;
}

/* Finds the folder of this program. Other programs of the same version are there, whatever PATH says. */
static void find_folder(struct certify *c)
{
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	c->folder[0] = '\0';
	if (length < 0)
		return;
	path[length] = '\0';
	snprintf(c->folder, sizeof(c->folder), "%s", dirname(path));
}

/* Returns the name of the file if none is given, malloced. A character that has a meaning in file names becomes a '_'. */
static char *usual_output(const char *adapter, bool by_20)
{
	char *name = NULL;

	if (asprintf(&name, "certify-%s%s.txt", adapter, by_20 ? "-2.0" : "") < 0)
		return cli_strdup("certify.txt");
	for (char *c = name; *c != '\0'; c++)
		if (!isalnum((unsigned char)*c) && strchr("-._", *c) == NULL)
			*c = '_';
	return name;
}

/* Writes lines that belong to no program. Returns false, and says why, if that fails. */
static bool put_own(const struct certify *c, const char *text)
{
	if (put(c, text))
		return true;
	cli_error("certify: %s: %s", c->output, strerror(errno));
	return false;
}

/* Writes the first line: what is tested, by which version, and when. */
static bool begin(const struct certify *c)
{
	time_t now = time(NULL);
	char when[32] = "", *line, *whole;
	struct tm utc;
	bool good;

	if (gmtime_r(&now, &utc) != NULL)
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M UTC", &utc);
	line = cli_text("datctl certify%s %s, OpenDAT %s, %s", c->by_20 ? " --api 2.0" : "", c->adapter, PACKAGE_VERSION, when);
	whole = cli_raw("%s\n", line);
	good = put_own(c, whole);
	free(whole);
	free(line);
	return good;
}

static int certify(struct certify *c)
{
	bool good;

	find_folder(c);
	/* no descriptor of it is left to the programs but their output; two writers append to one file */
	c->fd = open(c->output, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
	if (c->fd < 0) {
		cli_error("certify: %s: %s; name another file with --output", c->output, strerror(errno));
		return CLI_FAILED;
	}
	good = begin(c) && run_all(c) && put_own(c, "\n==== summary\n") && put_own(c, c->summary != NULL ? c->summary : "");
	if (close(c->fd) != 0 && good) {
		cli_error("certify: %s: %s", c->output, strerror(errno));
		good = false;
	}
	if (!good)
		return CLI_FAILED;
	printf("%s is written: read it, and send it\n", c->output);
	if (c->failed == 0)
		return CLI_OK;
	cli_error("certify: %u of the programs did not succeed; the file says why", c->failed);
	return CLI_FAILED;
}

int datctl_certify(int argc, char **argv)
{
	struct certify c = { .seconds = SECONDS };
	const char *api = NULL;
	bool options = true;
	unsigned int major;
	uint64_t seconds;
	char *usual = NULL;
	int status;

	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (options && strcmp(argv[i], "--") == 0) {
			options = false;
		} else if (options && (strcmp(argv[i], "--output") == 0 || strcmp(argv[i], "--only") == 0)) {
			if (*value == '\0')
				return cli_usage("certify: %s: its argument is missing", argv[i]);
			*(argv[i][3] == 'u' ? &c.output : &c.only) = value;
			i++;
		} else if (options && strcmp(argv[i], "--api") == 0) {
			api = value;
			i++;
		} else if (options && strcmp(argv[i], "--patience") == 0) {
			if (!cli_number(value, 1, PATIENCE, &seconds))
				return cli_usage("certify: --patience: '%s' is not a number of seconds from 1 to %d",
						 value, PATIENCE);
			c.patience = value;
			i++;
		} else if (options && strcmp(argv[i], "--timeout") == 0) {
			if (!cli_number(value, 1, 86400, &c.seconds))
				return cli_usage("certify: --timeout: '%s' is not a number of seconds", value);
			i++;
		} else if (options && argv[i][0] == '-') {
			return datctl_unknown_option("certify", argv[i]);
		} else if (c.adapter == NULL) {
			c.adapter = argv[i];
		} else {
			return cli_usage("certify: '%s' is one argument too many", argv[i]);
		}
	}
	if (c.adapter == NULL)
		return cli_usage("certify: the name of an adapter is missing");
	if (api == NULL)
		api = dat20_only(c.adapter) ? "2.0" : "1.2";
	if (!datctl_api(api, &major))
		return cli_usage("certify: --api: " DATCTL_NO_API, api);
	c.by_20 = major == 2;
	if (c.output == NULL)
		c.output = usual = usual_output(c.adapter, c.by_20);
	status = certify(&c);
	free(c.summary);
	free(usual);
	return status;
}
