#include "cli/options/habits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "cli/options/options.h"
#include "cli/text/exit_status.h"
#include "cli/text/split_words.h"

namespace rdcp::cli {
namespace {

std::vector<const char*> pointers(const std::vector<std::string>& words) {
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  return pointers;
}

// What becomes of the words of a line, in one line again. -e, -o, -P, -i and --exclude take values.
std::string translated(const std::string& line) {
  const auto words = split_words("test", line).value();
  const auto to = translate_habits(pointers(words), [](const std::string& name) {
    return name == "-e" || name == "-o" || name == "-P" || name == "-i" || name == "--exclude";
  });
  if (!to) return to.error().message();
  std::string all;
  for (const std::string& word : *to) all += (all.empty() ? "" : " ") + word;
  return all;
}

TEST(Habits, LettersAreTakenApart) {
  EXPECT_EQ(translated("-avP s d"), "-r -v --progress s d");
  EXPECT_EQ(translated("-rltpgoD s d"), "-r -p s d");
  EXPECT_EQ(translated("-aHAXS s d"), "-r s d");
  EXPECT_EQ(translated("-avze ssh s d"), "-r -v --compress -e ssh s d");
  EXPECT_EQ(translated("-avhn"), "-r -v -n");
  EXPECT_EQ(translated("-h"), "-h");
  EXPECT_EQ(translated("-Zr"), "-Z -r") << "what is unknown is named alone";
}

// scp's key would take the first SRC for its value.
TEST(Habits, AnIAmongOtherLettersIsRefusedWhereItMayBeAKey) {
  for (const char* line : {"-ai s d", "-avi s d", "-ri key s d"}) {
    EXPECT_NE(translated(line).find("--itemize-changes or --identity"), std::string::npos) << line;
  }
  EXPECT_EQ(translated("-i key s d"), "-i key s d");
  EXPECT_EQ(translated("-rikey s d"), "-r -ikey s d");
}

TEST(Habits, APortHasANumber) {
  EXPECT_EQ(translated("-P 22 s d"), "-P 22 s d");
  EXPECT_EQ(translated("-P22 s d"), "-P22 s d");
  EXPECT_EQ(translated("-rP22 s d"), "-r -P22 s d");
  EXPECT_EQ(translated("-P s d"), "--progress s d");
  EXPECT_EQ(translated("-rP 22 d"), "-r --progress 22 d");
}

TEST(Habits, AnOptionOfSshHasAnEqualsSignOrIsAWordOfItsOwn) {
  EXPECT_EQ(translated("-o Port=22"), "-o Port=22");
  EXPECT_EQ(translated("-oPort=22"), "-oPort=22");
  EXPECT_EQ(translated("-rog s d"), "-r s d");
  EXPECT_EQ(translated("-ro s d"), "-r s d");
}

TEST(Habits, ScpsWords) {
  EXPECT_EQ(translated("-C s d"), "--compress s d");
  EXPECT_EQ(translated("-l 1000 s d"), "--bwlimit 125000B s d");
  EXPECT_EQ(translated("-l s d"), "s d");
  EXPECT_EQ(translated("-J jump s h:"), "-o ProxyJump=jump s h:");
  EXPECT_EQ(translated("-rJjump s h:"), "-r -o ProxyJump=jump s h:");
  EXPECT_EQ(translated("-B s d"), "-o BatchMode=yes s d");
}

TEST(Habits, ValuesAndWhatFollowsTwoDashesStayAsTheyAre) {
  EXPECT_EQ(translated("--exclude -a s"), "--exclude -a s");
  EXPECT_EQ(translated("-i -a s"), "-i -a s");
  EXPECT_EQ(translated("-a -- -a --archive"), "-r -- -a --archive");
  EXPECT_EQ(translated("-a -"), "-r -");
  EXPECT_EQ(translated("--unknown=1 --archive=1"), "--unknown=1 --archive=1");
}

TEST(Habits, ValuesMustBeThere) {
  EXPECT_EQ(translated("--timeout"), "--timeout: needs a value");
  EXPECT_EQ(translated("-J"), "-J: needs a value");
  EXPECT_EQ(translated("-l 0 s"), "-l 0: must be a whole number from 1 to 1099511627776");
}

// What a program of the user's habits would be told, as the whole parser takes it.
struct Line {
  std::string_view words;
  std::string_view refusal = {};  // a part of it; empty: it is understood
};

constexpr Line kLines[] = {
    // scp(1) and its users
    {"f h:"},
    {"-p f h:d"},
    {"-r d h:d"},
    {"-rp d u@h:d"},
    {"-q f h:"},
    {"-v f h:"},
    {"-C f h:"},
    {"-Cr d h:"},
    {"-P 2222 f h:"},
    {"-P2222 f h:"},
    {"-i key f h:"},
    {"-F config f h:"},
    {"-o Port=2222 f h:"},
    {"-oStrictHostKeyChecking=no f h:"},
    {"-J jump f h:"},
    {"-l 8000 f h:"},
    {"-B f h:"},
    {"-s f h:"},
    {"-rC -P 2222 -i key -o User=u d h:d"},
    {"h:f ."},
    {"h:f g:f"},
    {"f [::1]:d"},
    {"-3 h:f g:f"},
    {"-3r h:d g:d"},
    {"-3 f g:f"},
    {"-3 --no-ssh-data h:f g:f", "--no-ssh-data"},
    {"-3 --via eth0 h:f g:f", "--via"},
    {"-4 f h:"},
    {"-6 f h:"},
    {"-a --ipv4 s/ h:d"},
    {"-46 f h:", "one of them"},
    {"-S /usr/bin/ssh f h:", "--rsh"},
    {"-T h:f .", "leave it out"},
    {"-O f h:", "leave it out"},
    {"-c aes128-ctr f h:", "--checksum"},
    {"-R h:f g:"},
    // rsync(1) and its users
    {"-a s/ d"},
    {"-av s/ d"},
    {"-avz s/ h:d"},
    {"-avzh s/ h:d"},
    {"-avP s/ h:d"},
    {"-avhP --stats s/ h:d"},
    {"-azP -e ssh s/ h:d"},
    {"-az -e 'ssh -p 2222' s/ h:d"},
    {"-rltpgoD s/ d"},
    {"-rlptD s/ d"},
    {"-rtv s/ d"},
    {"-rvz h:s/ d"},
    {"-aHAX s/ d"},
    {"-aHAXS --numeric-ids s/ d"},
    {"-axHAX s/ d"},
    {"-aW s/ d"},
    {"-ah --info=progress2 s/ d"},
    {"-a --info=progress2,stats2 s/ d"},
    {"-a --no-inc-recursive --info=progress2 s/ d"},
    {"--archive --verbose --compress s/ d"},
    {"--archive --human-readable --progress s/ d"},
    {"-a --partial --timeout=60 s/ h:d"},
    {"-a --partial --timeout 60 --contimeout=5 s/ h:d"},
    {"-a --inplace s/ d"},
    {"-a --fuzzy s/ d"},
    {"-a --exclude .git s/ d"},
    {"-a --exclude='*.o' --include='*.c' s/ d"},
    {"-a --exclude-from=list s/ d"},
    {"-a --bwlimit=1M s/ d"},
    {"-a --compress-level=9 s/ d"},
    {"-a --zl=3 s/ d"},
    {"-a --links --times --perms --owner --group --devices --specials s/ d"},
    {"-a --acls --xattrs --hard-links --sparse s/ d"},
    {"-as s/ h:d"},
    {"-a --protect-args s/ h:d"},
    {"-a --secluded-args s/ h:d"},
    {"--sync -a --delete s/ d"},
    {"--sync -avi --delete s/ h:d"},
    {"--sync -avn --delete s/ h:d"},
    {"--sync -a --delete-after s/ d"},
    {"--sync -a --delete-before s/ d"},
    {"--sync -a --delete-during s/ d"},
    {"--sync -a --delete-delay s/ d"},
    {"--sync -a --del s/ d"},
    {"--sync -a --delete-excluded --exclude tmp s/ d"},
    {"--sync -ac s/ d"},
    {"--sync -au s/ d"},
    {"--sync -a --size-only s/ d"},
    {"--sync -a --ignore-existing s/ d"},
    {"--sync -a --existing s/ d"},
    {"--sync -aI s/ d"},
    {"--sync -a --max-delete=10 --delete s/ d"},
    {"--sync -a --modify-window=1 s/ d"},
    {"-an s/ d"},
    {"-auv s/ d"},
    {"-ac s/ d"},
    {"-rI s/ d"},
    {"-a --size-only s/ d"},
    {"-a --existing s/ d"},
    {"-a --ignore-existing s/ d"},
    {"-a --itemize-changes s/ d"},
    {"-a --modify-window=1 s/ d"},
    {"-u f d", "with -r or --sync"},
    {"-n f d", "with -r or --sync"},
    {"-a --force s/ d", "--sync"},
    {"-a --max-delete=3 s/ d", "--sync"},
    {"-a --delete-excluded s/ d", "--sync"},
    {"-a --delete s/ d", "--sync"},
    {"-a --delete-after s/ d", "--sync"},
    {"-aL s/ d"},
    {"-rL s/ d"},
    {"-aK --no-owner s/ d", "through a symbolic link"},
    {"-aK s/ d", "name the directory that it leads to"},
    {"-ak s/ d", "symbolic links"},
    {"-a --copy-links s/ d"},
    {"--sync -aL --delete s/ h:d"},
    {"-a --copy-unsafe-links s/ d", "symbolic links"},
    {"-a --safe-links s/ d", "--exclude"},
    {"-ab s/ d"},
    {"-b f d"},
    {"-a --backup --suffix=.old s/ d"},
    {"-a --backup-dir=old s/ d"},
    {"-a --backup-dir=./old/x/ s/ d"},
    {"-a --backup-dir=../old s/ d", "in DST"},
    {"-a --backup-dir=/old s/ d", "in DST"},
    {"-a --backup-dir=. s/ d", "in DST"},
    {"-a --backup-dir=a/../../b s/ d", "in DST"},
    {"-a --suffix=.old s/ d", "with --backup"},
    {"-ab --suffix=a/b s/ d", "slash"},
    {"-ab --inplace s/ d", "--inplace"},
    {"-a --link-dest=../old --link-dest=/older s/ d"},
    {"--link-dest=../old f d", "with -r or --sync"},
    {"-ac --link-dest=../old s/ d", "--checksum"},
    {"-a --inplace --link-dest=../old s/ d", "--inplace"},
    {"-a --copy-dest ../old s/ d", "--link-dest"},
    {"-a --compare-dest=../old s/ d", "--link-dest"},
    {"-a --chmod=D755,F644 s/ d"},
    {"-a --chown=u:g s/ d"},
    {"-a --usermap=0:1 s/ d", "modes"},
    {"-a --groupmap=0:1 s/ d", "modes"},
    {"-a --no-perms s/ d", "modes"},
    {"-a --no-owner s/ d"},
    {"-a --no-group s/ d", "--no-owner"},
    {"-a --no-times s/ d", "leave it out"},
    {"-aO s/ d", "leave it out"},
    {"-a --omit-dir-times s/ d", "leave it out"},
    {"-aR s/a d"},
    {"-a --relative s/a d"},
    {"-a --mkpath s/ h:a/b"},
    {"-a --remove-source-files s/ d"},
    {"--remove-source-files f h:d"},
    {"--remove-source-files h:a h:b d"},
    {"--remove-source-files h:a g:a d", "one host"},
    {"--sync -a --remove-source-files --delete s/ d", "--delete"},
    {"-aL --remove-source-files s/ d", "--copy-links"},
    {"-a --inplace --remove-source-files s/ d", "--inplace"},
    {"-a --log-file=log s/ d"},
    {"-a --max-runtime=60 s/ d"},
    {"-a --append s/ d", "by itself"},
    {"-a --append-verify s/ d", "by itself"},
    {"-a --temp-dir=/tmp s/ d", "beside DST"},
    {"-a -T /tmp s/ d", "beside DST"},
    {"-a --rsync-path=/opt/rsync s/ h:d", "--rdcp-path"},
    {"-ay s/ d", "unknown option -y"},
    {"-a --nonsense s/ d", "unknown option --nonsense"},
    // cp(1)
    {"-a s d"},
    {"-dr s d"},
    {"-rp s d"},
    {"-r --preserve=all s d"},
    {"-r --preserve=mode,timestamps s d"},
    {"-r --preserve s d"},
    {"-r --no-dereference s d"},
    {"-r --dereference s d"},
    {"h:*.txt ."},
    {"-rx s d"},
    {"-r --one-file-system s d"},
    // rclone's
    {"-P s h:d"},
    {"--transfers=8 -r s h:d", "--streams"},
    {"--checkers 8 -r s h:d", "--streams"},
};

TEST(Habits, LinesOfOtherProgramsAreUnderstoodOrNameTheRightWord) {
  for (const Line& line : kLines) {
    std::vector<std::string> words = split_words("test", std::string(line.words)).value();
    words.insert(words.begin(), "rdcp");
    const auto argv = pointers(words);
    const Parsed parsed = parse_options(static_cast<int>(argv.size()), argv.data());
    if (line.refusal.empty()) {
      EXPECT_FALSE(parsed.exit_status) << line.words << ": " << parsed.text_err;
    } else {
      EXPECT_EQ(parsed.exit_status, kExitUsage) << line.words;
      EXPECT_THAT(parsed.text_err, testing::HasSubstr(std::string(line.refusal))) << line.words;
    }
  }
}

}  // namespace
}  // namespace rdcp::cli
