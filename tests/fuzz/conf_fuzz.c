/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libFuzzer target for the parsers of the static registry. What stands before a line "%%" is a
 * dat.conf, what follows it a drop-in, and so on in turn.
 *
 * Invariant checked: whatever comes in, each entry is complete and each refusal has its place and
 * words.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "registry/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DEMAND(x) do { if (!(x)) abort(); } while (0)

static void entries_check(const struct conf *conf)
{
	const struct conf_entry *e;

	for (e = conf->entries; e; e = e->next) {
		DEMAND(e->name && *e->name && strlen(e->name) <= CONF_NAME_MAX);
		DEMAND(e->library && *e->library);
		DEMAND(e->provider_version && e->ia_params && e->platform_params);
		DEMAND(e->file && e->line);
		DEMAND(!e->tuned_file == !e->tuned_line);
	}
}

static void diags_check(const struct conf *conf)
{
	const struct conf_diag *d;
	unsigned int n = 0;

	for (d = conf->diags; d; d = d->next) {
		DEMAND(d->file && d->line && d->text && *d->text);
		DEMAND(d->field <= CONF_FIELDS && *conf_field_name(d->field));
		n++;
	}
	DEMAND(n == (conf->ndiags < CONF_DIAGS_MAX ? conf->ndiags : CONF_DIAGS_MAX));
}

/* Copies the text to the heap in its exact size, so that the sanitizer finds a read beyond it. */
static void part_parse(struct conf *conf, const uint8_t *data, size_t size, bool ini)
{
	char *text = malloc(size ? size : 1);

	DEMAND(text);
	memcpy(text, data, size);
	DEMAND(!(ini ? conf_parse_ini(conf, "fuzz.ini", text, size)
		     : conf_parse(conf, "fuzz.conf", text, size)));
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size;
	const uint8_t *next;
	struct conf conf;
	bool ini = false;

	conf_init(&conf);
	for (; data < end; data = next < end ? next + 4 : end, ini = !ini) {
		next = memmem(data, (size_t)(end - data), "\n%%\n", 4);
		if (!next)
			next = end;
		part_parse(&conf, data, (size_t)(next - data), ini);
	}
	entries_check(&conf);
	diags_check(&conf);
	conf_free(&conf);
	return 0;
}
