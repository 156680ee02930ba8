#include "mpi/info.h"

namespace mercutio {

InfoItems items_of(MPI_Info info) {
  InfoItems items;
  if (info == MPI_INFO_NULL) return items;
  int keys = 0;
  if (PMPI_Info_get_nkeys(info, &keys) != MPI_SUCCESS) return items;
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1] = "";
    int length = 0, found = 0;
    PMPI_Info_get_nthkey(info, i, key);
    PMPI_Info_get_valuelen(info, key, &length, &found);
    if (!found) continue;
    std::string value(static_cast<std::size_t>(length) + 1, '\0');
    PMPI_Info_get(info, key, length, value.data(), &found);
    if (found) items.emplace_back(key, value.c_str());
  }
  return items;
}

MPI_Info info_of(const InfoItems& items) {
  MPI_Info info = MPI_INFO_NULL;
  PMPI_Info_create(&info);
  for (const auto& [key, value] : items) PMPI_Info_set(info, key.c_str(), value.substr(0, MPI_MAX_INFO_VAL - 1).c_str());
  return info;
}

}  // namespace mercutio
