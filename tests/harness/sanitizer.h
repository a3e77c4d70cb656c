/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells which sanitizer a file is compiled for: ADDRESS_SANITIZER and THREAD_SANITIZER are 1 or 0. */
#ifndef HARNESS_SANITIZER_H
#define HARNESS_SANITIZER_H

/* gcc defines a name, and clang has a feature */
#if defined(__SANITIZE_ADDRESS__)
#define ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ADDRESS_SANITIZER 1
#endif
#endif
#ifndef ADDRESS_SANITIZER
#define ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER 1
#endif
#endif
#ifndef THREAD_SANITIZER
#define THREAD_SANITIZER 0
#endif

#endif
