/* SPDX-License-Identifier: BSD-2-Clause */
/* The instance data of a soft adapter in dat.conf. */
#ifndef SOFT_PARAM_H
#define SOFT_PARAM_H

#include "soft.h"

/*
 * The realm, from the environment: processes of different ones do not meet, whatever their adapters
 * and connection qualifiers are called.
 */
enum datp_err soft_param_realm(struct soft_ia *ia);

/*
 * Sets key, address, want_cma, want_share, eager_limit, eager_sure and patience_ms. Words separated by blanks:
 *	ADDRESS or INTERFACE	be that address only, with conn quals of its own
 *	cma=on|off		off: never copy through the kernel (tests of the bounce path)
 *	eager_limit=BYTES	messages up to this go through the ring (64 to 1048576); without it those
 *				up to SOFT_EAGER_SURE, and up to SOFT_EAGER_DEFAULT where
 *				soft_is_eager() says so
 *	peer_timeout=MS		a peer that is at memory of ours, or has been asked to copy, is waited for no longer
 *				(1 to 3600000); SOFT_PATIENCE_MS without it
 */
enum datp_err soft_param_parse(struct soft_ia *ia, const char *params);

#endif
