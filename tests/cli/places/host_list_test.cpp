#include "cli/places/host_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdcp::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> expanded(std::string_view list) {
  const auto hosts = expand_hosts(list);
  EXPECT_TRUE(hosts) << list << ": " << (hosts ? "" : hosts.error().message());
  return hosts ? *hosts : std::vector<std::string>();
}

std::string fault(std::string_view list) {
  const auto hosts = expand_hosts(list);
  EXPECT_FALSE(hosts) << list;
  if (!hosts) {
    EXPECT_EQ(hosts.error().kind, io::ErrorKind::usage);
  }
  return hosts ? std::string() : hosts.error().message();
}

TEST(HostListTest, ExpandsWhatPdshSlurmAndClusterShellWrite) {
  EXPECT_THAT(expanded("a"), ElementsAre("a"));
  EXPECT_THAT(expanded("a,b"), ElementsAre("a", "b"));
  EXPECT_THAT(expanded("gpu[001-003]"), ElementsAre("gpu001", "gpu002", "gpu003"));
  EXPECT_THAT(expanded("gpu[1-2,7],cpu3"), ElementsAre("gpu1", "gpu2", "gpu7", "cpu3"));
  EXPECT_THAT(expanded("rack[1-2]n[01-02]"), ElementsAre("rack1n01", "rack1n02", "rack2n01", "rack2n02"));
  EXPECT_THAT(expanded("n[1-2].cluster.org"), ElementsAre("n1.cluster.org", "n2.cluster.org"));
  EXPECT_THAT(expanded("n[08-11]"), ElementsAre("n08", "n09", "n10", "n11"));
  EXPECT_THAT(expanded("n[98-101]"), ElementsAre("n98", "n99", "n100", "n101"));
  EXPECT_THAT(expanded("n[0-8/4]"), ElementsAre("n0", "n4", "n8"));
  EXPECT_THAT(expanded("me@n[1-2],you@m"), ElementsAre("me@n1", "me@n2", "you@m"));
  EXPECT_THAT(expanded("u[1-2]@n"), ElementsAre("u1@n", "u2@n"));
  EXPECT_THAT(expanded("@gpus,n1"), ElementsAre("@gpus", "n1"));
}

TEST(HostListTest, KeepsAHostOnce) {
  EXPECT_THAT(expanded("n[1-3],n2,n4"), ElementsAre("n1", "n2", "n3", "n4"));
}

TEST(HostListTest, RefusesWhatIsNoList) {
  EXPECT_THAT(fault(""), HasSubstr("empty"));
  EXPECT_THAT(fault("a,,b"), HasSubstr("empty"));
  EXPECT_THAT(fault("a,"), HasSubstr("empty"));
  EXPECT_THAT(fault("n[1-3"), HasSubstr("bracket"));
  EXPECT_THAT(fault("n1-3]"), HasSubstr("bracket"));
  EXPECT_THAT(fault("n[]"), HasSubstr("no range"));
  EXPECT_THAT(fault("n[1-]"), HasSubstr("no range"));
  EXPECT_THAT(fault("n[a-b]"), HasSubstr("no range"));
  EXPECT_THAT(fault("n[-1]"), HasSubstr("no range"));
  EXPECT_THAT(fault("n[1-9/0]"), HasSubstr("no range"));
  EXPECT_THAT(fault("n[1[2]]"), HasSubstr("no range"));
  EXPECT_THAT(fault("n[9-1]"), HasSubstr("backwards"));
  for (const char* place : {"n1:/x", "n[1-2]:x", "a,b/c"})
    EXPECT_THAT(fault(place), HasSubstr("':' or '/'")) << place;
  EXPECT_THAT(fault("n[1-99999999999999999999]"), HasSubstr("no range"));
}

TEST(HostListTest, IsBounded) {
  EXPECT_EQ(expanded("n[1-16384]").size(), kHostsMax);
  EXPECT_THAT(fault("n[0-16384]"), HasSubstr("more than 16384"));
  EXPECT_THAT(fault("n[0-999999999]"), HasSubstr("more than 16384"));
  EXPECT_THAT(fault("n[0-999][0-999]"), HasSubstr("more than 16384"));
  EXPECT_THAT(fault("n[0-9999],m[0-9999]"), HasSubstr("more than 16384"));
  EXPECT_THAT(fault(std::string(1025, 'n') + "[1-9999]"), HasSubstr("too long"));
}

TEST(HostListTest, TellsAListFromAHost) {
  for (const char* list : {"a,b", "n[1-2]", "@group", "me@n[1-2]", "a[1][2]"})
    EXPECT_TRUE(is_host_list(list)) << list;
  for (const char* host : {"a", "me@a", "[::1]", "me@[fe80::1%eth0]", "a.b.c"})
    EXPECT_FALSE(is_host_list(host)) << host;
}

}  // namespace
}  // namespace rdcp::cli
