// The four programs. They are one file, which looks at the name that it was started by.
#pragma once

namespace rdcp::cli {

// Each is called once, with main()'s arguments, and returns the exit status.
int rdcp_main(int argc, char** argv);
int rdsend_main(int argc, char** argv);
int rdrecv_main(int argc, char** argv);
int rdpipe_main(int argc, char** argv);

}  // namespace rdcp::cli
