/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For a test program that defines malloc(), calloc() and realloc() itself. OWN_ALLOCATOR is 1 if it can; under a sanitizer,
 * which replaces these functions, it cannot. The functions of the C library that its own ones call are declared here.
 */
#ifndef HARNESS_ALLOCATOR_H
#define HARNESS_ALLOCATOR_H

#include <stddef.h>

#include "sanitizer.h"

#define OWN_ALLOCATOR (!ADDRESS_SANITIZER && !THREAD_SANITIZER)

#if OWN_ALLOCATOR
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);
#endif

#endif
