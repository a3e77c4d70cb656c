/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the administrator allows although the standard forbids it, because existing programs depend
 * on it: the words of allow= in an adapter's line or section of dat.conf, and of DAT_ALLOW in the
 * environment. dat.conf(5) lists them.
 */
#ifndef DATP_ALLOW_H
#define DATP_ALLOW_H

#include "core.h"

/* Bits of ia_priv.allow. */
enum allow {
	/* DEFAULT and UNSIGNALLED completions share an EVD (CONSUMER-61). */
	ALLOW_MIXED_COMPLETIONS = 1u << 0,
};

/*
 * Sets ia_priv.allow from the environment and from the words in `params`. *rest is `params` without
 * those words, for the plugin; the caller frees it. DATP_ERR_PARAM: a word is not known, which the
 * message says; DATP_ERR_MEMORY. No lock held; before the IA is published.
 */
enum datp_err allow_take(struct datp_ia *ia, const char *params, char **rest);
/*
 * Puts the attribute "allow" behind the provider's own named attributes in ia_priv.attr, for
 * dat_ia_query. DATP_ERR_MEMORY. allow_hide() frees what that took, and is harmless without it.
 */
enum datp_err allow_show(struct datp_ia *ia);
void allow_hide(struct datp_ia *ia);

/* Any lock. */
static inline bool ia_allows(struct datp_ia *ia, enum allow what)
{
	return ia_priv(ia)->allow & (uint32_t)what;
}

#endif
