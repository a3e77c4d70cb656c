/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The conventions of the command line that all tools share; cli.h states them.
 *
 * Invariant: stdout is flushed before a line goes to stderr, so that a terminal or a log which
 * takes both shows them in the order they happened.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dat/udat.h>

#include "cli.h"
#include "log/limit.h"

static struct {
	const char *command;	/* as typed, for the message about --help */
	const char *name;	/* before every message */
	const char *subcommand; /* of datctl, or NULL */
	bool quiet;		/* errors are not printed */
	bool limited;		/* only a few of them are */
	struct log_limit limit;
	cli_strerror_fn *names;	/* of return values */
} cli = { .command = "tool", .name = "tool", .names = dat_strerror };

void cli_begin(const char *name)
{
	/*
	 * so that a descriptor opened later does not take the place of a closed stdin, stdout or
	 * stderr
	 */
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			/* so that writing is still an error */
			(void)!open("/dev/null", O_RDONLY);
	cli.command = name;
	cli.name = name;
}

void cli_rename(const char *name)
{
	cli.name = name;
}

void cli_subcommand(const char *command)
{
	cli.subcommand = command;
}

int cli_help(const char *text)
{
	fputs(text, stdout);
	return CLI_OK;
}

int cli_version(void)
{
	printf("%s (OpenDAT) %s\n", cli.command, PACKAGE_VERSION);
	return CLI_OK;
}

/*
 * Returns the length of the UTF-8 character at p, or 0 if there is none: JSON contains nothing
 * else.
 */
static size_t utf8_length(const unsigned char *p)
{
	size_t length = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 :
			p[0] < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < length; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

/*
 * Returns how many bytes at p can be shown unchanged: those of one character that is not a control
 * character; or 0.
 */
static size_t shown_length(const unsigned char *p)
{
	if (p[0] < 0x20 || p[0] == 0x7f || (p[0] == 0xc2 && p[1] < 0xa0))
		return 0;
	return utf8_length(p);
}

char *cli_strdup(const char *text)
{
	char *copy = strdup(text);

	if (copy == NULL) {
		fprintf(stderr, "%s: out of memory\n", cli.name);
		exit(CLI_FAILED);
	}
	return copy;
}

char *cli_escape(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	char *result = malloc(4 * strlen(text) + 1), *to = result;
	size_t length;

	if (result == NULL) {
		fprintf(stderr, "%s: out of memory\n", cli.name);
		exit(CLI_FAILED);
	}
	for (; *p != '\0'; p += length > 0 ? length : 1) {
		length = shown_length(p);
		if (length > 0)
			to = mempcpy(to, p, length);
		else
			to += sprintf(to, "\\x%02x", *p);
	}
	*to = '\0';
	return result;
}

char *cli_vtext(const char *fmt, va_list args)
{
	char *raw, *result;

	if (vasprintf(&raw, fmt, args) < 0)
		raw = NULL;
	result = cli_escape(raw != NULL ? raw : "out of memory");
	free(raw);
	return result;
}

/*
 * Writes the message in one call and completely, because another process may write to the same
 * stderr at the same time. A C library may split what fprintf() formats for stderr into several
 * writes.
 */
static void message(const char *join, const char *end, const char *fmt, va_list args)
{
	char *text = cli_vtext(fmt, args), *line;

	fflush(stdout);
	if (asprintf(&line, "%s: %s%s%s\n", cli.name, text, join, end) >= 0) {
		fputs(line, stderr);
		free(line);
	}
	free(text);
}

int cli_usage(const char *fmt, ...)
{
	va_list args;
	char *end;

	va_start(args, fmt);
	end = cli_text("Try '%s%s%s --help'.", cli.command, cli.subcommand != NULL ? " " : "",
		       cli.subcommand != NULL ? cli.subcommand : "");
	message("\n", end, fmt, args);
	va_end(args);
	free(end);
	return CLI_USAGE;
}

__attribute__((format(printf, 1, 2))) static void note(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	message("", "", fmt, args);
	va_end(args);
}

/* Returns whether a line may be printed, after it has said how many were not. */
static bool may_print(void)
{
	uint32_t left_out = 0;

	if (cli.quiet || (cli.limited && !log_limit_pass(&cli.limit, &left_out)))
		return false;
	if (left_out > 0)
		note("%u messages before the next one are left out, because there were so many", (unsigned int)left_out);
	return true;
}

void cli_error(const char *fmt, ...)
{
	va_list args;

	if (!may_print())
		return;
	va_start(args, fmt);
	message("", "", fmt, args);
	va_end(args);
}

void cli_quiet(bool quiet)
{
	cli.quiet = quiet;
}

void cli_limit(bool limited)
{
	cli.limited = limited;
}

void cli_names_of(cli_strerror_fn *names)
{
	cli.names = names;
}

/* The types have the same numbers in both APIs. */
const char *cli_remedy(DAT_RETURN ret)
{
	switch (DAT_GET_TYPE(ret)) {
	case DAT_INSUFFICIENT_RESOURCES:
		return "ask for less, or raise the limits of this process ('ulimit -l' for "
		       "registered memory, 'ulimit -n' for open files)";
	case DAT_CONN_QUAL_IN_USE:
		return "choose another connection qualifier, or end the program that holds it";
	case DAT_INVALID_ADDRESS:
		return "give an address of the host where the peer runs, on the network of "
		       "this adapter";
	case DAT_MODEL_NOT_SUPPORTED:
		return "this adapter does not offer it; 'datctl show' prints what it offers";
	case DAT_TIMEOUT_EXPIRED:
		return "check that the peer is running, and that it can be reached";
	default:
		return NULL;
	}
}

/* Returns the names of a return value. */
static char *return_text(DAT_RETURN ret)
{
	const char *major = "unknown", *minor = "";

	if (cli.names(ret, &major, &minor) != DAT_SUCCESS)
		return cli_text("unknown return value 0x%08x", (unsigned int)ret);
	return DAT_GET_SUBTYPE(ret) != 0 ? cli_text("%s %s", major, minor) : cli_text("%s", major);
}

void cli_dat_error(DAT_RETURN ret, const char *remedy, const char *fmt, ...)
{
	char *name, *end;
	va_list args;

	if (!may_print())
		return;
	name = return_text(ret);
	if (remedy == NULL)
		remedy = cli_remedy(ret);
	end = cli_text("%s%s%s", name, remedy != NULL ? "; " : "", remedy != NULL ? remedy : "");
	va_start(args, fmt);
	message(": ", end, fmt, args);
	va_end(args);
	free(end);
	free(name);
}

void cli_open_error(DAT_RETURN ret, const char *adapter)
{
	bool limits = DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES;
	char *remedy = cli_text("'datctl check --ia %s' prints the reason, and what to do%s",
				adapter,
				limits ? "; the reason may also be a limit of this process "
					 "('ulimit -n' for open files, 'ulimit -l' for registered "
					 "memory)"
				       : "");

	cli_dat_error(ret, remedy, "dat_ia_open(\"%s\")", adapter);
	free(remedy);
}

bool cli_stays_in_process(const char *adapter, const DAT_NAMED_ATTR *attr, DAT_COUNT count)
{
	for (DAT_COUNT i = 0; attr != NULL && i < count; i++)
		if (attr[i].name != NULL && attr[i].value != NULL && strcmp(attr[i].name, "reach") == 0 &&
		    strcmp(attr[i].value, "process") == 0) {
			cli_error("the transport of adapter %s does not leave the process (its transport attribute "
				  "'reach' is 'process'), so that two processes cannot connect over it: test it with "
				  "'datconform --ia %s', or with a program that connects two endpoints of its "
				  "own, such as two.c beside the templates of the SDK",
				  adapter, adapter);
			return true;
		}
	return false;
}

int cli_finish(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	cli_error("the results could not be written to standard output: %s", strerror(errno));
	return CLI_FAILED;
}

static bool suffix_shift(const char *suffix, unsigned int *shift)
{
	switch (*suffix) {
	case '\0':
		*shift = 0;
		return true;
	case 'k':
	case 'K':
		*shift = 10;
		break;
	case 'm':
	case 'M':
		*shift = 20;
		break;
	case 'g':
	case 'G':
		*shift = 30;
		break;
	default:
		return false;
	}
	return suffix[1] == '\0';
}

bool cli_number(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	unsigned long long number;
	unsigned int shift;
	char *end;

	if (text[0] < '0' || text[0] > '9')	/* strtoull would accept signs and blanks */
		return false;
	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno != 0 || !suffix_shift(end, &shift))
		return false;
	if (number > UINT64_MAX >> shift)
		return false;
	number <<= shift;
	if (number < min || number > max)
		return false;
	*value = number;
	return true;
}

void cli_json_string(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t length;

	putchar('"');
	for (; *p != '\0'; p += length > 0 ? length : 1) {
		length = utf8_length(p);
		if (length == 0)
			printf("\\ufffd");
		else if (*p == '"' || *p == '\\')
			printf("\\%c", *p);
		else if (shown_length(p) == 0)
			/* C1 control characters: the second byte */
			printf("\\u%04x", p[length - 1]);
		else
			fwrite(p, 1, length, stdout);
	}
	putchar('"');
}

char *cli_text(const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	text = cli_vtext(fmt, args);
	va_end(args);
	return text;
}

char *cli_raw(const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0) {
		fprintf(stderr, "%s: out of memory\n", cli.name);
		exit(CLI_FAILED);
	}
	va_end(args);
	return text;
}
