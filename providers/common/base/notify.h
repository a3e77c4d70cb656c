/* SPDX-License-Identifier: BSD-2-Clause */
/* What <datp/provider.h> does not offer to plugins of others. */
#ifndef NOTIFY_H
#define NOTIFY_H

#include <datp/provider.h>

/*
 * As datp_evd_notify(), but take() takes the poll lock of the EVD, each time. It may fail, because the holder does not release the
 * lock: then this returns false, perhaps before it has told consumers of all that has arrived, and is to be called again. So it
 * does if completions come as fast as they are taken.
 */
DATP_API bool datp_evd_notify_by(struct datp_evd *evd, bool (*take)(struct datp_evd *evd));

#endif
