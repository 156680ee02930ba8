#include "storage/posix/mounts.h"

#include <gtest/gtest.h>
#include <sys/sysmacros.h>

namespace mercutio::posix {
namespace {

constexpr const char* kTable =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n"
    "30 22 0:44 / /mnt/data rw shared:2 master:1 - nfs4 server:/export rw,vers=4.2,local_lock=none\n"
    "31 22 0:45 / /mnt/two\\040words\\134 rw - fuse.glusterfs host:/volume rw,user_id=0\n"
    "32 22 0:44 / /mnt/again rw - nfs4 server:/export rw,vers=4.2,local_lock=all\n"
    "34 22 0:47 / /mnt/mfs rw - fuse mfs\\04310.0.0.1:9421 rw,user_id=0\n"
    "35 22 0:48 / /mnt/bound rw - fuse /srv/files rw,user_id=0\n"
    "33 22 0:46 / /mnt/short rw shared:1";

TEST(Mounts, FindsTheLastOneOfADevice) {
  const auto mount = find_mount(kTable, makedev(0, 44));
  ASSERT_TRUE(mount);
  EXPECT_EQ(mount->point, "/mnt/again");
  EXPECT_EQ(mount->type, "nfs4");
  EXPECT_TRUE(mount->has_option("local_lock=all"));
  EXPECT_TRUE(mount->has_option("rw"));
  EXPECT_FALSE(mount->has_option("local_lock"));
  EXPECT_FALSE(mount->has_option("w"));
}

TEST(Mounts, ReadsEscapedNames) {
  const auto mount = find_mount(kTable, makedev(0, 45));
  ASSERT_TRUE(mount);
  EXPECT_EQ(mount->point, "/mnt/two words\\");
  EXPECT_EQ(mount->type, "fuse.glusterfs");
}

TEST(Mounts, TakesTheTypeOfFuseFromTheSource) {
  EXPECT_EQ(find_mount(kTable, makedev(0, 47))->type, "fuse.mfs");
  EXPECT_EQ(find_mount(kTable, makedev(0, 48))->type, "fuse");
}

TEST(Mounts, LeavesOutWhatIsntThereOrCutShort) {
  EXPECT_FALSE(find_mount(kTable, makedev(9, 9)));
  EXPECT_FALSE(find_mount(kTable, makedev(0, 46)));
  EXPECT_FALSE(find_mount("", makedev(8, 1)));
  EXPECT_FALSE(find_mount("\n\n - \n", makedev(8, 1)));
}

}  // namespace
}  // namespace mercutio::posix
