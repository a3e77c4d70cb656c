/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The base types of uDAPL 1.2 as they are on Linux x86-64. Every other header of the standard uses
 * these; nothing here depends on another header of the set.
 */
#ifndef OPENDAT_DAT_PLATFORM_SPECIFIC_H
#define OPENDAT_DAT_PLATFORM_SPECIFIC_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/socket.h>
#include <netinet/in.h>

#ifdef __cplusplus
extern "C" {
#endif

/* DAT_UVERYLONG is the longest number, DAT_PADDR a physical address. */
typedef uint32_t DAT_UINT32;
typedef uint64_t DAT_UINT64;
typedef unsigned long long DAT_UVERYLONG;
typedef void *DAT_PVOID;
typedef int DAT_COUNT;
typedef DAT_UINT64 DAT_PADDR;

/* Addresses of adapters are socket addresses; only the IP in them counts. */
typedef struct sockaddr DAT_SOCK_ADDR;
typedef struct sockaddr_in6 DAT_SOCK_ADDR6;

#define DAT_AF_INET					AF_INET
#define DAT_AF_INET6					AF_INET6

/* Old C++ libraries define the macro only for programs that ask for it. */
#ifndef UINT64_C
#define UINT64_C(c)					c##UL
#endif

#ifdef __cplusplus
}
#endif

#endif /* OPENDAT_DAT_PLATFORM_SPECIFIC_H */
