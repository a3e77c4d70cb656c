/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One self-contained page: functions down, a row for each clause, a column for each run. Runs come
 * from memory or from files that --json wrote; the reader below accepts any JSON and keeps the few
 * members that it knows.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "clauses.h"
#include "report.h"
#include "run.h"

static char *copy(const char *text)
{
	char *own = strdup(text);

	if (!own)
		run_no_memory();
	return own;
}

static char *detail_of(const struct clause *clause)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		run_no_memory();
	for (const struct failure *f = clause->failures; f; f = f->next)
		fprintf(out, "%s: %s: expected %s, got %s\n", f->at, f->call, f->expected, f->got);
	if (clause->verdict == NOT_APPLICABLE && clause->attribute)
		fprintf(out, "not applicable: %s\n", clause->attribute);
	if (clause->verdict == UNTESTED && clause->reason)
		fprintf(out, "untested: %s\n", clause->reason);
	if (clause->outcome)
		fprintf(out, "outcome: %s\n", clause->outcome);
	if (fclose(out) || !text)
		run_no_memory();
	return text;
}

void column_of_run(struct column *column, const char *ia_name)
{
	column->title = copy(ia_name);
	column->provider = copy(run_provider());
	column->suite = copy(report_suite());
	column->date = copy(report_date());
	column->cells = calloc((size_t)clause_count, sizeof(*column->cells));
	if (!column->cells)
		run_no_memory();
	for (int i = 0; i < clause_count; i++) {
		if (!clauses[i].selected)
			continue;
		column->cells[i].verdict = verdict_name(clauses[i].verdict)[0];
		column->cells[i].detail = detail_of(&clauses[i]);
	}
}

/* The position in a JSON text; once `bad` is true, it stays. */
struct reader {
	const char *at;
	bool bad;
	struct column *column;
	struct cell cell;	/* of the clause that is being read */
	char id[64];
};

static void blanks(struct reader *r)
{
	while (isspace((unsigned char)*r->at))
		r->at++;
}

static bool is(struct reader *r, char c)
{
	blanks(r);
	if (*r->at != c)
		return false;
	r->at++;
	return true;
}

static char *string(struct reader *r)
{
	size_t used = 0, room = strcspn(r->at, "\n") + 1;
	char *text = malloc(room + 1);

	if (!text)
		run_no_memory();
	r->bad |= !is(r, '"');
	while (!r->bad && *r->at && *r->at != '"' && used < room) {
		if (*r->at == '\\' && r->at[1] == 'u') {
			text[used++] = ' ';
			r->at += strnlen(r->at, 6);
			continue;
		}
		if (*r->at == '\\' && r->at[1])
			r->at++;
		text[used++] = *r->at++;
	}
	text[used] = '\0';
	r->bad |= *r->at != '"';
	if (!r->bad)
		r->at++;
	return text;
}

static void append(char **detail, const char *before, const char *text)
{
	char *longer = NULL;

	if (asprintf(&longer, "%s%s%s", *detail ? *detail : "", before, text) < 0)
		run_no_memory();
	free(*detail);
	*detail = longer;
}

/* Keeps the first value of a member of the whole run. */
static void keep(char **field, const char *text)
{
	if (!*field)
		*field = copy(text);
}

/* A string member: kept if the page shows it. */
static void member(struct reader *r, const char *name, const char *text)
{
	if (!strcmp(name, "ia"))
		keep(&r->column->title, text);
	else if (!strcmp(name, "provider"))
		keep(&r->column->provider, text);
	else if (!strcmp(name, "suite"))
		keep(&r->column->suite, text);
	else if (!strcmp(name, "date"))
		keep(&r->column->date, text);
	else if (!strcmp(name, "id"))
		snprintf(r->id, sizeof(r->id), "%s", text);
	else if (!strcmp(name, "verdict"))
		r->cell.verdict = strchr("pfnu", text[0]) ? text[0] : '\0';
	else if (!strcmp(name, "at"))
		append(&r->cell.detail, "", text);
	else if (!strcmp(name, "call"))
		append(&r->cell.detail, ": ", text);
	else if (!strcmp(name, "expected"))
		append(&r->cell.detail, ": expected ", text);
	else if (!strcmp(name, "got"))
		append(&r->cell.detail, ", got ", text);
	else if (!strcmp(name, "attribute"))
		append(&r->cell.detail, "not applicable: ", text);
	else if (!strcmp(name, "reason"))
		append(&r->cell.detail, "untested: ", text);
	else if (!strcmp(name, "outcome"))
		append(&r->cell.detail, "outcome: ", text);
}

static void close_clause(struct reader *r)
{
	struct clause *clause = r->id[0] ? clause_find(r->id) : NULL;

	if (clause) {
		free(r->column->cells[clause - clauses].detail);
		r->column->cells[clause - clauses] = r->cell;
	} else {
		free(r->cell.detail);
	}
	memset(&r->cell, 0, sizeof(r->cell));
	r->id[0] = '\0';
}

static void value(struct reader *r, const char *name, int depth)
{
	char close = is(r, '{') ? '}' : is(r, '[') ? ']' : '\0';
	char *text;

	if (depth > 16 || r->bad) {
		r->bad = true;
	} else if (close) {
		while (!r->bad && !is(r, close)) {
			char *inner = close == '}' ? string(r) : copy("");

			r->bad |= close == '}' && !is(r, ':');
			value(r, inner, depth + 1);
			free(inner);
			if (!is(r, ',') && (blanks(r), *r->at != close))
				r->bad = true;
		}
		if (close == '}' && depth == 2)
			close_clause(r);
	} else if (blanks(r), *r->at == '"') {
		text = string(r);
		member(r, name, text);
		free(text);
	} else {
		size_t size = strspn(r->at, "+-.0123456789eEtrufalsn");

		r->bad |= !size;
		r->at += size;
	}
}

bool column_of_json(struct column *column, const char *path)
{
	struct reader r = { .column = column };
	FILE *in = fopen(path, "r");
	char *text = NULL;
	size_t room = 0;
	bool read;

	if (!in) {
		fprintf(stderr, "datconform: %s: cannot be opened\n", path);
		return false;
	}
	read = getdelim(&text, &room, '\0', in) > 0;
	fclose(in);
	column->cells = calloc((size_t)clause_count, sizeof(*column->cells));
	if (!column->cells)
		run_no_memory();
	r.at = read ? text : "";
	value(&r, "", 0);
	free(text);
	if (r.bad || !column->title) {
		fprintf(stderr, "datconform: %s is not a result that --json wrote\n", path);
		free(r.cell.detail);
		return false;
	}
	return true;
}

void column_free(struct column *column)
{
	for (int i = 0; column->cells && i < clause_count; i++)
		free(column->cells[i].detail);
	free(column->cells);
	free(column->title);
	free(column->provider);
	free(column->suite);
	free(column->date);
}

static void escaped(FILE *out, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '&': fputs("&amp;", out); break;
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '"': fputs("&quot;", out); break;
		default: fputc(*text, out);
		}
}

static const char style[] =
	"body{font:14px/1.4 system-ui,sans-serif;margin:2em;max-width:90em}"
	"table{border-collapse:collapse;width:100%}"
	"th,td{border:1px solid #ccc;padding:.25em .5em;text-align:left;vertical-align:top}"
	"thead th{position:sticky;top:0;background:#fff}"
	"tr.function th{background:#eee}"
	"td.v{white-space:nowrap}td.p{background:#d8f0d8}td.f{background:#f6c8c8}"
	"td.n{background:#eef}td.u{color:#888}"
	"mark{background:#fe9;padding:0 .3em}"
	"#failed:checked~table tr.row:not(.failed),#failed:checked~table tr.function:not(.failed),"
	"#differ:checked~table tr.row:not(.differ),#differ:checked~table tr.function:not(.differ)"
	"{display:none}"
	"details pre{white-space:pre-wrap;margin:.3em 0;max-width:40em}"
	"@media (prefers-color-scheme:dark){body,thead th{background:#181818;color:#ddd}"
	"tr.function th{background:#333}td.p{background:#1c3a1c}td.f{background:#5a1c1c}td.n{background:#22304a}"
	"mark{background:#640;color:#fff}}";

static void cell_of(FILE *out, const struct cell *cell)
{
	const char *word = cell->verdict == 'p' ? "passed" : cell->verdict == 'f' ? "FAILED" :
		cell->verdict == 'n' ? "n/a" : cell->verdict == 'u' ? "untested" : "-";

	fprintf(out, "<td class=\"v %c\">", cell->verdict ? cell->verdict : 'u');
	if (cell->detail && cell->detail[0]) {
		fprintf(out, "<details><summary>%s</summary><pre>", word);
		escaped(out, cell->detail);
		fprintf(out, "</pre></details>");
	} else {
		fputs(word, out);
	}
	fprintf(out, "</td>");
}

static int tally(const struct column *column, char verdict)
{
	int n = 0;

	for (int i = 0; i < clause_count; i++)
		n += column->cells[i].verdict == verdict;
	return n;
}

/* Writes a line of the heading that describes a column, if the text is known. */
static void about(FILE *out, const char *text)
{
	if (!text || !text[0])
		return;
	fprintf(out, "<br><small>");
	escaped(out, text);
	fprintf(out, "</small>");
}

static void head(FILE *out, const struct column *columns, int count)
{
	fprintf(out,
		"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>datconform</title>"
		"<style>%s</style></head><body>\n<h1>uDAPL " API_NAME " conformance</h1>\n"
		"<input type=\"checkbox\" id=\"failed\"><label for=\"failed\">only failures</label>\n",
		style);
	if (count > 1)
		fprintf(out, "<input type=\"checkbox\" id=\"differ\"><label for=\"differ\">only "
			     "differences between the runs</label>\n");
	fprintf(out, "<table><thead><tr><th>clause</th>");
	for (int c = 0; c < count; c++) {
		fprintf(out, "<th>");
		escaped(out, columns[c].title);
		about(out, columns[c].provider);
		about(out, columns[c].suite);
		about(out, columns[c].date);
		fprintf(out, "<br><small>%d passed, %d failed, %d n/a, %d untested</small></th>",
			tally(&columns[c], 'p'), tally(&columns[c], 'f'), tally(&columns[c], 'n'),
			tally(&columns[c], 'u'));
	}
	fprintf(out, "</tr></thead>\n");
}

static bool is_in_a_run(const struct column *columns, int count, int clause)
{
	for (int c = 0; c < count; c++)
		if (columns[c].cells[clause].verdict)
			return true;
	return false;
}

static bool has_failed(const struct column *columns, int count, int clause)
{
	for (int c = 0; c < count; c++)
		if (columns[c].cells[clause].verdict == 'f')
			return true;
	return false;
}

/* Returns whether two runs that have this clause differ. */
static bool differs(const struct column *columns, int count, int clause)
{
	char first = '\0';

	for (int c = 0; c < count; c++) {
		char verdict = columns[c].cells[clause].verdict;

		if (first && verdict && verdict != first)
			return true;
		first = first ? first : verdict;
	}
	return false;
}

/* Returns the filters that show a row, as names of classes. */
static const char *filters(bool failed, bool differ)
{
	return failed && differ ? " failed differ" : failed ? " failed" : differ ? " differ" : "";
}

static void heading(FILE *out, int columns, const char *id, const char *text, const char *classes)
{
	fprintf(out, "<tr class=\"function%s\"><th colspan=\"%d\" id=\"%s\">", classes, columns + 1,
		id);
	escaped(out, text);
	fprintf(out, "</th></tr>\n");
}

static void row(FILE *out, const struct column *columns, int count, int i)
{
	bool differ = differs(columns, count, i);

	fprintf(out, "<tr id=\"%s\" class=\"row%s\"><td><b>%s</b> <small>%s</small>%s<br>",
		clauses[i].id, filters(has_failed(columns, count, i), differ), clauses[i].id,
		clauses[i].strength, differ ? " <mark>differs</mark>" : "");
	escaped(out, clauses[i].text);
	fprintf(out, "</td>");
	for (int c = 0; c < count; c++)
		cell_of(out, &columns[c].cells[i]);
	fprintf(out, "</tr>\n");
}

/* Writes the clauses that failed in a run, of all functions; a reader wants to see these first. */
static void failures(FILE *out, const struct column *columns, int count)
{
	bool any = false, differ = false;

	for (int i = 0; i < clause_count; i++)
		if (has_failed(columns, count, i)) {
			any = true;
			differ |= differs(columns, count, i);
		}
	if (!any)
		return;
	heading(out, count, "failures", "Failed", filters(true, differ));
	for (int i = 0; i < clause_count; i++)
		if (has_failed(columns, count, i))
			row(out, columns, count, i);
}

/*
 * Returns whether a function, whose first clause this is, has one that passed everywhere and
 * differs.
 */
static bool function_differs(const struct column *columns, int count, int from)
{
	for (int i = from; i < clause_count; i++)
		if (!strcmp(clauses[i].function, clauses[from].function) &&
		    !has_failed(columns, count, i) && differs(columns, count, i))
			return true;
	return false;
}

void report_html(FILE *out, const struct column *columns, int count)
{
	const char *function = "";

	head(out, columns, count);
	failures(out, columns, count);
	for (int i = 0; i < clause_count; i++) {
		if (!is_in_a_run(columns, count, i) || has_failed(columns, count, i))
			continue;
		if (strcmp(function, clauses[i].function)) {
			function = clauses[i].function;
			heading(out, count, function, function,
				filters(false, function_differs(columns, count, i)));
		}
		row(out, columns, count, i);
	}
	fprintf(out, "</table></body></html>\n");
}
