/* SPDX-License-Identifier: BSD-2-Clause */
/* The base types of DAT 2.0 as they are on Linux: those of 1.2, and what its new calls take. */
#ifndef OPENDAT_DAT2_DAT_PLATFORM_SPECIFIC_H
#define OPENDAT_DAT2_DAT_PLATFORM_SPECIFIC_H

#include "../dat/dat_platform_specific.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct dat_comm - a communicator of the common connection model: how a socket is made
 * @domain: as for socket()
 * @type: as for socket()
 * @protocol: as for socket()
 */
typedef struct dat_comm {
	int domain;
	int type;
	int protocol;
} DAT_COMM;

/* A file descriptor. */
typedef int DAT_FD;

#ifdef __cplusplus
}
#endif

#endif /* OPENDAT_DAT2_DAT_PLATFORM_SPECIFIC_H */
