/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of LMRs in the IAs of plugins that have one. */
#ifndef LMR_TABLE_H
#define LMR_TABLE_H

#include <datp/lmr_table.h>

/* Returns the table of an IA, or NULL if its plugin has none. */
static inline struct datp_lmr_table *lmr_table_of(struct datp_ia *ia)
{
	return ia->ops->lmr_table ? (struct datp_lmr_table *)(void *)((char *)ia + ia->ops->lmr_table) : NULL;
}

/* Called for zeroed memory. Returns false if there is no memory. */
bool lmr_table_init(struct datp_lmr_table *table);
void lmr_table_fini(struct datp_lmr_table *table);

#endif
