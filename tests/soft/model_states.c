/* SPDX-License-Identifier: BSD-2-Clause */
/* The states that the model checker has visited: model_states.h. */
#include "tests/soft/model_states.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST ((size_t)1 << 16)

static bool table_add(uint64_t *table, size_t room, uint64_t state)
{
	for (size_t i = state & (room - 1);; i = (i + 1) & (room - 1)) {
		if (table[i] == state)
			return false;
		if (!table[i]) {
			table[i] = state;
			return true;
		}
	}
}

static void grow(struct states *states)
{
	size_t room = states->room ? states->room * 2 : ROOM_FIRST;
	uint64_t *table = calloc(room, sizeof(*table));

	if (!table)
		abort();
	for (size_t i = 0; i < states->room; i++)
		if (states->table[i])
			table_add(table, room, states->table[i]);
	free(states->table);
	states->table = table;
	states->room = room;
}

bool states_add(struct states *states, uint64_t state)
{
	bool added;

	if (states->count * 2 >= states->room)
		grow(states);
	added = table_add(states->table, states->room, state ? state : 1);
	states->count += added;
	return added;
}

void states_clear(struct states *states)
{
	if (states->table)
		memset(states->table, 0, states->room * sizeof(*states->table));
	states->count = 0;
}
