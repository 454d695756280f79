#include "cli/pipes/pipe_options.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "cli/text/exit_status.h"
#include "cli/text/version.h"

namespace rdcp::cli {
namespace {

using Words = std::initializer_list<const char*>;

ParsedPipe parse(const char* program, Words words) {
  std::vector<const char*> argv{program};
  argv.insert(argv.end(), words);
  const auto parse = program == std::string("rdsend") ? parse_send_options : parse_receive_options;
  return parse(static_cast<int>(argv.size()), argv.data());
}

PipeOptions good(const char* program, Words words) {
  const ParsedPipe parsed = parse(program, words);
  EXPECT_FALSE(parsed.exit_status.has_value()) << parsed.text_err;
  EXPECT_EQ(parsed.text_out + parsed.text_err, "");
  EXPECT_EQ(parsed.options.copy.program, program);
  return parsed.options;
}

void expect_usage_error(const char* program, Words words, std::string_view reason) {
  const ParsedPipe parsed = parse(program, words);
  EXPECT_EQ(parsed.exit_status, kExitUsage) << reason;
  EXPECT_TRUE(parsed.text_err.starts_with(std::string(program) + ": ")) << parsed.text_err;
  EXPECT_NE(parsed.text_err.find(reason), std::string::npos) << parsed.text_err << "lacks: " << reason;
  EXPECT_NE(parsed.text_err.find(std::string("try '") + program + " --help'"), std::string::npos);
}

TEST(SendOptions, Positional) {
  const PipeOptions options = good("rdsend", {"-v", "host", "1234", "secret"});
  EXPECT_TRUE(options.copy.verbose);
  EXPECT_EQ(options.host, "host");
  EXPECT_EQ(options.port, 1234);
  EXPECT_EQ(options.key.word, "secret");
  EXPECT_EQ(options.file, "");
  EXPECT_EQ(options.wait, std::chrono::seconds(10));
  EXPECT_EQ(good("rdsend", {"host", "1234", "secret", "file"}).file, "file");
  EXPECT_EQ(good("rdsend", {"host", "1234", "secret", "/dev/stdin"}).file, "");
  EXPECT_EQ(good("rdrecv", {"1234", "secret", "/dev/stdout"}).file, "");
  EXPECT_EQ(good("rdrecv", {"1234", "secret", "/dev/fd/1"}).file, "");
  EXPECT_EQ(good("rdrecv", {"1234", "secret", "//dev/./stdout"}).file, "");
  for (const char* file : {"/dev/stderr", "//dev/stdin", "/proc/self/fd/0"})
    expect_usage_error("rdrecv", {"1234", "secret", file}, "goes the other way");
  EXPECT_EQ(good("rdsend", {"host", "1234", "secret", "-"}).file, "");
}

TEST(ReceiveOptions, Positional) {
  const PipeOptions options = good("rdrecv", {"0", "secret", "dir/file", "-v"});
  EXPECT_TRUE(options.copy.verbose);
  EXPECT_EQ(options.port, 0);
  EXPECT_EQ(options.key.word, "secret");
  EXPECT_EQ(options.file, "dir/file");
  EXPECT_EQ(good("rdrecv", {"65535", "secret"}).file, "");
}

TEST(PipeOptions, AKeyFromElsewhereIsNoOperand) {
  EXPECT_EQ(good("rdrecv", {"1", "--key-file", "k", "file"}).file, "file");
  EXPECT_EQ(good("rdrecv", {"1", "--key-file", "k", "file"}).key.file, "k");
  EXPECT_EQ(good("rdrecv", {"1", "--key-file", "k"}).key.word, "");
  EXPECT_EQ(good("rdsend", {"h", "1", "--key-fd", "7", "file"}).file, "file");
  EXPECT_EQ(good("rdsend", {"h", "1", "--key-fd", "7", "file"}).key.fd, 7);
  EXPECT_EQ(good("rdsend", {"h", "1", "-", "file", "--key-fd=0"}).file, "file");
  EXPECT_EQ(good("rdsend", {"h", "1", "-", "--key-fd=0"}).key.fd, 0);
}

TEST(PipeOptions, KeysMayLookLikeAnything) {
  EXPECT_EQ(good("rdrecv", {"1", "--", "--key"}).key.word, "--key");
  EXPECT_EQ(good("rdrecv", {"1", "[a,b]"}).key.word, "[a,b]");
  EXPECT_EQ(good("rdrecv", {"1", "1"}).key.word, "1");
}

TEST(PipeOptions, TheRestIsAsInRdcp) {
  const Options copy =
      good("rdsend",
           {"h",           "1",       "k",     "--streams", "7",         "--chunk-size", "64K",
            "--transport", "tcp",     "--via", "eth0",      "--bwlimit", "1M",           "--congestion",
            "bbr",         "--cache", "keep",  "--ring",    "threads",   "--progress",   "--wait",
            "3",           "--tos",   "ef"})
          .copy;
  EXPECT_EQ(copy.streams, 7u);
  EXPECT_EQ(copy.chunk_bytes, 65536u);
  EXPECT_EQ(copy.transport, tree::Transport::tcp);
  EXPECT_EQ(copy.via, "eth0");
  EXPECT_EQ(copy.bwlimit, 1u << 20);
  EXPECT_EQ(copy.congestion, "bbr");
  EXPECT_EQ(copy.traffic_class, 46 << 2);
  EXPECT_EQ(copy.cache, io::CacheMode::keep);
  EXPECT_EQ(copy.ring, io::RingChoice::thread_pool);
  EXPECT_TRUE(copy.progress);
  EXPECT_EQ(good("rdsend", {"h", "1", "k", "--wait", "0"}).wait, std::chrono::seconds(0));
  EXPECT_EQ(good("rdrecv", {"1", "k", "--cache", "bypass", "--via", "lo"}).copy.via, "lo");
}

TEST(PipeOptions, BothMayBeToldToEncryptTheSenderToCompress) {
  EXPECT_EQ(good("rdrecv", {"1", "key"}).copy.encrypt, net::Sealing::rather);
  EXPECT_EQ(good("rdrecv", {"--encrypt", "1", "key"}).copy.encrypt, net::Sealing::always);
  EXPECT_EQ(good("rdrecv", {"--no-encrypt", "1", "key"}).copy.encrypt, net::Sealing::never);
  const PipeOptions send = good("rdsend", {"--encrypt", "--compress=2", "host", "1", "key"});
  EXPECT_EQ(send.copy.encrypt, net::Sealing::always);
  EXPECT_EQ(send.copy.compress, 2);
  expect_usage_error("rdrecv", {"--compress", "1", "key"}, "--compress");
}

TEST(PipeOptions, WhatMakesNoSenseIsRefused) {
  expect_usage_error("rdsend", {}, "HOST is missing");
  expect_usage_error("rdsend", {"h"}, "PORT is missing");
  expect_usage_error("rdsend", {"h", "1"}, "KEY is missing");
  expect_usage_error("rdsend", {"h", "1", ""}, "KEY: is empty");
  expect_usage_error("rdsend", {"", "1", "k"}, "HOST: is empty");
  expect_usage_error("rdsend", {"h", "0", "k"}, "PORT");
  expect_usage_error("rdrecv", {"65536", "k"}, "PORT");
  expect_usage_error("rdrecv", {"port", "k"}, "PORT");
  expect_usage_error("rdrecv", {"1", "k", "file", "more"}, "one argument too many");
  expect_usage_error("rdrecv", {"1", "-"}, "--key-fd");
  expect_usage_error("rdrecv", {"1", "--key-fd", "3", "--key-file", "k"}, "cannot be used with");
  expect_usage_error("rdrecv", {"1", "k", "--streams", "2"}, "unknown option");
  expect_usage_error("rdrecv", {"1", "k", "-q", "-v"}, "cannot be used with -v");
  expect_usage_error("rdsend", {"h", "1", "k", "--wait", "-1"}, "--wait");
}

TEST(PipeOptions, TheWordTooManyIsNotTold) {
  EXPECT_EQ(parse("rdrecv", {"1", "k", "file", "a_secret"}).text_err.find("a_secret"), std::string::npos);
}

TEST(PipeOptions, HelpAndVersion) {
  EXPECT_EQ(parse("rdsend", {"--version"}).text_out, version_text("rdsend"));
  EXPECT_EQ(parse("rdrecv", {"--help"}).exit_status, kExitOk);
  EXPECT_TRUE(parse("rdrecv", {"--help"}).text_out.starts_with("Usage: rdrecv "));
}

}  // namespace
}  // namespace rdcp::cli
