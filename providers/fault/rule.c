/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rules: what to break, how, and when. A rule has the form TARGET:ACTION[:WHEN[,WHEN]...],
 * without blanks:
 *
 *	TARGET	a call without its dat_, as in ep_create; request or recv: a completion that succeeded
 *	ACTION	return=ERROR delay=MS disconnect lost status=STATUS event=EVENT async=EVENT
 *	WHEN	nth=N after=N every=N times=N p=0.01
 *
 * Invariant: a rule that would do what the standard does not allow is refused, and the refusal
 * lists what is allowed.
 */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"

struct name {
	const char *name;
	uint32_t value;
};

#define N(prefix, name)                                                                            \
	{                                                                                          \
#name, (uint32_t)prefix##name                                                      \
	}
static const struct name errors[] = {
	N(DAT_, ABORT),
	N(DAT_, CONN_QUAL_IN_USE),
	N(DAT_, INSUFFICIENT_RESOURCES),
	N(DAT_, INTERNAL_ERROR),
	N(DAT_, INVALID_HANDLE),
	N(DAT_, INVALID_PARAMETER),
	N(DAT_, INVALID_STATE),
	N(DAT_, LENGTH_ERROR),
	N(DAT_, MODEL_NOT_SUPPORTED),
	N(DAT_, PROVIDER_NOT_FOUND),
	N(DAT_, PRIVILEGES_VIOLATION),
	N(DAT_, PROTECTION_VIOLATION),
	N(DAT_, QUEUE_EMPTY),
	N(DAT_, QUEUE_FULL),
	N(DAT_, TIMEOUT_EXPIRED),
	N(DAT_, INVALID_ADDRESS),
	N(DAT_, INTERRUPTED_CALL),
	N(DAT_, CONN_QUAL_UNAVAILABLE),
	{ NULL, 0 },
};
static const struct name request_statuses[] = {
	N(DAT_DTO_ERR_, TRANSPORT),
	N(DAT_DTO_ERR_, LOCAL_EP),
	N(DAT_DTO_ERR_, BAD_RESPONSE),
	N(DAT_DTO_ERR_, REMOTE_ACCESS),
	N(DAT_DTO_ERR_, REMOTE_RESPONDER),
	N(DAT_DTO_ERR_, RECEIVER_NOT_READY),
	{ NULL, 0 },
};
static const struct name recv_statuses[] = {
	N(DAT_DTO_ERR_, TRANSPORT),
	N(DAT_DTO_ERR_, LOCAL_EP),
	N(DAT_DTO_ERR_, PARTIAL_PACKET),
	{ NULL, 0 },
};
static const struct name connect_events[] = {
	N(DAT_CONNECTION_EVENT_, PEER_REJECTED),
	N(DAT_CONNECTION_EVENT_, NON_PEER_REJECTED),
	N(DAT_CONNECTION_EVENT_, TIMED_OUT),
	N(DAT_CONNECTION_EVENT_, UNREACHABLE),
	{ NULL, 0 },
};
static const struct name accept_events[] = {
	N(DAT_CONNECTION_EVENT_, ACCEPT_COMPLETION_ERROR),
	{ NULL, 0 },
};
static const struct name async_events[] = {
	N(DAT_ASYNC_ERROR_, IA_CATASTROPHIC),
	N(DAT_ASYNC_ERROR_, PROVIDER_INTERNAL_ERROR),
	N(DAT_ASYNC_ERROR_, TIMED_OUT),
	{ NULL, 0 },
};
static const struct name ep_async_events[] = {
	N(DAT_ASYNC_ERROR_, IA_CATASTROPHIC),
	N(DAT_ASYNC_ERROR_, PROVIDER_INTERNAL_ERROR),
	N(DAT_ASYNC_ERROR_, TIMED_OUT),
	N(DAT_ASYNC_ERROR_, EP_BROKEN),
	{ NULL, 0 },
};
static const struct name evd_async_events[] = {
	N(DAT_ASYNC_ERROR_, IA_CATASTROPHIC),
	N(DAT_ASYNC_ERROR_, PROVIDER_INTERNAL_ERROR),
	N(DAT_ASYNC_ERROR_, TIMED_OUT),
	N(DAT_ASYNC_ERROR_, EVD_OVERFLOW),
	{ NULL, 0 },
};
static const struct name dto_async_events[] = {
	N(DAT_ASYNC_ERROR_, IA_CATASTROPHIC),
	N(DAT_ASYNC_ERROR_, PROVIDER_INTERNAL_ERROR),
	N(DAT_ASYNC_ERROR_, TIMED_OUT),
	N(DAT_ASYNC_ERROR_, EP_BROKEN),
	N(DAT_ASYNC_ERROR_, EVD_OVERFLOW),
	{ NULL, 0 },
};
#undef N

/*
 * Stores the value of a name. If `names` does not have the name, refuses the rule with the list of
 * those that it has, and returns false.
 */
static bool name_value(const struct name *names, const char *name, const char *rule,
		       uint32_t *value)
{
	char known[256] = "";
	size_t len;

	for (; names->name; names++) {
		if (!strcmp(names->name, name)) {
			*value = names->value;
			return true;
		}
		len = strlen(known);
		snprintf(known + len, sizeof(known) - len, " %s", names->name);
	}
	datp_wrap_refuse("rule \"%s\": the standard does not allow %s there; allowed are%s", rule,
			 name, known);
	return false;
}

static bool number(const char *text, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno && *value;
}

static bool parse_target(struct fault_rule *rule, const char *target)
{
	if (!strcmp(target, "request") || !strcmp(target, "recv")) {
		rule->target = *target == 'r' && target[2] == 'q' ? FAULT_REQUEST : FAULT_RECV;
		return true;
	}
	rule->target = FAULT_CALL;
	for (int id = 0; id < DATP_CALL_COUNT; id++) {
		rule->call = (enum datp_call)id;
		if (!strcmp(datp_call_name(rule->call), target))
			return true;
	}
	return false;
}

static bool is_ep_call(const struct fault_rule *rule)
{
	const char *name = datp_call_name(rule->call);

	return rule->target == FAULT_CALL && !strncmp(name, "ep_", 3) && !strstr(name, "create") &&
	       rule->call != DATP_CALL_ep_free;
}

/* Returns the asynchronous errors that can be about the object of the call, or of the completion. */
static const struct name *async_names(const struct fault_rule *rule)
{
	const char *name = datp_call_name(rule->call);

	if (rule->target != FAULT_CALL)
		return dto_async_events;
	if (is_ep_call(rule))
		return ep_async_events;
	if (!strncmp(name, "evd_", 4) && rule->call != DATP_CALL_evd_create &&
	    rule->call != DATP_CALL_evd_free)
		return evd_async_events;
	return async_events;
}

static bool parse_return(struct fault_rule *rule, const char *value, const char *text)
{
	if (rule->target != FAULT_CALL || !fault_may_return(rule->call, value)) {
		datp_wrap_refuse(
			"rule \"%s\": the standard does not allow %s there; allowed are: %s", text,
			value, rule->target == FAULT_CALL ? fault_allowed(rule->call) : "none");
		return false;
	}
	rule->action = FAULT_RETURN;
	return name_value(errors, value, text, &rule->value);
}

static bool parse_event(struct fault_rule *rule, const char *value, const char *text)
{
	rule->action = FAULT_EVENT;
	if (rule->target == FAULT_CALL && rule->call == DATP_CALL_cr_accept)
		return name_value(accept_events, value, text, &rule->value);
	if (rule->target == FAULT_CALL &&
	    (rule->call == DATP_CALL_ep_connect || rule->call == DATP_CALL_ep_dup_connect))
		return name_value(connect_events, value, text, &rule->value);
	datp_wrap_refuse(
		"rule \"%s\": only ep_connect, ep_dup_connect and cr_accept end with an event; "
		"name one of them",
		text);
	return false;
}

static bool parse_action(struct fault_rule *rule, const char *action, const char *text)
{
	uint64_t ms;

	if (!strncmp(action, "return=", 7))
		return parse_return(rule, action + 7, text);
	if (!strncmp(action, "event=", 6))
		return parse_event(rule, action + 6, text);
	if (!strncmp(action, "status=", 7) && rule->target != FAULT_CALL) {
		rule->action = FAULT_STATUS;
		return name_value(rule->target == FAULT_RECV ? recv_statuses : request_statuses,
				  action + 7, text, &rule->value);
	}
	if (!strncmp(action, "async=", 6)) {
		rule->action = FAULT_ASYNC;
		return name_value(async_names(rule), action + 6, text, &rule->value);
	}
	if (!strncmp(action, "delay=", 6) && number(action + 6, &ms) && ms <= 600000) {
		rule->action = FAULT_DELAY;
		rule->value = (uint32_t)ms;
		return true;
	}
	rule->action = !strcmp(action, "lost") ? FAULT_LOST : FAULT_DISCONNECT;
	if ((!strcmp(action, "lost") || !strcmp(action, "disconnect")) && is_ep_call(rule))
		return true;
	datp_wrap_refuse(
		"rule \"%s\": \"%s\" is not possible there; the actions are return=ERROR, "
		"delay=MS, async=EVENT; for calls about an endpoint disconnect, lost; for request "
		"and recv status=STATUS; for ep_connect and cr_accept event=EVENT",
		text, action);
	return false;
}

/* Parses a probability above 0, with a point in every locale of the program. */
static bool probability(const char *text, uint32_t *chance)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	char *end;
	double p;

	if (!c)
		return false;
	p = strtod_l(text, &end, c);
	freelocale(c);
	if (end == text || *end || !(p > 0 && p <= 1))
		return false;
	*chance = (uint32_t)(p * 4294967295.0);
	return *chance;
}

static bool parse_when(struct fault_rule *rule, const char *when, const char *text)
{
	if (!strncmp(when, "nth=", 4) && number(when + 4, &rule->nth))
		return true;
	if (!strncmp(when, "after=", 6) && number(when + 6, &rule->after))
		return true;
	if (!strncmp(when, "every=", 6) && number(when + 6, &rule->every))
		return true;
	if (!strncmp(when, "times=", 6) && number(when + 6, &rule->times))
		return true;
	if (!strncmp(when, "p=", 2) && probability(when + 2, &rule->chance))
		return true;
	datp_wrap_refuse(
		"rule \"%s\": \"%s\" is not a condition; the conditions are nth=N, after=N, "
		"every=N, times=N and p=0.01, with N from 1",
		text, when);
	return false;
}

/* TARGET:ACTION[:WHEN[,WHEN]...] */
static bool rule_parse(struct fault *fault, const char *text)
{
	struct fault_rule *rule = calloc(1, sizeof(*rule)), **last;
	char *copy = strdup(text), *rest = copy, *target, *action, *when;
	bool ok = false;

	if (!rule || !copy)
		goto free_rule;
	rule->text = strdup(text);
	if (!rule->text)
		goto free_rule;
	target = strsep(&rest, ":");
	action = strsep(&rest, ":");
	if (!action || !parse_target(rule, target)) {
		datp_wrap_refuse(
			"\"%s\" is neither a rule nor an option; write TARGET:ACTION[:WHEN], where "
			"TARGET is request, recv or a call such as ep_create, or seed=N, or "
			"script=FILE",
			text);
		goto free_rule;
	}
	ok = parse_action(rule, action, text);
	while (ok && (when = strsep(&rest, ",")))
		ok = parse_when(rule, when, text);
	if (!ok)
		goto free_rule;
	for (last = &fault->rules; *last;)
		last = &(*last)->next;
	*last = rule;
	fault->has_async |= rule->action == FAULT_ASYNC;
	rule = NULL;
free_rule:
	free(copy);
	if (rule)
		free(rule->text);
	free(rule);
	return ok;
}

static bool script_refuse(const char *file)
{
	datp_wrap_refuse("script %s cannot be read: %s; name another", file, strerror(errno));
	return false;
}

/* Reads the rules of a file. Blanks and line ends separate them; a comment reaches from a # to the end of its line. */
static bool script_parse(struct fault *fault, const char *file)
{
	FILE *stream = fopen(file, "re");
	char *line = NULL, *rest, *word;
	size_t size = 0;
	bool ok = true;

	if (!stream)
		return script_refuse(file);
	while (ok && getline(&line, &size, stream) >= 0) {
		line[strcspn(line, "#\n")] = '\0';
		rest = line;
		while (ok && (word = strtok_r(rest, " \t\r", &rest)))
			ok = rule_parse(fault, word);
	}
	if (ok && !feof(stream)) /* a directory, a failing device, or no memory for the line */
		ok = script_refuse(file);
	free(line);
	fclose(stream);
	return ok;
}

static bool word_parse(struct fault *fault, const char *word)
{
	if (!strncmp(word, "seed=", 5) && number(word + 5, &fault->random))
		return true;
	if (!strncmp(word, "script=", 7))
		return script_parse(fault, word + 7);
	return rule_parse(fault, word);
}

bool fault_rules_parse(struct fault *fault, const char *params)
{
	char *copy = strdup(params), *rest = copy, *word;
	bool ok = copy != NULL;

	fault->random = 1;
	while (ok && (word = strtok_r(rest, " \t", &rest)))
		ok = word_parse(fault, word);
	free(copy);
	if (!ok)
		fault_rules_free(fault);
	return ok;
}

void fault_rules_free(struct fault *fault)
{
	struct fault_rule *rule;

	while ((rule = fault->rules)) {
		fault->rules = rule->next;
		free(rule->text);
		free(rule);
	}
}

/* The same seed gives the same numbers (xorshift64*). */
static uint32_t random_locked(struct fault *fault)
{
	uint64_t x = fault->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	fault->random = x;
	return (uint32_t)(x * 0x2545f4914f6cdd1dull >> 32);
}

bool fault_rule_fires(struct fault *fault, struct fault_rule *rule)
{
	bool fires;

	pthread_mutex_lock(&fault->lock);
	rule->seen++;
	fires = (!rule->nth || rule->seen == rule->nth) && rule->seen > rule->after &&
		(!rule->every || (rule->seen - rule->after) % rule->every == 0) &&
		(!rule->times || rule->fired < rule->times);
	if (fires && rule->chance)
		fires = random_locked(fault) <= rule->chance;
	rule->fired += fires;
	pthread_mutex_unlock(&fault->lock);
	if (fires)
		datp_log(4, "fault: %s: %s, the %llu. time of its kind", fault->base.name,
			 rule->target == FAULT_CALL ? datp_call_name(rule->call) : "completion",
			 (unsigned long long)rule->seen);
	return fires;
}

/* ------------------------------------------------------------------ opens */

/*
 * The counts of a rule about ia_open, one record for each such rule. They outlive struct fault,
 * which each open creates anew, so the plugin stays in memory (-z nodelete).
 */
struct past {
	struct past *next;
	uint64_t seen, fired, random;
	char key[];
};

static pthread_mutex_t pasts_lock = PTHREAD_MUTEX_INITIALIZER; /* before fault.lock */
static struct past *pasts;

static void fork_child(void)
{
	pasts_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, fork_child);
}

static struct past *past_get_locked(const struct fault *fault, const struct fault_rule *rule)
{
	size_t size = strlen(fault->base.name) + strlen(rule->text) + 2;
	struct past *past = calloc(1, sizeof(*past) + size), *at;

	if (!past)
		return NULL;
	snprintf(past->key, size, "%s %s", fault->base.name, rule->text);
	for (at = pasts; at && strcmp(at->key, past->key) != 0;)
		at = at->next;
	if (at) {
		free(past);
		return at;
	}
	past->random = fault->random;
	past->next = pasts;
	pasts = past;
	return past;
}

bool fault_rule_fires_at_open(struct fault *fault, struct fault_rule *rule)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct past *past;
	bool fires = false;

	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&pasts_lock);
	past = past_get_locked(fault, rule);
	if (past) {
		rule->seen = past->seen;
		rule->fired = past->fired;
		fault->random = past->random;
		fires = fault_rule_fires(fault, rule);
		past->seen = rule->seen;
		past->fired = rule->fired;
		past->random = fault->random;
	}
	pthread_mutex_unlock(&pasts_lock);
	return fires;
}
