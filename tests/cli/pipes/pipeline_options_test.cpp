#include "cli/pipes/pipeline_options.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "cli/pipes/pipe_coordinator.h"
#include "cli/text/exit_status.h"
#include "cli/text/version.h"

namespace rdcp::cli {
namespace {

using Words = std::initializer_list<const char*>;

ParsedPipeline parse(Words words) {
  std::vector<const char*> argv{"rdpipe"};
  argv.insert(argv.end(), words);
  return parse_pipeline_options(static_cast<int>(argv.size()), argv.data());
}

PipelineOptions good(Words words) {
  const ParsedPipeline parsed = parse(words);
  EXPECT_FALSE(parsed.exit_status.has_value()) << parsed.text_err;
  return parsed.options;
}

TEST(PipelineOptions, SegmentsInTheirOrder) {
  const PipelineOptions options = good({"a:x", "y", "b:> f"});
  ASSERT_EQ(options.segments.size(), 3u);
  EXPECT_EQ(options.segments[0].host_name(), "a");
  EXPECT_EQ(options.segments[1].host_name(), "this host");
  EXPECT_EQ(options.segments[2].what(), "> f");
  EXPECT_EQ(options.copy.program, "rdpipe");
  EXPECT_EQ(options.port, 0);
  EXPECT_FALSE(options.dry_run);
}

TEST(PipelineOptions, TheOriginalsOwn) {
  const PipelineOptions options = good({"-v", "-n", "-p", "7691", "-H", "me.example", "a:x"});
  EXPECT_TRUE(options.copy.verbose);
  EXPECT_TRUE(options.dry_run);
  for (const char* word : {"--dryrun", "--dry-run"}) EXPECT_TRUE(good({word, "a:x"}).dry_run);
  EXPECT_EQ(options.port, 7691);
  EXPECT_EQ(options.hostname, "me.example");
}

TEST(PipelineOptions, ThoseOfRdcp) {
  const PipelineOptions options = good({"-F", "conf", "-i", "key", "-o", "Port=1", "--rdcp-path", "/x",
                                        "--transport", "tcp", "--bwlimit", "1K", "a:x"});
  EXPECT_EQ(options.copy.shell.ssh_config, "conf");
  EXPECT_EQ(options.copy.shell.ssh_options, std::vector<std::string>{"Port=1"});
  EXPECT_EQ(options.copy.shell.rdcp_path, "/x");
  EXPECT_EQ(options.copy.transport, tree::Transport::tcp);
  EXPECT_EQ(options.copy.bwlimit, 1024u);
}

TEST(PipelineOptions, Refusals) {
  const Words refused[] = {{},
                           {"a:"},
                           {"-p", "0", "a:x"},
                           {"-p", "65536", "a:x"},
                           {"-p", "65535", "a:x"},
                           {"-q", "-v", "a:x"},
                           {"--agent", "a:x"},
                           {"-e", "rsh", "-i", "key", "a:x"},
                           {"--no"}};
  for (const Words& words : refused) {
    const ParsedPipeline parsed = parse(words);
    EXPECT_EQ(parsed.exit_status, kExitUsage);
    EXPECT_TRUE(parsed.text_err.starts_with("rdpipe: ")) << parsed.text_err;
  }
}

TEST(PipelineOptions, HelpAndVersion) {
  EXPECT_EQ(parse({"-V"}).text_out, version_text("rdpipe"));
  EXPECT_TRUE(parse({"-h"}).text_out.starts_with("Usage: rdpipe"));
}

TEST(DescribePipeline, NamesEachStreamAndItsPort) {
  EXPECT_EQ(describe_pipeline(good({"-p", "7691", "a:x", "b:> f", "c:y"}), true),
            "standard input -> a: a stream, port 7691\n"
            "a: x\n"
            "a -> b: a stream, port 7692\n"
            "b: > f\n"
            "then\n"
            "c: y\n"
            "c -> standard output: a stream, port 7693\n");
}

TEST(DescribePipeline, WithoutInput) {
  EXPECT_EQ(describe_pipeline(good({"a:x"}), false), "a: x\na -> standard output: a stream, port any\n");
}

}  // namespace
}  // namespace rdcp::cli
