#include "insight/remedies.h"

namespace mercutio {
namespace {

// "{a|b}" is a where the program writes, b where it reads.
struct Words {
  Advice what;
  const char* library;
  const char* text;
};

constexpr Words kWords[] = {
    {Advice::kTogether, "mpi", "replace MPI_File_{write|read} by MPI_File_{write|read}_all (MPI_File_{write|read}_at by MPI_File_{write|read}_at_all)"},
    {Advice::kTogether, "h5py", "on all ranks: with dset.collective: {dset[begin:end] = data|data = dset[begin:end]}"},
    {Advice::kTogether, "hdf5", "on all ranks: H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_COLLECTIVE); H5D{write|read}(dset, type, memory, space, dxpl, data);"},
    {Advice::kTogether, "netcdf4-python", "var.set_collective(True), and access var on all ranks"},
    {Advice::kTogether, "netcdf", "nc_var_par_access(ncid, varid, NC_COLLECTIVE); then nc_{put|get}_vara on all ranks"},
    {Advice::kTogether, "pnetcdf", "ncmpi_{put|get}_vara_..._all on all ranks in place of ncmpi_begin_indep_data and ncmpi_{put|get}_vara_..."},
    {Advice::kTogether, "petsc", "PetscViewerBinarySetUseMPIIO(viewer, PETSC_TRUE); then Vec{View|Load} on all ranks"},
    {Advice::kTogether, "adios", "choose the method MPI_AGGREGATE in place of MPI"},

    {Advice::kFewerCalls, "mpi", "move many records with one call: describe them with a datatype and MPI_File_set_view, then MPI_File_{write|read}_all"},
    {Advice::kFewerCalls, "h5py", "move whole slabs in place of single records: with dset.collective: {dset[begin:end] = data|data = dset[begin:end]}"},
    {Advice::kFewerCalls, "hdf5",
     "move many records with one call: H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, block); H5Pset_dxpl_mpio(dxpl, "
     "H5FD_MPIO_COLLECTIVE); H5D{write|read}(dset, type, memory, space, dxpl, data);"},
    {Advice::kFewerCalls, "netcdf4-python", "var.set_collective(True), and move whole slabs: {var[begin:end] = data|data = var[begin:end]}"},
    {Advice::kFewerCalls, "netcdf", "nc_var_par_access(ncid, varid, NC_COLLECTIVE); then one nc_{put|get}_vara for many records"},
    {Advice::kFewerCalls, "pnetcdf", "ncmpi_i{put|get}_vara_... for each record, then once ncmpi_wait_all(ncid, count, requests, statuses)"},

    {Advice::kOrdered, "mpi",
     "move many records with one MPI_File_{write|read}_ordered, in the order of the ranks; or find the ranks' offsets with MPI_Exscan, then "
     "MPI_File_{write|read}_at_all"},

    {Advice::kFewerCallsAlone, "mpi",
     "move many records with one call: describe them with a datatype and MPI_File_set_view, which every rank of its communicator calls; then MPI_File_{write|read}"},
    {Advice::kFewerCallsAlone, "h5py", "move whole slabs in place of single records: {dset[begin:end] = data|data = dset[begin:end]}"},
    {Advice::kFewerCallsAlone, "hdf5",
     "move many records with one call: H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, block); H5D{write|read}(dset, type, memory, space, "
     "H5P_DEFAULT, data);"},
    {Advice::kFewerCallsAlone, "netcdf4-python", "move whole slabs: {var[begin:end] = data|data = var[begin:end]}"},
    {Advice::kFewerCallsAlone, "netcdf", "one nc_{put|get}_vara for many records"},
    {Advice::kFewerCallsAlone, "pnetcdf", "ncmpi_i{put|get}_vara_... for each record, then once ncmpi_wait(ncid, count, requests, statuses)"},

    {Advice::kAllRanks, "mpi",
     "open the file on MPI_COMM_WORLD and let every rank {write|read} its own part with MPI_File_{write|read}_at_all"},
    {Advice::kAllRanks, "h5py",
     "h5py.File(name, \"{w|r}\", driver=\"mpio\", comm=MPI.COMM_WORLD), and every rank its own part: with dset.collective: "
     "{dset[begin:end] = part|part = dset[begin:end]}"},
    {Advice::kAllRanks, "hdf5", "H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, info); then every rank {writes|reads} its own part with H5FD_MPIO_COLLECTIVE"},
    {Advice::kAllRanks, "netcdf4-python", "Dataset(name, \"{w|r}\", parallel=True, comm=MPI.COMM_WORLD); var.set_collective(True), and every rank its own part"},
    {Advice::kAllRanks, "netcdf",
     "{nc_create_par(name, NC_NETCDF4|nc_open_par(name, NC_NOWRITE}, MPI_COMM_WORLD, info, &ncid); then every rank its own part with NC_COLLECTIVE"},
    {Advice::kAllRanks, "pnetcdf",
     "{ncmpi_create|ncmpi_open}(MPI_COMM_WORLD, ...); then every rank its own part with ncmpi_{put|get}_vara_..._all"},

    {Advice::kOpenOnce, "mpi", "move MPI_File_open and MPI_File_close out of the loop; MPI_File_sync makes data visible in between"},
    {Advice::kOpenOnce, "h5py", "open the h5py.File before the loop and close it after; file.flush() makes data visible in between"},
    {Advice::kOpenOnce, "hdf5", "move H5F{create|open} and H5Fclose out of the loop; H5Fflush(file, H5F_SCOPE_GLOBAL) makes data visible in between"},
    {Advice::kOpenOnce, "netcdf4-python", "open the Dataset before the loop and close it after; sync() makes data visible in between"},
    {Advice::kOpenOnce, "netcdf", "move nc_open_par and nc_close out of the loop; nc_sync(ncid) makes data visible in between"},
    {Advice::kOpenOnce, "pnetcdf", "move ncmpi_open and ncmpi_close out of the loop; ncmpi_sync(ncid) makes data visible in between"},

    {Advice::kFewerFiles, "mpi", "keep one file open for many steps, each at an offset of its own: MPI_File_{write|read}_at_all(file, step * bytes_of_a_step, ...)"},
    {Advice::kFewerFilesAlone, "mpi", "keep one file open for many steps, each at an offset of its own: MPI_File_{write|read}_at(file, step * bytes_of_a_step, ...)"},
    {Advice::kFewerFilesAlone, "h5py", "keep one file open for many steps: file.create_dataset(name, (0, *shape), maxshape=(None, *shape), chunks=(1, *shape))"},
    {Advice::kFewerFilesAlone, "hdf5", "keep one file open for many steps: a dataset that grows (H5S_UNLIMITED, H5Dset_extent), or a dataset for each step"},
    {Advice::kFewerFilesAlone, "netcdf4-python", "keep one Dataset open for many steps: createDimension(\"time\", None)"},
    {Advice::kFewerFilesAlone, "netcdf", "keep one file open for many steps: nc_def_dim(ncid, \"time\", NC_UNLIMITED, &time)"},
    {Advice::kFewerFilesAlone, "pnetcdf", "keep one file open for many steps: ncmpi_def_dim(ncid, \"time\", NC_UNLIMITED, &time)"},
    {Advice::kFewerFiles, "h5py", "keep one file open for many steps: file.create_dataset(name, (0, *shape), maxshape=(None, *shape), chunks=(1, *shape))"},
    {Advice::kFewerFiles, "hdf5", "keep one file open for many steps: a dataset that grows (H5S_UNLIMITED, H5Dset_extent), or a dataset for each step"},
    {Advice::kFewerFiles, "netcdf4-python", "keep one Dataset open for many steps: createDimension(\"time\", None)"},
    {Advice::kFewerFiles, "netcdf", "keep one file open for many steps: nc_def_dim(ncid, \"time\", NC_UNLIMITED, &time)"},
    {Advice::kFewerFiles, "pnetcdf", "keep one file open for many steps: ncmpi_def_dim(ncid, \"time\", NC_UNLIMITED, &time)"},

    {Advice::kSyncOnce, "mpi", "remove MPI_File_sync from the loop: what was written is safe after one sync before MPI_File_close"},
    {Advice::kSyncOnce, "h5py", "remove file.flush() from the loop: one before the file is closed will do"},
    {Advice::kSyncOnce, "hdf5", "remove H5Fflush from the loop: one before H5Fclose will do"},
    {Advice::kSyncOnce, "netcdf4-python", "remove sync() from the loop: one before close() will do"},
    {Advice::kSyncOnce, "netcdf", "remove nc_sync from the loop: one before nc_close will do"},
    {Advice::kSyncOnce, "pnetcdf", "remove ncmpi_sync from the loop: one before ncmpi_close will do"},

    {Advice::kViewOnce, "mpi",
     "set the view once, before the loop: one filetype that tiles the file; or leave the view alone, and give offsets: MPI_File_{write|read}_at(file, offset, ...)"},

    {Advice::kReadOnce, "mpi", "read it once, on rank 0, and hand it on: if (rank == 0) MPI_File_read_at(...); MPI_Bcast(buffer, size, MPI_BYTE, 0, comm)"},
    {Advice::kReadOnce, "h5py", "read it once, on rank 0, and hand it on: data = comm.bcast(dset[...] if comm.rank == 0 else None)"},
    {Advice::kReadOnceAlone, "mpi", "read it once, on rank 0, and hand it on: MPI_Bcast(buffer, size, MPI_BYTE, 0, MPI_COMM_WORLD)"},
    {Advice::kReadOnceAlone, "h5py", "read it once, on rank 0, and hand it on: data = comm.bcast(dset[...] if comm.rank == 0 else None)"},
    {Advice::kReadOnce, "hdf5", "read it once for all: H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_COLLECTIVE); H5Dread(dset, type, memory, space, dxpl, data);"},
    {Advice::kReadOnce, "netcdf4-python", "read it once for all: var.set_collective(True)"},
    {Advice::kReadOnce, "netcdf", "read it once for all: nc_var_par_access(ncid, varid, NC_COLLECTIVE)"},
    {Advice::kReadOnce, "pnetcdf", "read it once for all: ncmpi_get_vara_..._all in place of ncmpi_get_vara_..."},
};

std::string in_direction(const std::string& text, Direction direction) {
  std::string out;
  for (std::size_t at = 0, open; at < text.size(); at = open) {
    open = text.find('{', at);
    if (open == std::string::npos) return out + text.substr(at);
    const std::size_t bar = text.find('|', open), close = text.find('}', bar);
    out += text.substr(at, open - at);
    out += direction == Direction::kWrite ? text.substr(open + 1, bar - open - 1) : text.substr(bar + 1, close - bar - 1);
    open = close + 1;
  }
  return out;
}

}  // namespace

std::string advice(Advice what, Direction direction, const std::string& library) {
  const char* text = "";
  for (const Words& one : kWords) {
    if (one.what == what && (library == one.library || std::string("mpi") == one.library)) text = one.text;
    if (one.what == what && library == one.library) break;
  }
  return in_direction(text, direction);
}

std::string alignment_advice(i64 bytes, const std::string& library) {
  const std::string unit = std::to_string(bytes);
  if (library == "h5py") return "h5py.File(..., alignment_threshold=65536, alignment_interval=" + unit + ")";
  if (library == "hdf5") return "H5Pset_alignment(fapl, 65536, " + unit + ");";
  if (library == "netcdf" || library == "netcdf4-python")
    return "chunks of a multiple of " + unit + " bytes: " +
           (library == "netcdf" ? "nc_def_var_chunking(ncid, varid, NC_CHUNKED, sizes)" : "createVariable(..., chunksizes=sizes)");
  if (library == "pnetcdf") return "MPI_Info_set(info, \"nc_var_align_size\", \"" + unit + "\") before ncmpi_create";
  return "begin records at multiples of " + unit + " bytes: pad the header, and records whose size is no multiple of that";
}

}  // namespace mercutio
