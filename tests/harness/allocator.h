/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For a test program that puts malloc(), calloc() and realloc() of its own before those of the C library: whether it can
 * (OWN_ALLOCATOR), and what they call. A sanitizer has an allocator of its own, before which none can stand.
 */
#ifndef HARNESS_ALLOCATOR_H
#define HARNESS_ALLOCATOR_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_ALLOCATOR 0
#elif defined(__has_feature)
#define OWN_ALLOCATOR (!__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer))
#else
#define OWN_ALLOCATOR 1
#endif

#if OWN_ALLOCATOR
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);
#endif

#endif
