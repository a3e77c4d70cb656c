/* SPDX-License-Identifier: BSD-2-Clause */
/* What the mutants of mutant.c, and those of the order of memory in mutant_order.c, have in common. */
#ifndef MUTANT_H
#define MUTANT_H

#include <dlfcn.h>
#include <stdbool.h>

#include <dat/udat.h>

/* Is this the rule to break? */
bool is(const char *name);

/* The function that this one stands in front of. */
#define NEXT(name)	((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define TYPE(ret)	DAT_GET_TYPE(ret)
#define ERROR(type)	(DAT_CLASS_ERROR | (DAT_RETURN)(type))

/* Takes a send, to post it later: true, with what the post answers. */
bool order_takes_send(DAT_EP_HANDLE ep, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
		      DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags, DAT_RETURN *ret);

/* An EVD is about to be looked at. */
void order_look(void);

#endif
