/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The victim of the attacks that hostile_test, grasp_test, mpa_test and roce_test make: this process, whose adapter listens for
 * the attacker and serves honest peers beside it.
 */
#ifndef TESTS_FABRIC_VICTIM_H
#define TESTS_FABRIC_VICTIM_H

#include "api.h"
#include "hostile.h"

/* Listens with this EVD, and writes where: the attacker needs that. */
void victim_listens(DAT_EVD_HANDLE cr_evd, struct hostile_target *where);
/* Connects two endpoints of this process, as honest peers do, and exchanges messages. */
void victim_begins_pair(struct api_pair *pair, const struct api_buf *buf);
/* Checks that a new honest peer is served, and ends its connection. */
void victim_serves(const struct api_buf *buf);
/* Reads each byte of the private data, and rejects the request. */
void victim_turns_down(DAT_CR_HANDLE cr);
/* Returns how many lines the text has that the victim has logged. */
int victim_lines(const char *text);

#endif
