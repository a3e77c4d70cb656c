/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a line for uDAPL 1.2 serves programs of 2.0 as well. */
#ifndef TOOLS_SERVES20_H
#define TOOLS_SERVES20_H

#include "registry/conf.h"

/* As conf_serves_20(), but a wrapper is asked, and not judged by its name. */
bool serves_20(const struct conf *conf, const struct conf_entry *e);

#endif
