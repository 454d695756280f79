#include "cli/options/options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include "cli/text/exit_status.h"
#include "cli/text/version.h"

namespace rdcp::cli {
namespace {

Parsed parse(std::initializer_list<const char*> words) {
  std::vector<const char*> argv{"rdcp"};
  argv.insert(argv.end(), words);
  return parse_options(static_cast<int>(argv.size()), argv.data());
}

// Options of a command line that is right; "a b" are appended as operands.
Options good_with(std::initializer_list<const char*> words, const char* source) {
  std::vector<const char*> argv{"rdcp"};
  argv.insert(argv.end(), words);
  argv.insert(argv.end(), {source, "b"});
  const Parsed parsed = parse_options(static_cast<int>(argv.size()), argv.data());
  EXPECT_FALSE(parsed.exit_status.has_value()) << parsed.text_err;
  EXPECT_EQ(parsed.text_out + parsed.text_err, "");
  EXPECT_EQ(parsed.options.sources.size(), 1u);
  EXPECT_EQ(parsed.options.destination.path, "b");
  return parsed.options;
}
Options good(std::initializer_list<const char*> words) {
  return good_with(words, "a");
}
Options good_remote(std::initializer_list<const char*> words) {
  return good_with(words, "host:a");
}

void expect_usage_error(std::initializer_list<const char*> words, std::string_view reason) {
  const Parsed parsed = parse(words);
  EXPECT_EQ(parsed.exit_status, kExitUsage) << reason;
  EXPECT_EQ(parsed.text_out, "");
  EXPECT_TRUE(parsed.text_err.starts_with("rdcp: ")) << parsed.text_err;
  EXPECT_TRUE(parsed.text_err.ends_with("\ntry 'rdcp --help'\n")) << parsed.text_err;
  EXPECT_EQ(std::count(parsed.text_err.begin(), parsed.text_err.end(), '\n'), 2) << parsed.text_err;
  EXPECT_NE(parsed.text_err.find(reason), std::string::npos) << parsed.text_err << "lacks: " << reason;
}

std::vector<std::string> paths(const Options& options) {
  std::vector<std::string> paths;
  for (const Location& source : options.sources) paths.push_back(source.path);
  return paths;
}

TEST(Options, LastOperandIsTheDestination) {
  const Parsed parsed = parse({"a", "host:b", "c"});
  EXPECT_FALSE(parsed.exit_status);
  EXPECT_EQ(paths(parsed.options), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(parsed.options.sources[1].host, "host");
  EXPECT_EQ(parsed.options.destination.path, "c");
}

TEST(Options, DefaultsAreAutomatic) {
  const Options options = good({});
  EXPECT_FALSE(options.recursive || options.verbose || options.quiet || options.progress || options.agent);
  EXPECT_TRUE(options.owner && options.xattrs);
  EXPECT_FALSE(options.numeric_ids);
  EXPECT_EQ(options.shell.rsh, (std::vector<std::string>{"ssh"}));
  EXPECT_EQ(options.shell.rdcp_path, "");
  EXPECT_TRUE(options.shell.deploy);
  EXPECT_EQ(options.shell.ssh_port, 0);
  EXPECT_EQ(options.streams, 0u);
  EXPECT_EQ(options.chunk_bytes, 0u);
  EXPECT_EQ(options.bwlimit, 0u);
  EXPECT_EQ(options.cache, io::CacheMode::automatic);
  EXPECT_EQ(options.ring, io::RingChoice::automatic);
  EXPECT_EQ(options.transport, tree::Transport::automatic);
  EXPECT_EQ(options.via + options.congestion + options.shell.ssh_config, "");
}

TEST(Options, FlagsHaveShortAndLongForms) {
  EXPECT_TRUE(good({"-r"}).recursive);
  EXPECT_TRUE(good({"--recursive"}).recursive);
  EXPECT_TRUE(good({"-p"}).preserve);
  EXPECT_TRUE(good({"-v"}).verbose);
  EXPECT_TRUE(good({"-q"}).quiet);
  EXPECT_TRUE(good({"--progress"}).progress);
  EXPECT_FALSE(good({"--no-owner"}).owner);
  EXPECT_FALSE(good({"--no-xattrs"}).xattrs);
  EXPECT_TRUE(good({"--numeric-ids"}).numeric_ids);
  EXPECT_TRUE(good({"--inplace"}).inplace);
  EXPECT_TRUE(good({"-W"}).whole_file);
  EXPECT_TRUE(good({"--whole-file"}).whole_file);
}

TEST(Options, ShortFlagsMayBeGrouped) {
  const Options options = good({"-rpvP22"});
  EXPECT_TRUE(options.recursive && options.preserve && options.verbose);
  EXPECT_EQ(options.shell.ssh_port, 22);
}

TEST(Options, OptionsMayFollowOperands) {
  const Parsed parsed = parse({"a", "-r", "b", "-v"});
  EXPECT_FALSE(parsed.exit_status);
  EXPECT_TRUE(parsed.options.recursive && parsed.options.verbose);
}

TEST(Options, WordsAfterTwoDashesAreOperands) {
  const Parsed parsed = parse({"-r", "--", "-v", "--help", "--", "b"});
  EXPECT_FALSE(parsed.exit_status) << parsed.text_err;
  EXPECT_EQ(paths(parsed.options), (std::vector<std::string>{"-v", "--help", "--"}));
  EXPECT_FALSE(parsed.options.verbose);
}

TEST(Options, OddNamesReachUsAsTheyAre) {
  const Parsed parsed = parse({"[a,b]", "{}", "++", "%%", "[::1]:x", " ", "a=b", "dst"});
  EXPECT_FALSE(parsed.exit_status) << parsed.text_err;
  EXPECT_EQ(paths(parsed.options), (std::vector<std::string>{"[a,b]", "{}", "++", "%%", "x", " ", "a=b"}));
}

TEST(Options, ValuesMayBeAttachedOrFollow) {
  EXPECT_EQ(good({"--streams", "4"}).streams, 4u);
  EXPECT_EQ(good({"--streams=4"}).streams, 4u);
  EXPECT_EQ(good({"-P", "2222"}).shell.ssh_port, 2222);
  EXPECT_EQ(good({"--port=2222"}).shell.ssh_port, 2222);
  EXPECT_EQ(good({"-oUser=x"}).shell.ssh_options, (std::vector<std::string>{"User=x"}));
}

// scp has -i for a key, rsync for the changes, and each is what its users write.
TEST(Options, ShortIIsSshsInACopyAndRsyncsInAMirror) {
  const std::vector<std::string> key{"key"};
  EXPECT_EQ(good_remote({"-i", "key"}).shell.identity_files, key);
  for (const Options& mirror : {good_remote({"--sync", "-i"}), good_remote({"-ni", "--sync"})}) {
    EXPECT_TRUE(mirror.sync.itemize);
    EXPECT_TRUE(mirror.shell.identity_files.empty());
  }
  EXPECT_EQ(good_remote({"--sync", "--identity", "key"}).shell.identity_files, key);
  expect_usage_error({"--sync", "-i", "key", "a", "host:b"}, "use --identity for a key");
  expect_usage_error({"-i", "key", "--", "a"}, "DST is missing");
}

TEST(Options, LastValueCounts) {
  EXPECT_EQ(good({"--streams=4", "--streams", "8"}).streams, 8u);
}

TEST(Options, SshOptionsKeepTheirOrderAndTakeOneWordEach) {
  const Options options = good({"-i", "k1", "-o", "A=1", "-i", "k2", "-o", "B=[2,3]", "-F", "conf"});
  EXPECT_EQ(options.shell.identity_files, (std::vector<std::string>{"k1", "k2"}));
  EXPECT_EQ(options.shell.ssh_options, (std::vector<std::string>{"A=1", "B=[2,3]"}));
  EXPECT_EQ(options.shell.ssh_config, "conf");
}

TEST(Options, RshIsSplitIntoWords) {
  EXPECT_EQ(good({"-e", "ssh -J 'a b'"}).shell.rsh, (std::vector<std::string>{"ssh", "-J", "a b"}));
  expect_usage_error({"-e", "ssh 'a", "a", "b"}, "a quote is not closed");
  expect_usage_error({"-e", " ", "a", "b"}, "does not name a command");
}

TEST(Options, TheLauncherStandsInForRsh) {
  const RemoteShell shell = good({"--launcher", "kubectl -n a"}).shell;
  EXPECT_EQ(shell.rsh, (std::vector<std::string>{"kubectl", "-n", "a"}));
  EXPECT_EQ(shell.launcher, Launcher::kubectl);
  EXPECT_EQ(good({}).shell.launcher, Launcher::rsh);
  expect_usage_error({"--launcher", "srun", "-e", "ssh", "a", "h:b"}, "cannot be used with --rsh");
  expect_usage_error({"--launcher", "qsub", "a", "h:b"}, "must be one of ssh, srun, kubectl");
  expect_usage_error({"--launcher", "srun", "me@h:a", "b"}, "leave out USER@");
  expect_usage_error({"--launcher", "srun", "a", "h1,me@h2:b"}, "leave out USER@");
  expect_usage_error({"--launcher", "srun", "--doctor", "me@h"}, "leave out USER@");
  expect_usage_error({"--launcher", "srun", "scp://h:22/a", "b"}, "is a port of ssh");
  expect_usage_error({"--launcher", "srun", "-P", "22", "a", "h:b"}, "these are options of ssh");
}

TEST(Options, SshOptionsAreRefusedForAnotherCommand) {
  expect_usage_error({"-e", "rsh", "scp://h:22/a", "b"}, "is a port of ssh");
  expect_usage_error({"-e", "rsh", "--doctor", "scp://h:22"}, "is a port of ssh");
  EXPECT_EQ(parse({"--doctor", "ssh://me@h:22"}).options.doctor_host->port, 22);
  EXPECT_TRUE(runs_ssh(good({"-e", "/opt/bin/ssh -4", "-P", "22"}).shell));
  EXPECT_FALSE(runs_ssh(good({"-e", "kubectl-exec"}).shell));
  expect_usage_error({"-e", "sshpass ssh", "-P", "22", "a", "b"}, "these are options of ssh");
  expect_usage_error({"-e", "rsh", "-o", "X=y", "a", "b"}, "these are options of ssh");
}

TEST(Options, PathsAndNamesAreKept) {
  EXPECT_EQ(good({"--rdcp-path", "~/bin/rdcp"}).shell.rdcp_path, "~/bin/rdcp");
  EXPECT_FALSE(good({"--no-deploy"}).shell.deploy);
  EXPECT_EQ(good({"--via", "eth0"}).via, "eth0");
  EXPECT_EQ(good({"--congestion", "cubic"}).congestion, "cubic");
  expect_usage_error({"--congestion", "sixteen_letters_", "a", "b"}, "--congestion sixteen_letters_");
}

TEST(Options, StreamsHaveARange) {
  EXPECT_EQ(good({"--streams", "1"}).streams, 1u);
  EXPECT_EQ(good({"--streams", "64"}).streams, 64u);
  for (const char* count : {"0", "65", "-1", "x", "4x"}) {
    expect_usage_error({"--streams", count, "a", "b"}, "must be a whole number from 1 to 64");
  }
}

TEST(Options, PortsHaveARange) {
  EXPECT_EQ(good({"-P", "65535"}).shell.ssh_port, 65535);
  for (const char* port : {"0", "65536"}) expect_usage_error({"-P", port, "a", "b"}, "from 1 to 65535");
}

TEST(Options, ChunkSizesAreWholePagesWithinLimits) {
  EXPECT_EQ(good({"--chunk-size", "64K"}).chunk_bytes, 65536u);
  EXPECT_EQ(good({"--chunk-size", "16MiB"}).chunk_bytes, 16u << 20);
  EXPECT_EQ(good({"--chunk-size", "69632"}).chunk_bytes, 69632u);
  for (const char* size : {"0", "60K", "65535", "16777217", "17M", "1G"}) {
    expect_usage_error({"--chunk-size", size, "a", "b"}, "must be from 64K to 16M");
  }
  for (const char* size : {"65537", "1MB"})
    expect_usage_error({"--chunk-size", size, "a", "b"}, "multiple of 4K");
}

TEST(Options, BandwidthLimitIsARate) {
  EXPECT_EQ(good({"--bwlimit", "100MB"}).bwlimit, 100'000'000u);
  EXPECT_EQ(good({"--bwlimit", "0"}).bwlimit, 0u);
  EXPECT_EQ(good({"--bwlimit", "1.5M"}).bwlimit, 3u << 19);
  for (const char* text : {"0", "1K", "1000B"}) EXPECT_EQ(good({"--bwlimit", text}).bwlimit_warning, "");
  EXPECT_EQ(good({"--bwlimit", "1000"}).bwlimit_warning,
            "--bwlimit 1000 is 1000 bytes per second here, as 1000B is; rsync's would be 1000K");
  expect_usage_error({"--bwlimit=-5", "a", "b"}, "--bwlimit -5: not a size");
}

TEST(Options, ChoicesAreNamedInErrors) {
  EXPECT_EQ(good({"--cache=keep"}).cache, io::CacheMode::keep);
  EXPECT_EQ(good({"--cache", "bypass"}).cache, io::CacheMode::bypass);
  EXPECT_EQ(good({"--ring=io_uring"}).ring, io::RingChoice::io_uring);
  EXPECT_EQ(good({"--ring=threads"}).ring, io::RingChoice::thread_pool);
  EXPECT_EQ(good({"--transport=tcp"}).transport, tree::Transport::tcp);
  EXPECT_EQ(good({"--transport=auto"}).transport, tree::Transport::automatic);
  EXPECT_EQ(good_remote({"--transport=rdma"}).transport, tree::Transport::rdma);
  expect_usage_error({"--transport=rdma", "a", "b"}, "nothing goes over a network");
  expect_usage_error({"--cache=no", "a", "b"}, "must be one of auto, keep, bypass");
  expect_usage_error({"--ring=uring", "a", "b"}, "must be one of auto, io_uring, threads");
  expect_usage_error({"--transport=udp", "a", "b"}, "must be one of auto, tcp, rdma");
}

TEST(Options, UnknownOptionsAreNamed) {
  expect_usage_error({"--frobnicate", "a", "b"}, "unknown option --frobnicate");
  expect_usage_error({"-rZ", "a", "b"}, "unknown option -Z");
  expect_usage_error({"-5", "a", "b"}, "unknown option -5");
  expect_usage_error({"a", "b", "--x=y"}, "unknown option --x=y");
}

TEST(Options, MissingValuesAreErrors) {
  expect_usage_error({"a", "b", "--streams"}, "--streams: needs a value");
  expect_usage_error({"a", "b", "-i"}, "--identity: needs a value");
}

TEST(Options, EmptyValueDoesNotEatTheNextWord) {
  expect_usage_error({"--via=", "a", "b", "c"}, "--via: needs a value");
  expect_usage_error({"--via", "", "a", "b"}, "--via: needs a value");
  expect_usage_error({"-i", "", "a", "b"}, "--identity: needs a value");
}

TEST(Options, EncryptionIsAutomaticAndCompressionOffByDefault) {
  using net::Sealing;
  EXPECT_EQ(good({}).encrypt, Sealing::rather);
  EXPECT_EQ(good({"--encrypt"}).encrypt, Sealing::always);
  EXPECT_EQ(good({"--encrypt=always"}).encrypt, Sealing::always);
  EXPECT_EQ(good({"--encrypt=auto"}).encrypt, Sealing::rather);
  EXPECT_EQ(good({"--no-encrypt"}).encrypt, Sealing::never);
  EXPECT_EQ(good({"--encrypt", "--no-encrypt"}).encrypt, Sealing::always);
  expect_usage_error({"--encrypt=never", "a", "b"}, "--encrypt");
  EXPECT_EQ(good({}).compress, net::kCompressOff);
}

TEST(Options, DataPortsAreOneOrARange) {
  EXPECT_EQ(good({}).data_port, 0);
  EXPECT_EQ(good({"--data-port", "7000"}).data_port_last, 7000);
  EXPECT_EQ(good({"--data-port=7000-7015"}).data_port, 7000);
  EXPECT_EQ(good({"--data-port=7000-7015"}).data_port_last, 7015);
  EXPECT_EQ(good({"--data-port=64536-65535"}).data_port_last, 65535);
  for (const char* wrong : {"0", "65536", "7-6", "7-", "-7", "1-1001", "a", "1-2-3", "1 -2", "7000,7001"}) {
    const std::string option = std::string("--data-port=") + wrong;
    expect_usage_error({option.c_str(), "a", "b"}, "--data-port");
  }
}

TEST(Options, SshCarriesDataIfNeededUnlessToldOtherwise) {
  EXPECT_EQ(good({}).ssh_data, Options::SshData::if_needed);
  EXPECT_EQ(good({"--no-ssh-data"}).ssh_data, Options::SshData::never);
  expect_usage_error({"--via", "ssh", "--no-ssh-data", "a", "h:b"}, "--via ssh");
  expect_usage_error({"--via", "ssh", "--transport", "rdma", "a", "h:b"}, "--via ssh");
}

TEST(Options, CompressionTakesItsValueBehindTheSignOnly) {
  EXPECT_EQ(good({"--compress"}).compress, 1);  // and does not eat SRC
  EXPECT_EQ(good({"--compress=7"}).compress, 7);
  EXPECT_EQ(good({"--compress=auto"}).compress, net::kCompressAuto);
  EXPECT_EQ(good({"--compress=auto", "--compress=off"}).compress, net::kCompressOff);
  EXPECT_EQ(good({"--compress=3", "--compress"}).compress, 1);
  for (const char* word :
       {"--compress=0", "--compress=20", "--compress=-1", "--compress=fast", "--compress=true"}) {
    expect_usage_error({word, "a", "b"}, "--compress");
  }
  expect_usage_error({"--compress=", "a", "b"}, "needs a value");
}

TEST(Options, FlagsTakeNoValue) {
  expect_usage_error({"--recursive=no", "a", "b"}, "--recursive: takes no value");
}

TEST(Options, QuietContradictsVerboseAndProgress) {
  expect_usage_error({"-q", "-v", "a", "b"}, "-q: cannot be used with -v");
  expect_usage_error({"-q", "--progress", "a", "b"}, "-q: cannot be used with --progress");
}

TEST(Options, OperandsAreNeeded) {
  expect_usage_error({}, "SRC and DST are missing");
  expect_usage_error({"a"}, "DST is missing");
  expect_usage_error({"-v", "a"}, "DST is missing");
}

TEST(Options, NoArgumentVectorIsAUsageError) {
  EXPECT_EQ(parse_options(0, nullptr).exit_status, kExitUsage);
}

TEST(Options, BadLocationsAreUsageErrors) {
  expect_usage_error({"--", "-evil:a", "b"}, "begins with a dash");
  expect_usage_error({"a", ""}, "is empty");
}

TEST(Options, StandardStreamsHoldOneFile) {
  EXPECT_FALSE(parse({"-", "host:a"}).exit_status);
  EXPECT_FALSE(parse({"host:a", "-"}).exit_status);
  expect_usage_error({"-", "a", "b"}, "one SRC only");
  expect_usage_error({"a", "b", "-"}, "one SRC only");
  expect_usage_error({"-r", "-", "a"}, "-r");
  expect_usage_error({"-r", "a", "-"}, "-r");
  expect_usage_error({"-", "-"}, "both SRC and DST");
  expect_usage_error({"/dev/fd/63", "/dev/fd/62", "a"},
                     "'/dev/fd/63': is one file, so there can be one SRC only");
  expect_usage_error({"-r", "/dev/stdin", "a"}, "'/dev/stdin': is one file, not a tree");
  expect_usage_error({"--sync", "a", "/dev/stdout"}, "is a stream");
  expect_usage_error({"--check", "/dev/fd/63", "a"}, "not streams");
  expect_usage_error({"/dev/fd/63", "/dev/stdout"}, "so is DST");
}

TEST(Options, AgentTakesNoOperands) {
  const Parsed parsed = parse({"--agent"});
  EXPECT_FALSE(parsed.exit_status);
  EXPECT_TRUE(parsed.options.agent);
  expect_usage_error({"--agent", "a", "b"}, "--agent");
}

TEST(Options, Check) {
  const Parsed pair = parse({"--check", "--json", "--quick", "--metadata", "a", "host:b"});
  ASSERT_FALSE(pair.exit_status) << pair.text_err;
  EXPECT_TRUE(pair.options.check && pair.options.json && pair.options.quick && pair.options.metadata);
  const Parsed list = parse({"--check", "--manifest", "m", "host:dir"});
  ASSERT_FALSE(list.exit_status) << list.text_err;
  EXPECT_EQ(list.options.manifest_file, "m");
  EXPECT_EQ(list.options.destination.path, "dir");
  EXPECT_TRUE(list.options.sources.empty());
  expect_usage_error({"--check", "--sums", "s", "a", "b"}, "takes one operand");
  expect_usage_error({"--check", "--sums", "s", "--manifest", "m", "a"}, "takes one list");
  expect_usage_error({"--check", "a", "b", "c"}, "takes one SRC and one DST");
  expect_usage_error({"--check", "-", "b"}, "not streams");
  expect_usage_error({"--check", "--verify", "a", "b"}, "which copies nothing");
  for (const char* word : {"--exclude=x", "--filter=- x", "--files-from=f", "-x", "--max-size=1"})
    expect_usage_error({"--check", word, "a", "b"}, "compares all that is there");
  expect_usage_error({"--quick", "a", "b"}, "can be used only with --check");
  expect_usage_error({"--metadata", "a", "b"}, "can be used only with --check");
}

TEST(Options, VerifyAndLists) {
  const Parsed copy = parse({"--verify", "--manifest", "m", "--sums", "s", "a", "b"});
  ASSERT_FALSE(copy.exit_status) << copy.text_err;
  EXPECT_TRUE(copy.options.verify);
  EXPECT_EQ(copy.options.manifest_file, "m");
  EXPECT_EQ(copy.options.sums_file, "s");
  expect_usage_error({"--manifest", "m", "-", "host:b"}, "not streams");
  expect_usage_error({"--sums=", "a", "b"}, "needs a value");
}

TEST(Options, TheDoctorTakesOneHostOrNone) {
  const Parsed here = parse({"--doctor"});
  EXPECT_FALSE(here.exit_status) << here.text_err;
  EXPECT_TRUE(here.options.doctor);
  EXPECT_FALSE(here.options.doctor_host);
  EXPECT_FALSE(here.options.json);
  const Parsed there = parse({"--doctor", "--json", "ann@hostb"});
  ASSERT_TRUE(there.options.doctor_host) << there.text_err;
  EXPECT_TRUE(there.options.json);
  EXPECT_EQ(there.options.doctor_host->ssh_destination(), "ann@hostb");
  EXPECT_EQ(parse({"--doctor", "hostb:"}).options.doctor_host->host, "hostb");
  EXPECT_EQ(parse({"--doctor", "[2001:db8::7]"}).options.doctor_host->host, "2001:db8::7");
}

TEST(Options, TheDoctorWantsAHost) {
  expect_usage_error({"--doctor", "a", "b"}, "takes one HOST at most");
  expect_usage_error({"--doctor", "./file"}, "is not a host");
  expect_usage_error({"--doctor", "hostb:/data"}, "is not a host");
  expect_usage_error({"--doctor", "2001:db8::7"}, "is not a host");
  expect_usage_error({"--doctor", "--", "-oProxyCommand=x"}, "begins with a dash");
  expect_usage_error({"--doctor", "--agent"}, "cannot be used with --agent");
}

TEST(Options, JsonIsForResultsOrEvents) {
  EXPECT_EQ(parse({"a", "b"}).options.json, std::nullopt);
  EXPECT_EQ(parse({"--json", "a", "b"}).options.json, JsonForm::results);
  EXPECT_EQ(parse({"--json=events", "a", "b"}).options.json, JsonForm::events);
}

TEST(Options, ProgramsAreToldWhatIsRefused) {
  const auto expect_refusal = [](std::initializer_list<const char*> words, std::string_view reason) {
    const Parsed parsed = parse(words);
    EXPECT_EQ(parsed.exit_status, kExitUsage);
    EXPECT_NE(parsed.text_err.find(reason), std::string::npos) << parsed.text_err;
    EXPECT_NE(parsed.text_out.find(reason), std::string::npos) << parsed.text_out;
    EXPECT_NE(parsed.text_out.find("\"status\":2"), std::string::npos) << parsed.text_out;
  };
  expect_refusal({"--json", "a", "-"}, "prints to standard output, too, which is DST here");
  expect_refusal({"--json", "--clean", "a"}, "cannot be used with --clean");
  expect_refusal({"--json=events", "--check", "a", "b"}, "--check and --doctor take --json");
  expect_refusal({"--json", "--json=all", "a", "b"}, "takes =events or nothing");
  expect_refusal({"--bwlimit", "x", "--json", "a", "b"}, "--bwlimit");
}

TEST(Options, RulesKeepTheirCommonOrder) {
  const Options options = good({"-f", "- a", "--exclude=b", "--include", "[c]", "-f+ d", "--exclude-from",
                                "e", "--include-from=f", "--exclude", "-g", "-r", "--filter=H,! h"});
  std::string words;
  for (const auto& [option, word] : options.selection_words.filters) {
    words += std::to_string(static_cast<int>(option)) + ":" + word + "|";
  }
  EXPECT_EQ(words, "2:- a|0:b|1:[c]|2:+ d|3:e|4:f|0:-g|2:H,! h|");
  EXPECT_TRUE(options.recursive);
}

TEST(Options, WhichPartIsCopied) {
  EXPECT_FALSE(good({}).selection_words.any());
  const Options options =
      good({"-0x", "--files-from", "-", "--max-size=1K", "--min-size", "1KB", "--max-size", "3"});
  EXPECT_TRUE(options.selection_words.ended_by_nul && options.selection_words.one_file_system);
  EXPECT_EQ(options.selection_words.files_from, "-");
  EXPECT_EQ(options.selection_words.size_max, 3u);
  EXPECT_EQ(options.selection_words.size_min, 1000u);
  expect_usage_error({"--max-size=x", "a", "b"}, "not a size");
  expect_usage_error({"--exclude=", "a", "b"}, "needs a value");
  expect_usage_error({"--files-from=x", "a", "b", "c"}, "one SRC");
  expect_usage_error({"--exclude=x", "-", "b"}, "is one file");
  expect_usage_error({"-x", "a", "-"}, "is one file");
}

TEST(Options, HelpAndVersionGoToStandardOutput) {
  for (const char* option : {"-h", "--help"}) {
    const Parsed parsed = parse({option});
    EXPECT_EQ(parsed.exit_status, kExitOk);
    EXPECT_TRUE(parsed.text_out.starts_with("Usage: rdcp "));
    EXPECT_TRUE(parsed.text_out.ends_with("All options: man rdcp\n"));
    EXPECT_EQ(parsed.text_err, "");
  }
  const Parsed version = parse({"--version"});
  EXPECT_EQ(version.exit_status, kExitOk);
  EXPECT_TRUE(version.text_out.starts_with(std::string("rdcp ") + kVersion + "\ncommit "))
      << version.text_out;
  EXPECT_NE(version.text_out.find("which talks to 9 and later;"), std::string::npos) << version.text_out;
  EXPECT_EQ(std::ranges::count(version.text_out, '\n'), 3) << version.text_out;
}

TEST(Options, ErrorsCannotWriteToTheTerminal) {
  const Parsed parsed = parse({"--\x1b[31m\nevil", "a", "b"});
  EXPECT_EQ(parsed.text_err.find('\x1b'), std::string::npos);
  EXPECT_EQ(std::count(parsed.text_err.begin(), parsed.text_err.end(), '\n'), 2);
}

}  // namespace
}  // namespace rdcp::cli
