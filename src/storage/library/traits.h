// What a driver library says of a file (mercutio_driver_traits): the defaults, what can't be, and the Traits that follow.
#pragma once

#include <string>

#include "mercutio/driver.h"
#include "storage/storage.h"

namespace mercutio {

mercutio_driver_traits default_traits(const mercutio_driver& calls);

// An Error where a member has a value that mercutio/driver.h doesn't name: it would be read as another promise than the driver means.
Status check_traits(const std::string& driver, const mercutio_driver_traits& given);

Traits traits_from(const std::string& driver, const mercutio_driver& calls, const mercutio_driver_traits& given);

}  // namespace mercutio
