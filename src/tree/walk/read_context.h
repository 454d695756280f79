// What everything needs that reads entries at a source.
#pragma once

#include "tree/meta/metadata.h"
#include "tree/meta/names.h"
#include "tree/protocol/reporter.h"

namespace rdcp::tree {

// names, reporter: thread-safe; outlive who has the context.
struct ReadContext {
  MetadataPolicy policy;  // what of the metadata is read
  NameTable& names;
  Reporter& reporter;
};

}  // namespace rdcp::tree
