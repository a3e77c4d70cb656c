/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks of those duties of datp(7) that can only be checked after the plugin has run; see
 * duties.c.
 */
#ifndef CORE_DUTIES_H
#define CORE_DUTIES_H

#include "core.h"

/*
 * Checks the values that ia_open and ia_query have set. Returns DATP_OK, or DATP_ERR_INTERNAL if a
 * duty is broken, after a message with the number of the duty and the remedy. Called once, at open;
 * no lock.
 */
enum datp_err duties_at_open(struct datp_ia *ia, const struct plugin *plugin);

/* The same for the values that lmr_create has set; reported once for each plugin. No lock. */
enum datp_err duties_of_lmr(const struct datp_lmr *lmr);

#endif
