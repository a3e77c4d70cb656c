/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares a mistyped name with those that exist; near.h states the invariant. */
#include "near.h"

#include <string.h>

enum { NAME_MOST = 255 };

/*
 * The edit distance: how many letters have to be changed, inserted or removed to turn a into b.
 * Names are short.
 */
static unsigned int letters_between(const char *a, const char *b)
{
	unsigned int row[NAME_MOST + 1];
	unsigned int corner, above, least;
	size_t length = strlen(b), i;

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

unsigned int near_begin(const char *typed)
{
	size_t length = strnlen(typed, NAME_MOST);

	return length < 4 ? 2 : 2 + (unsigned int)length / 4;
}

bool near_closer(const char *typed, const char *name, unsigned int *distance)
{
	size_t a = strlen(typed), b = strlen(name);
	unsigned int letters;

	if (b > NAME_MOST || (a > b ? a - b : b - a) >= *distance)
		return false;
	letters = letters_between(typed, name);
	if (letters >= *distance)
		return false;
	*distance = letters;
	return true;
}
