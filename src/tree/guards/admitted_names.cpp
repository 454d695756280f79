#include "tree/guards/admitted_names.h"

#include "tree/meta/entry.h"

namespace rdcp::tree {

io::Result<AdmittedNames> AdmittedNames::create(const std::vector<std::string>& landings) {
  AdmittedNames names;
  for (const std::string& landing : landings) {
    if (!is_safe_path(landing) || landing.find('/') != std::string::npos) {
      return io::plain_error(io::ErrorKind::protocol, "copy to", landing, "nothing is copied to such a name");
    }
    if (landing.empty()) names.all_ = true;
    names.tops_.insert(landing);
  }
  return names;
}

AdmittedNames AdmittedNames::all() {
  AdmittedNames names;
  names.all_ = true;
  return names;
}

const char* AdmittedNames::fault_of(std::string_view path) const {
  if (!is_safe_path(path)) return "unsafe path";
  if (all_) return nullptr;
  return tops_.contains(path.substr(0, path.find('/'))) ? nullptr : "outside the destination of the copy";
}

}  // namespace rdcp::tree
