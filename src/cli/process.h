// How each of the programs sets up its process.
#pragma once

#include <string_view>

#include "io/result.h"

namespace rdcp::cli {

// First of all. A file that is larger than it may be (ulimit -f) is an error from now on, of that file; the
// end of memory ends the process with exit status 1, and says so, whichever thread meets it.
void set_up_process();

// Blocks SIGINT, SIGTERM, SIGHUP (and SIGTSTP, where suspending must be told to others) in this thread, and
// so in all that it starts, and hands them to a signalfd(2). Writes to what nobody reads are errors from now
// on.
enum class Suspend : unsigned char { by_default, by_descriptor };
int signals_as_descriptor(Suspend suspend);

// Room for many files and for memory that one thread allocates and another frees.
void raise_limits();

// True while a signal waits to be taken from that descriptor that is to end the program.
bool end_is_asked_for();

// What a program prints instead of doing its work: help, a version, what is wrong with its options. The exit
// status: the given one, unless that cannot be printed.
int print_and_end(std::string_view program, std::string_view out, std::string_view err, int status);

}  // namespace rdcp::cli
