#include "cli/places/location.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rdcp::cli {
namespace {

using Kind = Location::Kind;

Location parsed(std::string_view word) {
  auto location = parse_location(word);
  EXPECT_TRUE(location.ok()) << word << ": " << (location.ok() ? "" : location.error().message());
  return location.ok() ? *location : Location{};
}

void expect_refused(std::string_view word, std::string_view reason) {
  const auto location = parse_location(word);
  ASSERT_FALSE(location.ok()) << word;
  EXPECT_EQ(location.error().kind, io::ErrorKind::usage);
  EXPECT_NE(location.error().message().find(reason), std::string::npos) << location.error().message();
}

Location local(std::string path) {
  return {Kind::local, "", "", std::move(path)};
}
Location remote(std::string user, std::string host, std::string path) {
  return {Kind::remote, std::move(user), std::move(host), std::move(path)};
}

TEST(Location, WordWithoutColonIsLocal) {
  for (const char* word : {"a", "a/b", "/a", ".", "..", "a/", "user@host", "[x", "-a", "~", "~/a", "a\nb"}) {
    EXPECT_EQ(parsed(word), local(word));
  }
}

TEST(Location, DescriptorsOfThisProcessAreStreams) {
  for (const char* word : {"/dev/stdin", "/dev/stdout", "/dev/fd/63", "/proc/self/fd/3", "//dev/stdin",
                           "/./dev//./stdout", "/proc/self/./fd//0"}) {
    const Location location = parsed(word);
    EXPECT_EQ(location.kind, Kind::standard_stream) << word;
    EXPECT_EQ(location.text(), word);
  }
  for (const char* word : {"/dev/null", "/dev/fd", "/dev/fd/x", "/dev/stdout/", "/dev/stdout/.", "dev/stdout",
                           "/dev/../dev/stdin", "./-"})
    EXPECT_EQ(parsed(word), local(word));
}

// Whoever reads these on another host reads what our rdcp there is told.
TEST(Location, DescriptorsOfAnotherHostsProcessAreRefused) {
  for (const char* word : {"host:/dev/stdin", "host:/dev/stdout", "host:/dev/fd/0", "host:/proc/self/fd/7",
                           "host://dev/./stdin", "scp://host//dev/stdin"})
    expect_refused(word, "a stream of rdcp itself");
  EXPECT_EQ(parsed("host:dev/stdin"), remote("", "host", "dev/stdin"));
}

TEST(Location, ColonAfterASlashIsLocal) {
  for (const char* word : {"./a:b", "/a:b", "a/b:c", "/:", "./[::1]:x", "/me@[::1]:x"}) {
    EXPECT_EQ(parsed(word), local(word));
  }
}

TEST(Location, ColonBeforeASlashIsRemote) {
  EXPECT_EQ(parsed("host:a/b"), remote("", "host", "a/b"));
  EXPECT_EQ(parsed("host:/a:b"), remote("", "host", "/a:b"));
  EXPECT_EQ(parsed("host::a"), remote("", "host", ":a"));
  EXPECT_EQ(parsed("C:\\x"), remote("", "C", "\\x"));
  EXPECT_EQ(parsed("me@host.example:a b\n"), remote("me", "host.example", "a b\n"));
}

TEST(Location, UserEndsAtTheLastAt) {
  EXPECT_EQ(parsed("me@mail.example@host:a"), remote("me@mail.example", "host", "a"));
  EXPECT_EQ(parsed("host:me@a"), remote("", "host", "me@a"));
}

TEST(Location, BracketsHoldAnIpv6Address) {
  EXPECT_EQ(parsed("[::1]:a"), remote("", "::1", "a"));
  EXPECT_EQ(parsed("me@[fe80::1%eth0]:/a:b"), remote("me", "fe80::1%eth0", "/a:b"));
  EXPECT_EQ(parsed("[host]:"), remote("", "host", "."));
}

TEST(Location, BracketsInAPathAreNoAddress) {
  EXPECT_EQ(parsed("host:a@[b"), remote("", "host", "a@[b"));
  EXPECT_EQ(parsed("host:a@[b]:c"), remote("", "host", "a@[b]:c"));
  EXPECT_EQ(parsed("bob@[fe8]:10@[f"), remote("bob", "fe8", "10@[f"));
}

TEST(Location, BracketsWithoutPathAreALocalNameAsInScp) {
  EXPECT_EQ(parsed("[2001:db8::1]"), local("[2001:db8::1]"));
}

TEST(Location, HomeDirectoryIsDotOnTheHost) {
  EXPECT_EQ(parsed("host:").path, ".");
  EXPECT_EQ(parsed("host:~").path, ".");
  EXPECT_EQ(parsed("host:~/a").path, "a");
  EXPECT_EQ(parsed("host:a~").path, "a~");
}

TEST(Location, SlashAfterTheHomeDirectoryStillMeansItsContents) {
  EXPECT_EQ(parsed("host:~/").path, "./");
}

TEST(Location, TildeNeverYieldsAnAbsolutePath) {
  EXPECT_EQ(parsed("host:~//etc").path, "etc");
}

TEST(Location, ANameInTheHomeDirectoryMayBeginWithATilde) {
  EXPECT_EQ(parsed("host:~/~x"), remote("", "host", "./~x"));
  EXPECT_EQ(parsed(parsed("host:~/~x").text()), parsed("host:~/~x"));
}

TEST(Location, AnotherUsersHomeIsRefusedButAFileOfThatNameIsNot) {
  expect_refused("host:~bob/a", "full path");
  EXPECT_EQ(parsed("host:./~bob").path, "./~bob");
}

TEST(Location, DashIsStandardInputOrOutput) {
  EXPECT_EQ(parsed("-").kind, Kind::standard_stream);
  EXPECT_EQ(parsed("./-"), local("./-"));
}

TEST(Location, EmptyWordsAndHostsAreRefused) {
  expect_refused("", "is empty");
  for (const char* word : {":a", ":", "me@:a", "[]:a", "me@[]:a"})
    expect_refused(word, "host before ':' is empty");
  expect_refused("@host:a", "user is empty");
}

TEST(Location, OptionsForSshAreRefused) {
  expect_refused("-oProxyCommand=x:a", "begins with a dash");
  expect_refused("me@-oProxyCommand=x:a", "begins with a dash");
  expect_refused("[-oProxyCommand=x]:a", "begins with a dash");
  expect_refused("-l@host:a", "begins with a dash");
}

TEST(Location, ControlAndShellCharactersInHostAndUserAreRefused) {
  for (const char* host : {"a\nb", "a\x1b[31m", "a b", "a\tb", "a\x7f"}) {
    expect_refused(std::string(host) + ":x", "blank or control character");
    expect_refused(std::string(host) + "@host:x", "blank or control character");
  }
  for (const char* host : {"a;b", "$(id)", "`id`", "a|b", "a&b", "a'b", "a\"b", "a\\b"}) {
    expect_refused(std::string(host) + ":x", "shell character");
    expect_refused(std::string(host) + "@host:x", "shell character");
  }
}

// They enclose an IPv6 address, and nothing within it.
TEST(Location, BracketsInHostAndUserAreRefused) {
  for (const char* word : {"bob@[fe80::b@[fe81]:x", "a[b:x", "a]b:x", "a[@host:x"}) {
    expect_refused(word, "holds a bracket");
  }
}

TEST(Location, RefusalIsOneLineSafeOnATerminal) {
  EXPECT_EQ(parse_location("a\x1b\n:x").error().message().find_first_of("\x1b\n"), std::string::npos);
}

TEST(Location, TextIsWhatTheUserWrote) {
  for (const char* word : {"a", "./a:b", "-", "host:a", "me@host:/a", "me@[::1]:a", "[::1]:a"}) {
    EXPECT_EQ(parsed(word).text(), word);
  }
}

TEST(Location, AHostThatIsCalledLikeASchemeIsNoUri) {
  for (const char* word : {"[https]://", "[ssh]://x", "[scp]://x/y"}) {
    EXPECT_EQ(parsed(word).kind, Kind::remote);
    EXPECT_EQ(parsed(word).text(), word);
  }
  EXPECT_EQ(parsed("[ssh]:/x").text(), "ssh:/x");
  EXPECT_EQ(parsed("me@[ssh]://x").text(), "me@ssh://x");
}

TEST(Location, SshDestinationHasNoBrackets) {
  EXPECT_EQ(parsed("host:a").ssh_destination(), "host");
  EXPECT_EQ(parsed("me@[::1]:a").ssh_destination(), "me@::1");
}

Location at_port(Location location, std::uint16_t port) {
  location.port = port;
  return location;
}

TEST(Location, UriHasAPortAndAPathFromTheHomeDirectory) {
  for (const std::string scheme : {"scp://", "ssh://"}) {
    EXPECT_EQ(parsed(scheme + "host"), remote("", "host", "."));
    EXPECT_EQ(parsed(scheme + "host/"), remote("", "host", "."));
    EXPECT_EQ(parsed(scheme + "host/a/b:c"), remote("", "host", "a/b:c"));
    EXPECT_EQ(parsed(scheme + "host//a"), remote("", "host", "/a"));
    EXPECT_EQ(parsed(scheme + "host/~/a"), remote("", "host", "a"));
    EXPECT_EQ(parsed(scheme + "me@host:2222/a"), at_port(remote("me", "host", "a"), 2222));
    EXPECT_EQ(parsed(scheme + "me;x=1@[fe80::1%eth0]:65535/a"),
              at_port(remote("me", "fe80::1%eth0", "a"), 65535));
    EXPECT_EQ(parsed(scheme + "[::1]/a"), remote("", "::1", "a"));
  }
}

TEST(Location, UriIsDecodedAsByScp) {
  EXPECT_EQ(parsed("scp://m%40x@host/a%20b+c%2b%2F%0a%ff"), remote("m@x", "host", "a b c+/\n\xff"));
  EXPECT_EQ(parsed("./scp://host/%20"), local("./scp://host/%20"));
  EXPECT_EQ(parsed("host:a%20b+c"), remote("", "host", "a%20b+c"));
}

TEST(Location, WrongUriIsRefused) {
  for (const char* word : {"scp://host:/a", "scp://host:0/a", "scp://host:65536/a", "scp://host:x/a",
                           "scp://host:-1/a", "scp://host:2 /a", "scp://[::1]:/a"}) {
    expect_refused(word, "must be a number from 1 to 65535");
  }
  for (const char* word :
       {"scp://host/%", "scp://host/%2", "scp://host/%xy", "scp://host/%+1", "scp://h/% 1"})
    expect_refused(word, "two hexadecimal digits");
  expect_refused("scp://host/a%00b", "%00");
  expect_refused("scp://", "the host before the path is empty");
  expect_refused("scp:///a", "is empty");
  expect_refused("scp://@host/a", "the user is empty");
  expect_refused("scp://-oProxyCommand=x/a", "begins with a dash");
  expect_refused("scp://%2doProxyCommand@host/a", "begins with a dash");
  expect_refused("scp://m$(x)@host/a", "shell character");
  expect_refused("scp://::1/a", "must be a number");
  expect_refused("scp://[::1/a", "bracket");
  expect_refused("scp://host/~bob/a", "another user's home");
  for (const char* word : {"rsync://host/a", "sftp://host/a", "https://host/a", "file:///a"})
    expect_refused(word, "rdcp knows no");
}

TEST(Location, TextOfAPortIsAUri) {
  for (const char* word : {"scp://me@host:22/a%20b", "scp://[::1]:22//a", "scp://host:22/%2B%25"}) {
    EXPECT_EQ(parsed(word).text(), word);
  }
}

}  // namespace
}  // namespace rdcp::cli
