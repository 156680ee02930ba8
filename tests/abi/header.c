// The public headers, twice, in C11 and in C++20.
#include <mercutio/omp_file.h>
#include <mercutio/omp_file.h>
#include <mercutio/driver.h>
#include <mercutio/driver.h>
#include <mercutio/mercutio.h>
#include <mercutio/mercutio.h>
#include <mercutio/remote.h>
#include <mercutio/remote.h>

const char* header_test_version(void) { return mercutio_version(); }

int header_test_driver(const mercutio_driver* driver) { return MERCUTIO_DRIVER_HAS(mercutio_driver, driver, explain); }

ssize_t header_test_omp(int fd, const struct iovec* list, const off_t* offsets) {
  return omp_file_read_com_list_at_all(list, offsets, 1, fd, OMP_FILE_NO_HINT) == OMP_FILE_ERR_TEAM ? O_CREAT : 0;
}
