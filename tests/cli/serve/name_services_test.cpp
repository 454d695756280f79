#include "cli/serve/name_services.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/tree/scratch_directory.h"

namespace rdcp::cli {
namespace {

std::string said_of(const std::string& nsswitch) {
  const tree::ScratchDirectory scratch;
  const std::string path = scratch / "nsswitch.conf";
  std::ofstream(path) << nsswitch;
  return unasked_name_services(path.c_str());
}

TEST(NameServices, FilesAloneAreNotWorthAWord) {
  EXPECT_EQ(said_of("passwd: files systemd\ngroup:  files [SUCCESS=merge] systemd\nhosts: files dns\n"), "");
  EXPECT_EQ(said_of("# passwd: sss\n\npasswd:\ngroup: compat # ldap\n"), "");
  EXPECT_EQ(unasked_name_services("/nowhere/nsswitch.conf"), "");
}

TEST(NameServices, OthersAreNamedOnce) {
  const std::string before =
      "users and groups are those of /etc/passwd and /etc/group there: a static rdcp does not ask ";
  EXPECT_EQ(said_of("passwd: files sss\ngroup: files sss\n"), before + "sss");
  EXPECT_EQ(
      said_of("passwd: ldap [NOTFOUND=return UNAVAIL=continue] files\ngroup: files [!UNAVAIL = return] nis"),
      before + "ldap, nis");
}

}  // namespace
}  // namespace rdcp::cli
