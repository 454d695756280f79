// The fuzz targets, each in the file of its name. targets.cpp has them as a list.
#pragma once

#include "tests/fuzz/fuzz.h"

namespace rdcp::fuzz {

void fuzz_acl(Bytes input);
void fuzz_agent(Bytes input);
void fuzz_archive(Bytes input);
void fuzz_chain(Bytes input);
void fuzz_compare(Bytes input);
void fuzz_control(Bytes input);
void fuzz_credits(Bytes input);
void fuzz_filter(Bytes input);
void fuzz_frame(Bytes input);
void fuzz_handshake(Bytes input);
void fuzz_journal(Bytes input);
void fuzz_location(Bytes input);
void fuzz_marker(Bytes input);
void fuzz_messages(Bytes input);
void fuzz_names(Bytes input);
void fuzz_paths(Bytes input);
void fuzz_patterns(Bytes input);
void fuzz_hosts(Bytes input);
void fuzz_probe(Bytes input);
void fuzz_rails(Bytes input);
void fuzz_record(Bytes input);
void fuzz_settings(Bytes input);
void fuzz_source(Bytes input);
void fuzz_sums(Bytes input);
void fuzz_target(Bytes input);
void fuzz_text(Bytes input);

}  // namespace rdcp::fuzz
