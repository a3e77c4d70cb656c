/* SPDX-License-Identifier: BSD-2-Clause */
/* The instance data of a soft adapter in dat.conf. */
#ifndef SOFT_PARAM_H
#define SOFT_PARAM_H

#include "soft.h"

/*
 * Sets the realm, from the environment. Processes of different realms cannot connect to each other,
 * whatever their adapters and connection qualifiers are. Fails if it is not a valid name.
 */
enum datp_err soft_param_realm(struct soft_ia *ia);

/*
 * Sets key, address and the fields that the table of options in param.c names. Without the option
 * eager_limit, messages up to SOFT_EAGER_SURE are sent eagerly, and those up to SOFT_EAGER_DEFAULT
 * if soft_is_eager() says so.
 */
enum datp_err soft_param_parse(struct soft_ia *ia, const char *params);

#endif
