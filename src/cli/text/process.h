// Sets up the process of each program.
#pragma once

#include <string_view>

#include "io/result.h"

namespace rdcp::cli {

// Must be called first. From then on a write beyond the file size limit (ulimit -f) is an error of that file,
// not a signal; and when any thread runs out of memory, the process says so and ends with exit status 1.
void set_up_process();

// Blocks SIGINT, SIGTERM, SIGHUP, SIGALRM (and SIGTSTP, where agents must be told of it) in this thread and
// so in all that it starts, and returns a signalfd(2) of them. If none can be made it returns -1, and the
// signals are not blocked. Also ignores SIGPIPE: a write that nobody reads is an error from then on.
enum class Suspend : unsigned char { by_default, by_descriptor };
int signals_as_descriptor(Suspend suspend);

// Gets the process ready to copy; must be called while there is one thread, and before any key is used.
// Raises the limit of open files as far as it goes, limits malloc's arenas, because memory that one thread
// allocates and another frees would pile up in them, and prepares OpenSSL. Without the memory for that the
// process says so and ends with exit status 1.
void prepare_to_copy();

// Returns a pending signal that is to end the program (SIGINT, SIGTERM, SIGHUP, SIGALRM), or 0.
int end_is_asked_for();

// Prints what a program says instead of doing its work: help, a version, what is wrong with its options.
// Returns `status`, or at least kExitFiles if standard output cannot be written.
int print_and_end(std::string_view program, std::string_view out, std::string_view err, int status);

}  // namespace rdcp::cli
