// Names that a source may use, and what holds for each name that was let in.
#pragma once

#include "tests/fuzz/fuzz.h"
#include "tree/guards/admitted_names.h"

namespace rdcp::fuzz {

inline constexpr std::string_view kLanding = "a";

// All names, or only those at and beneath kLanding.
inline const tree::AdmittedNames& admitted_names(bool all) {
  static const tree::AdmittedNames everything = tree::AdmittedNames::all();
  static const tree::AdmittedNames landing = tree::AdmittedNames::create({std::string(kLanding)}).value();
  return all ? everything : landing;
}

inline bool lies_where_it_may(std::string_view path, bool all) {
  if (!tree::is_safe_path(path)) return false;
  return all || path == kLanding || path.starts_with(std::string(kLanding) + "/");
}

}  // namespace rdcp::fuzz
