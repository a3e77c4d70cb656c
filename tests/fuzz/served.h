/* SPDX-License-Identifier: BSD-2-Clause */
/* The second half of remote_fuzz: datconform's process on the other side takes steps that nobody has checked. */
#ifndef TESTS_FUZZ_SERVED_H
#define TESTS_FUZZ_SERVED_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define DEMAND(x) do { if (!(x)) abort(); } while (0)

/* Makes messages of the bytes, and has remote_serve() take them until it ends. */
void served(const uint8_t *data, size_t size);

#endif
