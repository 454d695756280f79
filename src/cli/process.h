// How each of the programs sets up its process.
#pragma once

#include <string_view>

namespace rdcp::cli {

// Blocks SIGINT, SIGTERM, SIGHUP (and SIGTSTP, where suspending must be told to others) in this thread, and
// so in all that it starts, and hands them to a signalfd(2). Writes to what nobody reads are errors from now
// on.
enum class Suspend : unsigned char { by_default, by_descriptor };
int signals_as_descriptor(Suspend suspend);

// Room for many files and for memory that one thread allocates and another frees.
void raise_limits();

// All of it, also where ssh, which shares the descriptor, has made it non-blocking: then stdio would drop
// what a full pipe does not take.
void write_to_stderr(std::string_view text);

}  // namespace rdcp::cli
