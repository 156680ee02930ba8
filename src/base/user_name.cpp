#include "base/user_name.h"

#include <pwd.h>

namespace mercutio {

std::string name_of_user(uid_t uid) {
  char room[4096];
  passwd entry{}, *found = nullptr;
  return ::getpwuid_r(uid, &entry, room, sizeof room, &found) == 0 && found ? found->pw_name : "uid " + std::to_string(uid);
}

}  // namespace mercutio
