// The times of a directory in which rdcp makes and removes names of its own for a while.
#pragma once

#include <functional>
#include <string_view>

#include "tree/meta/metadata.h"

namespace rdcp::tree {

// Calls change(), and gives the directory the modification time back that it had before, if that is another
// one now. The directory may be equal to its source otherwise, and then nothing else would set its time
// again; so a time that cannot be given back is a loss, about `subject`. It is none for who does not own the
// directory, and so could not set its source's time either.
void with_times_kept(int directory, std::string_view subject, Losses& losses,
                     const std::function<void()>& change);

}  // namespace rdcp::tree
