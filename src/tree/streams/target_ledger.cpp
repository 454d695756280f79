#include "tree/streams/target_ledger.h"

namespace rdcp::tree {

Ledger TargetLedger::tell() const {
  Ledger ledger = frames.tell();
  ledger.missing = entries.size() + names.size();
  return ledger;
}

}  // namespace rdcp::tree
