/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the foreign plugin notes of the last call it got. The plugin owns the one instance and
 * exports it; the consumer looks it up, since no call of the standard could carry it. One thread.
 */
#ifndef FOREIGN_LOG_H
#define FOREIGN_LOG_H

#include <stddef.h>

#define FOREIGN_MOST_ARGUMENTS	12
#define FOREIGN_INSTANCE	"foreign instance \"7\""

struct foreign_log {
	unsigned int inits;	/* calls of dat_provider_init */
	int instance_right;	/* the last one brought FOREIGN_INSTANCE */
	unsigned int calls;	/* calls through the table since the consumer cleared it */
	int slot;		/* the last one's place in the table */
	int arguments;
	size_t size[FOREIGN_MOST_ARGUMENTS];
	unsigned char bytes[FOREIGN_MOST_ARGUMENTS][16];
	unsigned int answer;	/* what the functions return, set by the consumer */
	void *object;		/* the plugin's one object, which serves as every handle */
	int *finished;		/* the consumer's; outlives the plugin, counts dat_provider_fini */
};

#endif /* FOREIGN_LOG_H */
