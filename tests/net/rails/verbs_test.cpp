#include "net/rails/verbs.h"

#include <gtest/gtest.h>

namespace rdcp::net {
namespace {

struct StatusCase {
  ibv_wc_status status;
  const char* message;
};

class CompletionErrorTest : public testing::TestWithParam<StatusCase> {};

TEST_P(CompletionErrorTest, SaysWhatHappened) {
  const io::Error error = completion_error(GetParam().status, "10.0.0.2:7");
  EXPECT_EQ(error.kind, io::ErrorKind::connection);
  EXPECT_EQ(error.message(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Status, CompletionErrorTest,
    testing::Values(
        StatusCase{IBV_WC_RETRY_EXC_ERR,
                   "peer 10.0.0.2:7: does not answer any more (the link or the host is down)"},
        StatusCase{IBV_WC_RESP_TIMEOUT_ERR,
                   "peer 10.0.0.2:7: does not answer any more (the link or the host is down)"},
        StatusCase{IBV_WC_RNR_RETRY_EXC_ERR,
                   "peer 10.0.0.2:7: answers, but does not take data (it is stuck, or posts no receives)"},
        StatusCase{IBV_WC_REM_ACCESS_ERR, "peer 10.0.0.2:7: refused access to its memory"},
        StatusCase{IBV_WC_REM_INV_REQ_ERR, "peer 10.0.0.2:7: found a request invalid"},
        StatusCase{IBV_WC_REM_OP_ERR, "peer 10.0.0.2:7: could not carry out a request"},
        StatusCase{IBV_WC_REM_ABORT_ERR, "peer 10.0.0.2:7: could not carry out a request"},
        StatusCase{IBV_WC_WR_FLUSH_ERR, "peer 10.0.0.2:7: the connection broke off"},
        StatusCase{IBV_WC_LOC_LEN_ERR, "peer 10.0.0.2:7: sent a message that is too long"},
        StatusCase{IBV_WC_LOC_PROT_ERR,
                   "peer 10.0.0.2:7: this host's RDMA device refused access to our own memory"},
        StatusCase{IBV_WC_LOC_ACCESS_ERR,
                   "peer 10.0.0.2:7: this host's RDMA device refused access to our own memory"},
        StatusCase{IBV_WC_LOC_QP_OP_ERR,
                   "peer 10.0.0.2:7: this host's RDMA device could not send (its link may be down)"},
        StatusCase{IBV_WC_FATAL_ERR, "peer 10.0.0.2:7: this host's RDMA device failed"},
        StatusCase{IBV_WC_GENERAL_ERR, "peer 10.0.0.2:7: this host's RDMA device failed"}));

TEST(CompletionError, LeavesWhatNoUserCanActOnToTheLibrarysWords) {
  const std::string words = ibv_wc_status_str(IBV_WC_MW_BIND_ERR);
  EXPECT_EQ(completion_error(IBV_WC_MW_BIND_ERR, "10.0.0.2:7").detail, "RDMA failed: " + words);
}

struct CmCase {
  rdma_cm_event_type type;
  int status;
  const char* message;
};

class CmErrorTest : public testing::TestWithParam<CmCase> {};

TEST_P(CmErrorTest, SaysWhatHappened) {
  const io::Error error = cm_error(GetParam().type, GetParam().status, "10.0.0.2:7");
  EXPECT_EQ(error.kind, io::ErrorKind::connection);
  EXPECT_EQ(error.message(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Event, CmErrorTest,
    testing::Values(
        CmCase{RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT,
               "peer 10.0.0.2:7: its address does not answer on this RDMA device (Connection timed out)"},
        CmCase{RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT,
               "peer 10.0.0.2:7: no RDMA path leads there (Connection timed out)"},
        CmCase{RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT,
               "peer 10.0.0.2:7: does not answer over RDMA (Connection timed out)"},
        CmCase{RDMA_CM_EVENT_UNREACHABLE, 0, "peer 10.0.0.2:7: does not answer over RDMA"},
        CmCase{RDMA_CM_EVENT_CONNECT_ERROR, -ECONNRESET,
               "peer 10.0.0.2:7: the RDMA connection could not be made (Connection reset by peer)"},
        CmCase{RDMA_CM_EVENT_REJECTED, 8, "peer 10.0.0.2:7: refused the connection (nobody listens there)"},
        CmCase{RDMA_CM_EVENT_REJECTED, -ECONNREFUSED,
               "peer 10.0.0.2:7: refused the connection (nobody listens there)"},
        CmCase{RDMA_CM_EVENT_REJECTED, 28,
               "peer 10.0.0.2:7: refused the connection (the listener turned it away)"},
        CmCase{RDMA_CM_EVENT_REJECTED, 3, "peer 10.0.0.2:7: refused the connection (out of RDMA resources)"},
        CmCase{RDMA_CM_EVENT_REJECTED, 4,
               "peer 10.0.0.2:7: refused the connection (the answers took too long)"},
        CmCase{RDMA_CM_EVENT_REJECTED, 10, "peer 10.0.0.2:7: refused the connection (reason 10)"},
        CmCase{RDMA_CM_EVENT_DISCONNECTED, 0, "peer 10.0.0.2:7: closed the connection before the end"},
        CmCase{RDMA_CM_EVENT_DEVICE_REMOVAL, 0, "peer 10.0.0.2:7: the RDMA device was removed"},
        CmCase{RDMA_CM_EVENT_MULTICAST_JOIN, 0,
               "peer 10.0.0.2:7: unexpected RDMA event: RDMA_CM_EVENT_MULTICAST_JOIN"}));

TEST(DeviceError, NamesTheLimitOnLockedMemory) {
  EXPECT_EQ(device_error("register 8 MiB with", "mlx5_0", ENOMEM).message(),
            "register 8 MiB with RDMA device mlx5_0: not enough memory may be locked (ulimit -l)");
  EXPECT_EQ(device_error("query", "mlx5_0", EIO).message(), "query RDMA device mlx5_0: Input/output error");
}

TEST(AsyncError, NamesTheDeviceAndThePort) {
  EXPECT_EQ(async_error(IBV_EVENT_PORT_ERR, "mlx5_0", 2).message(), "RDMA device mlx5_0: port 2 went down");
  EXPECT_EQ(async_error(IBV_EVENT_DEVICE_FATAL, "mlx5_0", 1).message(),
            "RDMA device mlx5_0: failed or was removed");
  EXPECT_EQ(async_error(IBV_EVENT_SM_CHANGE, "mlx5_0", 1).message(),
            "RDMA device mlx5_0: reports: SM change");
}

}  // namespace
}  // namespace rdcp::net
