/* SPDX-License-Identifier: BSD-2-Clause */
/* What share.c does under the model checker in place of a system call. */
#ifndef TESTS_SOFT_MODEL_SHARE_H
#define TESTS_SOFT_MODEL_SHARE_H

void model_unmap(const void *at);

#endif
