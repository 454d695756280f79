#include "tree/guards/admitted_names.h"

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

const char* AdmittedNames::admit(std::string_view bytes, EntryPath& to) const {
  to.text_.clear();
  if (!is_safe_path(bytes)) return "unsafe path";
  if (!all_ && !tops_.contains(bytes.substr(0, bytes.find('/'))))
    return "outside the destination of the copy";
  to.text_ = bytes;
  return nullptr;
}

}  // namespace rdcp::tree
