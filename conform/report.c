/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reports as text, TAP, JSON and JUnit: the same verdicts for a person, a test driver and a
 * machine.
 */
#include "config.h"

#include <string.h>
#include <time.h>

#include "api.h"
#include "clauses.h"
#include "report.h"
#include "run.h"

const char *verdict_name(enum verdict verdict)
{
	static const char *const names[] = { "untested", "passed", "failed", "not applicable" };

	return names[verdict];
}

/* Returns how many bytes the character takes; 0 if it is invalid, or would affect a terminal. */
static size_t utf8_size(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t size = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 :
		at[0] < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < size; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	if (size == 1 && ((at[0] < ' ' && at[0] != '\t') || at[0] == 0x7f))
		return 0;
	if ((at[0] == 0xc2 && at[1] < 0xa0) ||		/* C1 */
	    (at[0] == 0xe0 && at[1] < 0xa0) ||		/* more bytes than it needs */
	    (at[0] == 0xed && at[1] > 0x9f) ||		/* half of a pair */
	    (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
		return 0;
	return size;
}

void make_printable(char *text)
{
	while (*text) {
		size_t size = utf8_size(text);

		if (!size)
			*text = '?';
		text += size ? size : 1;
	}
}

struct clause *clause_find(const char *id)
{
	for (int i = 0; i < clause_count; i++)
		if (!strcmp(clauses[i].id, id))
			return &clauses[i];
	return NULL;
}

int clause_tally(enum verdict verdict)
{
	int n = 0;

	for (int i = 0; i < clause_count; i++)
		n += clauses[i].selected && clauses[i].verdict == verdict;
	return n;
}

/* Lists the clauses that do not hold in this API. 1.2 has none of these. */
static void list_lifted(FILE *out)
{
	int n = 0;

	for (int i = 0; i < clause_count; i++) {
		if (!clauses[i].left_out)
			continue;
		fprintf(out, "%-18s %-9s %-9s %s: %s\n%-18s why: %s\n", clauses[i].id, clauses[i].strength,
			"lifted", clauses[i].function, clauses[i].text, "", clauses[i].lifted);
		n++;
	}
	if (n)
		fprintf(out, "%d clauses of uDAPL 1.2 do not hold in %s\n", n, API_NAME);
}

void report_list(FILE *out)
{
	int n = 0;

	for (int i = 0; i < clause_count; i++) {
		if (!clauses[i].selected)
			continue;
		fprintf(out, "%-18s %-9s %-9s %s: %s\n", clauses[i].id, clauses[i].strength,
			clauses[i].tests ? "tested" : clauses[i].reason ? "reason" : "untested",
			clauses[i].function, clauses[i].text);
		if (clauses[i].mended)
			fprintf(out, "%-18s why: %s\n", "", clauses[i].mended);
		n++;
	}
	fprintf(out, "%d clauses\n", n);
	list_lifted(out);
}

void report_readings(FILE *out)
{
	int n = 0;

	for (int i = 0; i < ambiguity_count; i++) {
		if (!ambiguities[i].selected)
			continue;
		fprintf(out, "%-18s %s: %s\n%-18s read as: %s\n", ambiguities[i].id,
			ambiguities[i].where, ambiguities[i].question, "", ambiguities[i].reading);
		n++;
	}
	fprintf(out, "%d readings\n", n);
}

static void cover(FILE *out, const char *strength)
{
	int all = 0, tested = 0, reasons = 0;

	for (int i = 0; i < clause_count; i++) {
		if (strcmp(clauses[i].strength, strength) || clauses[i].lifted)
			continue;
		all++;
		tested += clauses[i].tests > 0;
		reasons += !clauses[i].tests && clauses[i].reason;
	}
	fprintf(out, "%-9s %d of %d tested (%.1f %%), %d with a written reason, %d with neither\n",
		strength, tested, all, all ? 100.0 * tested / all : 0.0, reasons,
		all - tested - reasons);
}

void report_coverage(FILE *out)
{
	cover(out, "must");
	cover(out, "should");
	cover(out, "may");
	cover(out, "undefined");
}

void report_text(FILE *out)
{
	for (int i = 0; i < clause_count; i++) {
		struct clause *clause = &clauses[i];

		if (!clause->selected || clause->verdict != FAILED)
			continue;
		fprintf(out, "FAILED %s (%s, %s): %s\n", clause->id, clause->function,
			clause->strength, clause->text);
		if (clause->mended)
			fprintf(out, "  why: %s\n", clause->mended);
		for (struct failure *f = clause->failures; f; f = f->next)
			fprintf(out, "  %s: %s\n    expected %s\n    got      %s\n", f->at, f->call,
				f->expected, f->got);
	}
	fprintf(out, "%d not applicable, %d untested\n", clause_tally(NOT_APPLICABLE),
		clause_tally(UNTESTED));
	fprintf(out, "%d passed, %d failed, %d skipped\n", clause_tally(PASSED),
		clause_tally(FAILED), clause_tally(NOT_APPLICABLE) + clause_tally(UNTESTED));
}

static void tap_detail(FILE *out, const struct clause *clause)
{
	for (struct failure *f = clause->failures; f; f = f->next)
		fprintf(out, "# %s: %s: expected %s, got %s\n", f->at, f->call, f->expected,
			f->got);
}

void report_tap(FILE *out)
{
	int n = 0;

	for (int i = 0; i < clause_count; i++) {
		struct clause *clause = &clauses[i];

		if (!clause->selected)
			continue;
		fprintf(out, "%sok %d - %s %s", clause->verdict == FAILED ? "not " : "", ++n,
			clause->id, clause->function);
		if (clause->verdict == NOT_APPLICABLE)
			fprintf(out, " # SKIP not applicable: %s", clause->attribute);
		else if (clause->verdict == UNTESTED)
			fprintf(out, " # SKIP untested%s%s", clause->reason ? ": " : "",
				clause->reason ? clause->reason : "");
		fputc('\n', out);
		tap_detail(out, clause);
	}
	fprintf(out, "1..%d\n", n);
}

static void json_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else if ((unsigned char)*text < ' ')
			fprintf(out, "\\u%04x", (unsigned char)*text);
		else
			fputc(*text, out);
	}
	fputc('"', out);
}

static void json_member(FILE *out, const char *name, const char *value)
{
	fprintf(out, ", \"%s\": ", name);
	json_string(out, value);
}

static void json_failures(FILE *out, const struct failure *f)
{
	fprintf(out, ",\n     \"failures\": [");
	for (; f; f = f->next) {
		fprintf(out, "\n      {\"at\": ");
		json_string(out, f->at);
		json_member(out, "call", f->call);
		json_member(out, "expected", f->expected);
		json_member(out, "got", f->got);
		fprintf(out, "}%s", f->next ? "," : "");
	}
	fputc(']', out);
}

const char *report_suite(void)
{
	return "OpenDAT " PACKAGE_VERSION;
}

const char *report_date(void)
{
	static char text[32];
	time_t now = time(NULL);
	struct tm tm;

	if (!localtime_r(&now, &tm) || !strftime(text, sizeof(text), "%Y-%m-%d", &tm))
		text[0] = '\0';
	return text;
}

void report_json(FILE *out, const char *ia_name)
{
	bool first = true;

	fprintf(out, "{\"datconform\": 1, \"ia\": ");
	json_string(out, ia_name);
	json_member(out, "provider", run_provider());
	json_member(out, "suite", report_suite());
	json_member(out, "date", report_date());
	fprintf(out,
		",\n \"passed\": %d, \"failed\": %d, \"not_applicable\": %d, \"untested\": %d,\n \"clauses\": [",
		clause_tally(PASSED), clause_tally(FAILED), clause_tally(NOT_APPLICABLE),
		clause_tally(UNTESTED));
	for (int i = 0; i < clause_count; i++) {
		struct clause *clause = &clauses[i];

		if (!clause->selected)
			continue;
		fprintf(out, "%s\n    {\"id\": \"%s\"", first ? "" : ",", clause->id);
		first = false;
		json_member(out, "function", clause->function);
		json_member(out, "strength", clause->strength);
		json_member(out, "verdict", verdict_name(clause->verdict));
		json_member(out, "text", clause->text);
		if (clause->mended)
			json_member(out, "why", clause->mended);
		if (clause->verdict == NOT_APPLICABLE && clause->attribute)
			json_member(out, "attribute", clause->attribute);
		if (clause->verdict == UNTESTED && clause->reason)
			json_member(out, "reason", clause->reason);
		if (clause->outcome)
			json_member(out, "outcome", clause->outcome);
		if (clause->failures)
			json_failures(out, clause->failures);
		fputc('}', out);
	}
	fprintf(out, "\n ]}\n");
}

static void xml_text(FILE *out, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '&': fputs("&amp;", out); break;
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '"': fputs("&quot;", out); break;
		default: fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
		}
}

/* Says that a clause has no verdict, and why: by the attribute that it depends on, or the reason. */
static void junit_skipped(FILE *out, const struct clause *clause)
{
	const char *why = clause->verdict == NOT_APPLICABLE ? clause->attribute : clause->reason;

	fprintf(out, "<skipped message=\"%s", verdict_name(clause->verdict));
	if (why) {
		fprintf(out, ": ");
		xml_text(out, why);
	}
	fprintf(out, "\"/>");
}

void report_junit(FILE *out, const char *ia_name)
{
	fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"datconform ");
	xml_text(out, ia_name);
	fprintf(out, "\" tests=\"%d\" failures=\"%d\" skipped=\"%d\">\n",
		clause_tally(PASSED) + clause_tally(FAILED) + clause_tally(NOT_APPLICABLE) +
			clause_tally(UNTESTED),
		clause_tally(FAILED), clause_tally(NOT_APPLICABLE) + clause_tally(UNTESTED));
	for (int i = 0; i < clause_count; i++) {
		struct clause *clause = &clauses[i];

		if (!clause->selected)
			continue;
		fprintf(out, "<testcase classname=\"%s\" name=\"%s: ", clause->function,
			clause->id);
		xml_text(out, clause->text);
		fprintf(out, "\">");
		for (struct failure *f = clause->failures; f; f = f->next) {
			fprintf(out, "<failure message=\"");
			xml_text(out, f->call);
			fprintf(out, "\">");
			xml_text(out, f->at);
			fprintf(out, ": expected ");
			xml_text(out, f->expected);
			fprintf(out, ", got ");
			xml_text(out, f->got);
			fprintf(out, "</failure>");
		}
		if (clause->verdict == NOT_APPLICABLE || clause->verdict == UNTESTED)
			junit_skipped(out, clause);
		fprintf(out, "</testcase>\n");
	}
	fprintf(out, "</testsuite>\n");
}
