#include "storage/posix/layouts.h"

#include <gtest/gtest.h>
#include <sys/ioctl.h>

namespace mercutio::posix {
namespace {

TEST(Layouts, Ceph) {
  EXPECT_EQ(parse_ceph_layout("stripe_unit=4194304 stripe_count=1 object_size=4194304 pool=cephfs_data"), (Layout{4 * MiB, 0}));
  EXPECT_EQ(parse_ceph_layout("stripe_unit=1048576 stripe_count=8 object_size=8388608 pool=cephfs.data.x pool_namespace=a"), (Layout{MiB, 8}));
  EXPECT_EQ(parse_ceph_layout(std::string_view("stripe_unit=65536 stripe_count=2 object_size=65536 pool=p\0", 58)), (Layout{65536, 2}));
  for (const char* text : {"", "stripe_unit=0 stripe_count=1 object_size=4194304", "stripe_unit=4194304 stripe_count=1", "stripe_unit=x stripe_count=1 object_size=1",
                           "stripe_unit=4194304 stripe_count=1 object_size=65536", "xstripe_unit=1 stripe_count=1 object_size=1", "stripe_unit=-4 stripe_count=2 object_size=8",
                           "stripe_unit=99999999999999999999 stripe_count=2 object_size=99999999999999999999", "stripe_unit=4k stripe_count=1 object_size=4194304"})
    EXPECT_EQ(parse_ceph_layout(text), Layout{}) << text;
}

TEST(Layouts, OtherFileSystemsTellNone) {
  EXPECT_EQ(query_layout(0, "ext4"), Layout{});
  EXPECT_EQ(query_layout(-1, "ceph"), Layout{});
  EXPECT_EQ(query_layout(-1, "beegfs"), Layout{});
}

}  // namespace
}  // namespace mercutio::posix
