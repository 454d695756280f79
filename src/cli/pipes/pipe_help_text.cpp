#include "cli/options/help_text.h"

namespace rdcp::cli {

const char* const kSendHelpText =
    R"(Usage: rdsend [options] HOST PORT KEY [FILE]
Sends standard input, or FILE, to rdrecv on HOST, and checks every chunk.

KEY is the same as for rdrecv. On the command line others on this host can see
it for a moment; use --key-file or --key-fd to avoid that.

What to send
      --key-file FILE    read KEY from the first line of FILE (mode 0600)
      --key-fd N         read KEY from descriptor N, as one line
      --wait SECONDS     how long to try while rdrecv does not listen (10)

What to tell
  -v, --verbose          print a summary at the end, with the bandwidth
  -q, --quiet            print nothing unless something fails
      --progress         draw a progress line even if stderr is not a terminal
  -h, --help             print this text
      --version          print the version

How to move the data
      --encrypt[=WHEN]   auto: TCP to other hosts (default); always (if alone)
      --no-encrypt       encrypt nothing
      --compress[=HOW]   auto, off or a level of zstd, 1 to 19; alone: 1
      --streams N        parallel connections, 1 to 64
      --chunk-size SIZE  64K to 16M, a multiple of 4K
      --transport NAME   auto, tcp or rdma
      --via ADDR         address, network interface or RDMA device, for RDMA
      --bwlimit RATE     at most RATE bytes per second
      --cache MODE       page cache: auto, keep or bypass
      --congestion NAME  TCP congestion control for the data
      --tos CLASS        traffic class (DSCP) of the packets: af31, 0x68, none
      --ring NAME        how to do file I/O: auto, io_uring or threads
      --no-landlock      let agents do what their user may

SIZE and RATE take K, M, G, T (KiB, ...: 1024; KB, ...: 1000).
Exit status: 0 all received; 1 reading or writing failed; 2 usage; 3 rdrecv not
reached; 4 data connection failed; 5 digest mismatch; 130, 143 signals.
)";

const char* const kReceiveHelpText =
    R"(Usage: rdrecv [options] PORT KEY [FILE]
Receives what rdsend sends and writes it to standard output, or to FILE.

PORT 0 means a free port, which is printed as "port N" on standard error. KEY
is the same as for rdsend. On the command line others on this host can see it
for a moment; use --key-file or --key-fd to avoid that. FILE gets its name when
all of it has arrived and has been checked.

What to receive
      --key-file FILE    read KEY from the first line of FILE (mode 0600)
      --key-fd N         read KEY from descriptor N, as one line

What to tell
  -v, --verbose          print a summary at the end, with the bandwidth
  -q, --quiet            print nothing unless something fails
  -h, --help             print this text
      --version          print the version

How to move the data
      --encrypt[=WHEN]   auto: TCP to other hosts (default); always (if alone)
      --no-encrypt       encrypt nothing
      --transport NAME   auto, tcp or rdma
      --via ADDR         address, interface or RDMA device to listen on
      --cache MODE       page cache: auto, keep or bypass
      --congestion NAME  TCP congestion control for the data
      --tos CLASS        traffic class (DSCP) of the packets: af31, 0x68, none
      --ring NAME        how to do file I/O: auto, io_uring or threads
      --no-landlock      let agents do what their user may

Exit status: 0 all received; 1 reading or writing failed; 2 usage; 3 cannot
listen on PORT; 4 the stream was cut short; 5 digest mismatch; 130, 143
signals.
)";

const char* const kPipelineHelpText =
    R"(Usage: rdpipe [options] HOST:CMD [HOST:CMD ...]
Sends standard input, unless it is a terminal, through commands on other hosts
and writes the output of the last one to standard output. Data goes from host
to host directly. :CMD, or a CMD without a host before it, runs on this host.

The login shell there runs CMD. Instead of a command it may be a file:
  '< FILE'               the next CMD reads FILE; earlier ones run first
  '> FILE', '>> FILE'    write FILE, or append to it; the next CMD starts then

What to do
  -n, --dryrun           print what would run where, and run nothing
  -p, --port PORT        listen on PORT and the ports after it, not on free ones
  -H, --hostname NAME    other hosts connect to this one by NAME
  -v, --verbose          print the host before local stderr lines; the bandwidth
  -q, --quiet            print nothing unless something fails
  -h, --help             print this text
  -V, --version          print the version

How to reach the hosts
  -e, --rsh CMD          use CMD instead of ssh
  -i, --identity FILE    ssh identity file; may be repeated
  -F, --ssh-config FILE  ssh configuration file
  -o, --ssh-option OPT   ssh option; may be repeated
      --rdcp-path PATH   where rdcp is on the hosts, if not in their PATH
      --no-deploy        put no rdcp on a host that has none

How to move the data
      --encrypt[=WHEN]   auto: TCP to other hosts (default); always (if alone)
      --no-encrypt       encrypt nothing
      --compress[=HOW]   auto, off or a level of zstd, 1 to 19; alone: 1
      --streams N        parallel connections, 1 to 64
      --chunk-size SIZE  64K to 16M, a multiple of 4K
      --bwlimit RATE     at most RATE bytes per second and stream
      --transport NAME   auto, tcp or rdma
      --via ADDR         address, interface or RDMA device; ssh: through ssh
      --data-port P[-Q]  port for data, or the first free one of a range
      --no-ssh-data      fail rather than send data through ssh
      --cache MODE       page cache: auto, keep or bypass
      --congestion NAME  TCP congestion control for the data
      --tos CLASS        traffic class (DSCP) of the packets: af31, 0x68, none
      --ring NAME        how to do file I/O: auto, io_uring or threads
      --no-landlock      let agents do what their user may

Exit status: that of the first command that failed, 127 if it was not found; 3 a
host was not reached; 4 a data connection failed; 130, 143 signals.
)";

}  // namespace rdcp::cli
