/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds out whether the kernel lets this process copy to and from the memory of a peer's process. Service thread. */
#ifndef SOFT_PROBE_H
#define SOFT_PROBE_H

#include "sock.h"

/*
 * Finds that out for the process at the other end of a socket, which has sent this introduction. Returns false if
 * soft_socket.copies says it now. Returns true if it takes longer: then soft_socket_resume() is called when soft_socket.copies says
 * it, unless the socket ends before.
 */
bool soft_probe_begin(struct soft_socket *sock, const struct soft_intro *intro);
/*
 * Returns true if that is being found out for this process already, because of another socket. Then nothing is to be read from this
 * one, and soft_socket_resume() is called when it is known.
 */
bool soft_probe_join(struct soft_socket *sock);
/* The socket ends: takes it off the list of those that wait. */
void soft_probe_forget(struct soft_socket *sock);
/* Resumes the sockets whose answer is there. */
void soft_probes_look(struct soft_ia *ia);
/* The IA is closed, and has no sockets any more. */
void soft_probes_fini(struct soft_ia *ia);

#endif
