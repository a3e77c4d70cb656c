/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For a test program that defines malloc(), calloc() and realloc() itself. OWN_ALLOCATOR is 1 if it can; under a sanitizer,
 * which replaces these functions, it cannot. The functions of the C library that its own ones call are declared here.
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
