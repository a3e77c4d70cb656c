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
 * Sets key, address and what the options of the table in param.c are about. Without eager_limit,
 * messages up to SOFT_EAGER_SURE go through the ring, and those up to SOFT_EAGER_DEFAULT where
 * soft_is_eager() says so.
 */
enum datp_err soft_param_parse(struct soft_ia *ia, const char *params);

#endif
