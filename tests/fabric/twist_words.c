/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The switches by their names. If this library is preloaded (`lab run --as`), TWIST_SWITCHES in the environment lists the switches
 * to turn on: names separated by blanks, some with a value. An unknown word ends the program, which would otherwise run over the
 * wrong device.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "twist.h"

enum kind { FLAG, NUMBER, WIDE, VALUE };

static const struct word {
	const char *name;
	void *to;
	enum kind kind;
	int value; /* VALUE: what the switch is set to; NUMBER and WIDE: added to the value in the word */
} words[] = {
	{ "reads_unsaid", &twist.reads_unsaid, FLAG, 0 },
	{ "no_srq", &twist.no_srq, FLAG, 0 },
	{ "no_srq_resize", &twist.no_srq_resize, FLAG, 0 },
	{ "no_windows", &twist.no_windows, FLAG, 0 },
	{ "windows_unmade", &twist.windows_unmade, FLAG, 0 },
	{ "no_bind", &twist.no_bind, FLAG, 0 },
	{ "no_query_qp", &twist.no_query, FLAG, 0 },
	{ "no_solicited", &twist.no_solicited, FLAG, 0 },
	{ "need_recv", &twist.needs_receives, FLAG, 0 },
	{ "no_errno", &twist.no_errno, FLAG, 0 },
	{ "first_sge", &twist.first_fatal, FLAG, 0 },
	{ "clean_on_destroy", &twist.cleans, FLAG, 0 },
	{ "trap_on_destroy", &twist.dead_fatal, FLAG, 0 },
	{ "no_fence_write", &twist.unfenced, FLAG, 0 },
	{ "no_fence_read", &twist.unfenced_reads, FLAG, 0 },
	{ "inline_mtu", &twist.inline_mtu, FLAG, 0 },
	{ "no_inline_copy", &twist.no_inline_copy, FLAG, 0 },
	{ "keys_random", &twist.keys, VALUE, TWIST_KEYS_RANDOM },
	{ "comm_est", &twist.comm_est, FLAG, 0 },
	{ "extra_event", &twist.extra_event, FLAG, 0 },
	{ "last_wqe", &twist.last_wqe, FLAG, 0 },
	{ "fatal_before_cqe", &twist.fatal_first, FLAG, 0 },
	{ "reset_on_err", &twist.held_ms, VALUE, 5 },
	{ "dead_post", &twist.dead_post, NUMBER, 0 },
	{ "flush_never_sq", &twist.flush, VALUE, TWIST_FLUSH_NEVER_SQ },
	{ "flush_part", &twist.flush, VALUE, TWIST_FLUSH_PART },
	{ "flush_by_async", &twist.flush, VALUE, TWIST_FLUSH_BY_ASYNC },
	{ "flush_late", &twist.flush_late_ms, NUMBER, 0 },
	{ "rd_atom", &twist.reads, NUMBER, 0 },
	{ "max_sge", &twist.sge, NUMBER, 0 },
	{ "read_sge", &twist.read_sge, NUMBER, 0 },
	{ "max_qp_wr", &twist.places, NUMBER, 0 },
	{ "max_cqe", &twist.max_cqe, NUMBER, 0 },
	{ "inline", &twist.inlines, NUMBER, 1 },
	{ "inline_says", &twist.inlines_told, NUMBER, 1 },
	{ "counts", &twist.says_reads, NUMBER, 1 },
	{ "msg", &twist.message, WIDE, 1 },
	{ "mr_limit", &twist.longest, WIDE, 0 },
	{ "e2big", &twist.deepest, NUMBER, 0 },
	{ "wide", &twist.wide, WIDE, 0 },
	{ "no_resize", &twist.resize_fails, VALUE, EOPNOTSUPP },
	{ "busy_resize", &twist.resize_fails, VALUE, EBUSY },
	{ "says_minus", &twist.says, VALUE, TWIST_MINUS },
	{ "says_minus1", &twist.says, VALUE, TWIST_MINUS_ONE },
	{ "einval_full", &twist.says, VALUE, TWIST_EINVAL_FULL },
};

_Noreturn static void unknown(const char *word)
{
	fprintf(stderr, "twist: TWIST_SWITCHES: no switch is called \"%s\", or its value is wrong; these are:", word);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		fprintf(stderr, " %s%s", words[i].name, words[i].kind == NUMBER || words[i].kind == WIDE ? "=N" : "");
	fputc('\n', stderr);
	_exit(2);
}

/* Turns a switch on. Some switches hold the value in the word plus one, because their 0 means that they are off. */
static void turn_on(const struct word *word, const char *text)
{
	bool wants = word->kind == NUMBER || word->kind == WIDE;
	unsigned long long value;
	char *end = NULL;

	if (wants != (text != NULL))
		unknown(word->name);
	value = text ? strtoull(text, &end, 0) : 0;
	if (text && (!*text || *end || (word->kind == NUMBER && value > INT32_MAX - 1)))
		unknown(word->name);
	switch (word->kind) {
	case FLAG:
		atomic_store((_Atomic bool *)word->to, true);
		break;
	case VALUE:
		atomic_store((_Atomic int *)word->to, word->value);
		break;
	case NUMBER:
		atomic_store((_Atomic int *)word->to, (int)value + word->value);
		break;
	case WIDE:
		atomic_store((_Atomic uint64_t *)word->to, value + (uint64_t)word->value);
		break;
	}
}

static void take(char *text)
{
	char *value = strchr(text, '=');

	if (value)
		*value++ = 0;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(words[i].name, text)) {
			turn_on(&words[i], value);
			return;
		}
	unknown(text);
}

/* Runs before main(), because the program does not know of this library. */
__attribute__((constructor)) static void read_switches(void)
{
	const char *list = getenv("TWIST_SWITCHES");
	char *copy = list ? strdup(list) : NULL, *rest = NULL;

	for (char *one = copy ? strtok_r(copy, " ", &rest) : NULL; one; one = strtok_r(NULL, " ", &rest))
		take(one);
	free(copy);
}
