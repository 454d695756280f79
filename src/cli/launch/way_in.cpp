#include "cli/launch/way_in.h"

#include "cli/launch/shell_quote.h"
#include "cli/text/version.h"
#include "tree/messages/hello.h"

namespace rdcp::cli {
namespace {

// It has no newline, single quote or exclamation mark, and no backslash at the end of a quoted part: csh and
// fish would take them for something else. $1: the same path as here, which counts if it is the user's or
// root's; $2: the agent's options, quoted; $3: the name of this version; $4: "put" if one may be put there;
// further: PROCESSOR:DIGEST:BYTES. kept() reads a line of ls -ln: is this of that type (- or d), of this user
// (or of user $2), and written by nobody else?
constexpr std::string_view kScript =
    "p=$1; o=$2; v=$3; y=$4; shift 4; u=$(id -u); "
    "kept() { read -r m l w r; case $m in $1????"
    "-??"
    "-*) "
    "[ \"$w\" = \"$u\" ] || [ \"$w\" = \"$2\" ];; *) false;; esac; }; "
    "run() { eval \"set -- $o\"; exec \"$f\" --agent \"$@\"; }; "
    "if [ \"$p\" ]; then ls -lnLd \"$p\" 2>/dev/null | kept - 0 || p=rdcp; "
    "for f in \"$p\" rdcp \"$HOME/.local/bin/rdcp\"; do "
    "f=$(command -v \"$f\") && [ -f \"$f\" ] && [ -x \"$f\" ] && run; done; fi; "
    "a=$(uname -m); d=; for t; do case $t in \"$a\":*) d=${t#*:};; esac; done; "
    "none() { printf \"\\001none %s\\n\" \"$a\"; exit 127; }; [ \"$d\" ] || none; "
    "n=${d#*:}; d=${d%%:*}; umask 077; "
    "give_up() { rm -f \"$t\"; rmdir \"$g\" \"$c\"; } 2>/dev/null; "
    "for k in use $y; do "
    "for c in \"${XDG_CACHE_HOME:-$HOME/.cache}/rdcp\" \"/tmp/rdcp-$u\" \"/var/tmp/rdcp-$u\"; do "
    "g=$c/$v-$d; f=$g/rdcp; t=$g/.rdcp-$$; "
    "[ $k = use ] || mkdir -p \"${c%/*}\" 2>/dev/null; [ $k = use ] || mkdir \"$c\" 2>/dev/null; "
    "ls -lnd \"$c\" 2>/dev/null | kept d \"$u\" || continue; "
    "[ -f \"$f\" ] && [ -x \"$f\" ] && run; [ $k = use ] && continue; "
    // An empty file that can be executed, and then one as long as the agent: here it will have room. It is
    // written over, because ext4 flushes what replaces the content of a file.
    "( mkdir -p \"$g\" && : >\"$t\" && chmod 700 \"$t\" && \"$t\" && head -c \"$n\" /dev/zero >\"$t\" ) "
    "2>/dev/null </dev/null || { give_up; continue; }; "
    "trap \"give_up; exit 121\" HUP INT TERM; "
    "printf \"\\001put %s %s\\n\" \"$a\" \"$c\"; "
    "head -c \"$n\" 1<>\"$t\"; s=$( ( sha256sum \"$t\" || \"$t\" --digest ) 2>/dev/null ); "
    "if [ \"${s%% *}\" = \"$d\" ] && mv -f \"$t\" \"$f\"; then "
    // Only what this has put there is removed, by its names.
    "( cd \"$c\" && ls -1td ./*-p*-*/rdcp | tail -n +4 | while read -r x; do x=${x%/rdcp}; "
    "[ -h \"$x\" ] || { rm -f \"$x/rdcp\" \"$x\"/.rdcp-*; rmdir \"$x\"; }; done ) 2>/dev/null </dev/null; "
    "run; fi; "
    "give_up; echo \"what arrived in $t is not the agent that was sent\" >&2; exit 121; done; done; "
    "[ \"$y\" ] || none; printf \"\\001nowhere\\n\"; exit 121";

// True if every shell of a user takes the path for what it is when shell_quote() has quoted it.
bool is_plain_in_quotes(std::string_view path) {
  return path.find_first_of("!\\\n") == path.npos;
}

}  // namespace

std::string way_in(const WayIn& way) {
  const std::string version = std::string(kVersion) + "-p" + std::to_string(tree::kProtocolVersion);
  // Where this path is of no use, PATH and ~/.local/bin are still looked at.
  const bool usable = !way.same_path.empty() && is_plain_in_quotes(way.same_path);
  const std::string same_path = usable ? way.same_path : "rdcp";
  std::string line = "exec /bin/sh -c '" + std::string(kScript) + "' rdcp ";
  line += way.search == Search::only_ours ? "\"\"" : shell_quote(same_path);
  std::string options;
  for (const std::string& option : way.agent_options)
    options += (options.empty() ? "" : " ") + quote_option(option);
  line += " " + shell_quote(options);  // it takes the quotes off itself
  line += " " + version + (way.may_put ? " put" : " \"\"");
  for (const AgentFile& agent : way.agents)
    line += " " + agent.processor + ":" + agent.sha256 + ":" + std::to_string(agent.bytes);
  return line;
}

std::optional<AgentAsk> read_agent_ask(std::string_view line) {
  using Kind = AgentAsk::Kind;
  if (line == "\1nowhere") return AgentAsk{.kind = Kind::nowhere, .processor = {}, .place = {}};
  constexpr std::string_view kNone = "\1none ";
  constexpr std::string_view kPut = "\1put ";
  if (line.starts_with(kNone)) {
    return AgentAsk{.kind = Kind::none, .processor = std::string(line.substr(kNone.size())), .place = {}};
  }
  const std::size_t blank = line.starts_with(kPut) ? line.find(' ', kPut.size()) : line.npos;
  if (blank == line.npos) return std::nullopt;
  return AgentAsk{.kind = Kind::put,
                  .processor = std::string(line.substr(kPut.size(), blank - kPut.size())),
                  .place = std::string(line.substr(blank + 1))};
}

}  // namespace rdcp::cli
