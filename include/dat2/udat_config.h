/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a consumer asks for when it calls dat_ia_open: the version of the API it was compiled
 * against, and whether it needs a thread-safe provider.
 */
#ifndef OPENDAT_DAT2_UDAT_CONFIG_H
#define OPENDAT_DAT2_UDAT_CONFIG_H

#define DAT_VERSION_MAJOR				2
#define DAT_VERSION_MINOR				0

/* A program may define this as DAT_TRUE; dat_ia_open() then accepts only thread-safe providers. */
#ifndef DAT_THREADSAFE
#define DAT_THREADSAFE					DAT_FALSE
#endif

#endif /* OPENDAT_DAT2_UDAT_CONFIG_H */
