/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the nearest name to a mistyped one: of an adapter, provider, command or option. */
#include "conf.h"

#include <string.h>

/*
 * The edit distance: how many letters have to be changed, inserted or removed to turn a into b.
 * Names are short.
 */
static unsigned int letters_between(const char *a, const char *b)
{
	unsigned int row[CONF_NAME_MAX + 1];
	unsigned int corner, above, least;
	size_t length = strnlen(b, CONF_NAME_MAX), i;

	for (i = 0; i <= length; i++)
		row[i] = (unsigned int)i;
	for (; *a; a++) {
		corner = row[0]++;
		for (i = 1; i <= length; i++) {
			above = row[i];
			least = corner + (*a != b[i - 1]);
			if (above + 1 < least)
				least = above + 1;
			if (row[i - 1] + 1 < least)
				least = row[i - 1] + 1;
			row[i] = least;
			corner = above;
		}
	}
	return row[length];
}

unsigned int conf_near_begin(const char *typed)
{
	size_t length = strnlen(typed, CONF_NAME_MAX);

	return length < 4 ? 2 : 2 + (unsigned int)length / 4;
}

bool conf_near(const char *typed, const char *name, unsigned int *distance)
{
	size_t a = strlen(typed), b = strlen(name);
	unsigned int letters;

	if ((a > b ? a - b : b - a) >= *distance)
		return false;
	letters = letters_between(typed, name);
	if (letters >= *distance)
		return false;
	*distance = letters;
	return true;
}
