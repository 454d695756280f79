#include "cli/copy/copy_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tree/fs/own_names.h"

namespace rdcp::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using tree::Connect;

Options options_of(const std::vector<std::string>& words) {
  Options options;
  for (const std::string& word : words) options.sources.push_back(*parse_location(word));
  options.destination = options.sources.back();
  options.sources.pop_back();
  return options;
}

TEST(CopyRequest, PathsAreThoseOfTheUser) {
  const CopyRequest request = request_of(options_of({"gpu1:a", "gpu1:b/", "/data"}));
  EXPECT_THAT(request.sources, ElementsAre("a", "b/"));
  EXPECT_EQ(request.destination, "/data");
  EXPECT_FALSE(request.standard_input);
  EXPECT_FALSE(request.standard_output);
}

// Those that are left of a list of hosts may be one.
TEST(CopyRequest, EveryListOfHostsHasTheSameMarker) {
  Options options = options_of({"tree", "gpu1:/data"});
  options.recursive = true;
  const std::string marker = request_of(options).run_marker;
  options.further_destinations = {*parse_location("gpu2:/data")};
  EXPECT_EQ(request_of(options).run_marker, marker);
  options = options_of({"tree", "user@gpu2:/data"});
  options.recursive = true;
  EXPECT_EQ(request_of(options).run_marker, marker);
  options = options_of({"tree", "gpu2:/other"});
  options.recursive = true;
  EXPECT_NE(request_of(options).run_marker, marker);
}

TEST(CopyRequest, ADashIsAStandardStream) {
  EXPECT_TRUE(request_of(options_of({"-", "gpu1:x"})).standard_input);
  EXPECT_FALSE(request_of(options_of({"-", "gpu1:x"})).standard_output);
  EXPECT_TRUE(request_of(options_of({"gpu1:x", "-"})).standard_output);
}

TEST(CopyRequest, TheSideThatSshHasReachedListens) {
  const auto meets = [](const std::string& source, const std::string& target) {
    return request_of(options_of({source, target}));
  };
  EXPECT_EQ(meets("a", "h:b").parties.source_connects, Connect::connect);
  EXPECT_EQ(meets("h:a", "b").parties.source_connects, Connect::listen);
  EXPECT_EQ(meets("h:a", "i:b").parties.source_connects, Connect::connect);
  EXPECT_EQ(meets("a", "b").parties.source_connects, Connect::in_process);
  EXPECT_TRUE(meets("h:a", "i:b").parties.target_is_far);
  EXPECT_FALSE(meets("h:a", "b").parties.target_is_far);
  EXPECT_TRUE(meets("a", "h:b").view.sends);
  EXPECT_FALSE(meets("h:a", "b").view.sends);
  EXPECT_FALSE(meets("h:a", "i:b").view.sends);
}

TEST(CopyRequest, OnlyWhatGoesOverTheNetworkIsWrapped) {
  Options options = options_of({"a", "b"});
  options.encrypt = net::Sealing::always;
  EXPECT_FALSE(request_of(options).wraps());
  options.destination = *parse_location("h:b");
  EXPECT_TRUE(request_of(options).wraps());
  options.encrypt = net::Sealing::rather;
  EXPECT_FALSE(request_of(options).wraps());
  options.compress = net::kCompressAuto;
  EXPECT_TRUE(request_of(options).wraps());
}

TEST(CopyRequest, ViaSshIsNoAddress) {
  Options options = options_of({"a", "h:b"});
  options.via = "ssh";
  const CopyRequest request = request_of(options);
  EXPECT_EQ(request.ssh_data, Options::SshData::always);
  EXPECT_THAT(request.wish.via, IsEmpty());
  EXPECT_EQ(request.wish.transport, tree::Transport::tcp);
  options.via = "eth0";
  EXPECT_EQ(request_of(options).ssh_data, Options::SshData::if_needed);
  EXPECT_EQ(request_of(options).wish.via, "eth0");
}

TEST(CopyRequest, OnlyAWholeTreeThatMayBeResumedLeavesAMarker) {
  Options options = options_of({"a", "h:b"});
  EXPECT_THAT(request_of(options).run_marker, IsEmpty());
  options.recursive = true;
  const std::string marker = request_of(options).run_marker;
  EXPECT_EQ(tree::own_name(marker), tree::OwnName::run) << marker;
  EXPECT_EQ(request_of(options).run_marker, marker);
  options.destination.path = "c";
  EXPECT_NE(request_of(options).run_marker, marker);
  options.resume = false;
  EXPECT_THAT(request_of(options).run_marker, IsEmpty());
  options.resume = true;
  options.sync.enabled = true;
  EXPECT_EQ(tree::own_name(request_of(options).run_marker), tree::OwnName::run);
  options.sync.dry_run = true;
  EXPECT_THAT(request_of(options).run_marker, IsEmpty());
}

TEST(CopyRequest, SettingsAreThoseOfTheOptions) {
  Options options = options_of({"a", "h:b"});
  options.chunk_bytes = 65536;
  options.owner = false;
  options.xattrs = false;
  options.numeric_ids = true;
  options.congestion = "bbr";
  options.traffic_class = 104;
  options.verify = true;
  options.resume = false;
  options.fsync = true;
  options.retry_seconds = 7;
  options.data_port = 99;
  options.via = "eth9";
  options.bwlimit = 5;
  options.streams = 3;
  options.umask = 077;
  const CopyRequest request = request_of(options);
  const tree::CopySettings settings = copy_settings(request, EarlierRun::none);
  EXPECT_EQ(settings.chunk_bytes, 65536u);
  EXPECT_FALSE(settings.keep_owner || settings.keep_xattrs || settings.resume);
  EXPECT_TRUE(settings.numeric_ids && settings.verify && settings.fsync);
  EXPECT_EQ(settings.congestion, "bbr");
  EXPECT_EQ(request.traffic_class, 104);
  EXPECT_EQ(settings.retry_seconds, 7u);
  EXPECT_EQ(request.wish.port, 99);
  EXPECT_EQ(request.wish.via, "eth9");
  EXPECT_EQ(request.bytes_per_second, 5u);
  EXPECT_EQ(request.streams, 3u);
  EXPECT_EQ(request.umask, 077u);
}

TEST(CopyRequest, AnEarlierRunIsComparedWith) {
  const CopyRequest request = request_of(options_of({"a", "h:b"}));
  const auto none = copy_settings(request, EarlierRun::none);
  EXPECT_FALSE(none.sync.enabled || none.delta || none.checksum);
  const auto sound = copy_settings(request, EarlierRun::sound);
  EXPECT_TRUE(sound.sync.enabled && sound.delta);
  EXPECT_FALSE(sound.sync.checksum || sound.checksum);
  const auto doubtful = copy_settings(request, EarlierRun::doubtful);
  EXPECT_TRUE(doubtful.sync.enabled && doubtful.delta && doubtful.sync.checksum && doubtful.checksum);
}

TEST(CopyRequest, DeltasAreForMirrorsAndFilesWrittenInPlace) {
  Options options = options_of({"a", "h:b"});
  options.inplace = true;
  EXPECT_TRUE(copy_settings(request_of(options), EarlierRun::none).delta);
  options.whole_file = true;
  EXPECT_FALSE(copy_settings(request_of(options), EarlierRun::none).delta);
  EXPECT_FALSE(copy_settings(request_of(options), EarlierRun::sound).delta);
}

TEST(CopyRequest, ChangesAreToldBeforeFilesAreOpened) {
  Options options = options_of({"a", "h:b"});
  options.sync.enabled = options.sync.checksum = true;
  EXPECT_TRUE(copy_settings(request_of(options), EarlierRun::none).checksum);
  options.sync.itemize = true;
  EXPECT_FALSE(copy_settings(request_of(options), EarlierRun::none).checksum);
}

TEST(CopyRequest, AStreamNeedsNoLocation) {
  Options options;
  options.program = "rdsend";
  options.encrypt = net::Sealing::always;
  Parties parties;
  parties.have_key = true;
  const CopyRequest request = stream_request(options, std::move(parties));
  EXPECT_TRUE(request.standard_input);
  EXPECT_FALSE(request.standard_output);
  EXPECT_THAT(request.sources, ElementsAre("-"));
  EXPECT_THAT(request.run_marker, IsEmpty());
  EXPECT_TRUE(request.parties.have_key);
  EXPECT_TRUE(request.wraps());
  EXPECT_EQ(request.view.program, "rdsend");
}

}  // namespace
}  // namespace rdcp::cli
