// The part of the standard ABI of MPI 5.0 (chapter 20; libmpi_abi.so.1) that the backend uses, for 64-bit long and pointers.
// Handles are pointers to incomplete types; those of predefined objects are small integers.
#pragma once

#include <cstdint>

using MPI_Aint = std::intptr_t;
using MPI_Count = std::int64_t;
using MPI_Offset = std::int64_t;
using MPI_Comm = struct MPI_ABI_Comm*;
using MPI_Datatype = struct MPI_ABI_Datatype*;
using MPI_Errhandler = struct MPI_ABI_Errhandler*;
using MPI_File = struct MPI_ABI_File*;
using MPI_Group = struct MPI_ABI_Group*;
using MPI_Info = struct MPI_ABI_Info*;
using MPI_Op = struct MPI_ABI_Op*;
using MPI_Request = struct MPI_ABI_Request*;
using MPI_Win = struct MPI_ABI_Win*;

struct MPI_Status {
  int MPI_SOURCE, MPI_TAG, MPI_ERROR;
  int internal[5];   // private to the MPI
};

// A pointer made from an integer is not a constant expression.
#define MPI_COMM_NULL (reinterpret_cast<MPI_Comm>(0x100))
#define MPI_COMM_WORLD (reinterpret_cast<MPI_Comm>(0x101))
#define MPI_COMM_SELF (reinterpret_cast<MPI_Comm>(0x102))
#define MPI_GROUP_NULL (reinterpret_cast<MPI_Group>(0x108))
#define MPI_INFO_NULL (reinterpret_cast<MPI_Info>(0x130))
#define MPI_SUM (reinterpret_cast<MPI_Op>(0x021))
#define MPI_MIN (reinterpret_cast<MPI_Op>(0x022))
#define MPI_MAX (reinterpret_cast<MPI_Op>(0x023))
#define MPI_REPLACE (reinterpret_cast<MPI_Op>(0x03c))
#define MPI_ERRHANDLER_NULL (reinterpret_cast<MPI_Errhandler>(0x140))
#define MPI_ERRORS_ARE_FATAL (reinterpret_cast<MPI_Errhandler>(0x141))
#define MPI_ERRORS_ABORT (reinterpret_cast<MPI_Errhandler>(0x142))
#define MPI_ERRORS_RETURN (reinterpret_cast<MPI_Errhandler>(0x143))
#define MPI_FILE_NULL (reinterpret_cast<MPI_File>(0x118))
#define MPI_REQUEST_NULL (reinterpret_cast<MPI_Request>(0x180))
#define MPI_WIN_NULL (reinterpret_cast<MPI_Win>(0x110))
#define MPI_DATATYPE_NULL (reinterpret_cast<MPI_Datatype>(0x200))
#define MPI_AINT (reinterpret_cast<MPI_Datatype>(0x201))
#define MPI_COUNT (reinterpret_cast<MPI_Datatype>(0x202))
#define MPI_OFFSET (reinterpret_cast<MPI_Datatype>(0x203))
#define MPI_PACKED (reinterpret_cast<MPI_Datatype>(0x207))
#define MPI_SHORT (reinterpret_cast<MPI_Datatype>(0x208))
#define MPI_INT (reinterpret_cast<MPI_Datatype>(0x209))
#define MPI_LONG (reinterpret_cast<MPI_Datatype>(0x20a))
#define MPI_LONG_LONG (reinterpret_cast<MPI_Datatype>(0x20b))
#define MPI_UNSIGNED_SHORT (reinterpret_cast<MPI_Datatype>(0x20c))
#define MPI_UNSIGNED (reinterpret_cast<MPI_Datatype>(0x20d))
#define MPI_UNSIGNED_LONG (reinterpret_cast<MPI_Datatype>(0x20e))
#define MPI_UNSIGNED_LONG_LONG (reinterpret_cast<MPI_Datatype>(0x20f))
#define MPI_FLOAT (reinterpret_cast<MPI_Datatype>(0x210))
#define MPI_C_COMPLEX (reinterpret_cast<MPI_Datatype>(0x212))
#define MPI_C_FLOAT_COMPLEX (reinterpret_cast<MPI_Datatype>(0x212))
#define MPI_CXX_FLOAT_COMPLEX (reinterpret_cast<MPI_Datatype>(0x213))
#define MPI_DOUBLE (reinterpret_cast<MPI_Datatype>(0x214))
#define MPI_C_DOUBLE_COMPLEX (reinterpret_cast<MPI_Datatype>(0x216))
#define MPI_CXX_DOUBLE_COMPLEX (reinterpret_cast<MPI_Datatype>(0x217))
#define MPI_LOGICAL (reinterpret_cast<MPI_Datatype>(0x218))
#define MPI_INTEGER (reinterpret_cast<MPI_Datatype>(0x219))
#define MPI_REAL (reinterpret_cast<MPI_Datatype>(0x21a))
#define MPI_COMPLEX (reinterpret_cast<MPI_Datatype>(0x21b))
#define MPI_DOUBLE_PRECISION (reinterpret_cast<MPI_Datatype>(0x21c))
#define MPI_DOUBLE_COMPLEX (reinterpret_cast<MPI_Datatype>(0x21d))
#define MPI_CHARACTER (reinterpret_cast<MPI_Datatype>(0x21e))
#define MPI_LONG_DOUBLE (reinterpret_cast<MPI_Datatype>(0x220))
#define MPI_C_LONG_DOUBLE_COMPLEX (reinterpret_cast<MPI_Datatype>(0x224))
#define MPI_CXX_LONG_DOUBLE_COMPLEX (reinterpret_cast<MPI_Datatype>(0x225))
#define MPI_FLOAT_INT (reinterpret_cast<MPI_Datatype>(0x228))
#define MPI_DOUBLE_INT (reinterpret_cast<MPI_Datatype>(0x229))
#define MPI_LONG_INT (reinterpret_cast<MPI_Datatype>(0x22a))
#define MPI_2INT (reinterpret_cast<MPI_Datatype>(0x22b))
#define MPI_SHORT_INT (reinterpret_cast<MPI_Datatype>(0x22c))
#define MPI_LONG_DOUBLE_INT (reinterpret_cast<MPI_Datatype>(0x22d))
#define MPI_2REAL (reinterpret_cast<MPI_Datatype>(0x230))
#define MPI_2DOUBLE_PRECISION (reinterpret_cast<MPI_Datatype>(0x231))
#define MPI_2INTEGER (reinterpret_cast<MPI_Datatype>(0x232))
#define MPI_C_BOOL (reinterpret_cast<MPI_Datatype>(0x238))
#define MPI_CXX_BOOL (reinterpret_cast<MPI_Datatype>(0x239))
#define MPI_WCHAR (reinterpret_cast<MPI_Datatype>(0x23c))
#define MPI_INT8_T (reinterpret_cast<MPI_Datatype>(0x240))
#define MPI_UINT8_T (reinterpret_cast<MPI_Datatype>(0x241))
#define MPI_CHAR (reinterpret_cast<MPI_Datatype>(0x243))
#define MPI_SIGNED_CHAR (reinterpret_cast<MPI_Datatype>(0x244))
#define MPI_UNSIGNED_CHAR (reinterpret_cast<MPI_Datatype>(0x245))
#define MPI_BYTE (reinterpret_cast<MPI_Datatype>(0x247))
#define MPI_INT16_T (reinterpret_cast<MPI_Datatype>(0x248))
#define MPI_UINT16_T (reinterpret_cast<MPI_Datatype>(0x249))
#define MPI_INT32_T (reinterpret_cast<MPI_Datatype>(0x250))
#define MPI_UINT32_T (reinterpret_cast<MPI_Datatype>(0x251))
#define MPI_INT64_T (reinterpret_cast<MPI_Datatype>(0x258))
#define MPI_UINT64_T (reinterpret_cast<MPI_Datatype>(0x259))
#define MPI_LOGICAL1 (reinterpret_cast<MPI_Datatype>(0x2c0))
#define MPI_INTEGER1 (reinterpret_cast<MPI_Datatype>(0x2c1))
#define MPI_LOGICAL2 (reinterpret_cast<MPI_Datatype>(0x2c8))
#define MPI_INTEGER2 (reinterpret_cast<MPI_Datatype>(0x2c9))
#define MPI_REAL2 (reinterpret_cast<MPI_Datatype>(0x2ca))
#define MPI_LOGICAL4 (reinterpret_cast<MPI_Datatype>(0x2d0))
#define MPI_INTEGER4 (reinterpret_cast<MPI_Datatype>(0x2d1))
#define MPI_REAL4 (reinterpret_cast<MPI_Datatype>(0x2d2))
#define MPI_COMPLEX4 (reinterpret_cast<MPI_Datatype>(0x2d3))
#define MPI_LOGICAL8 (reinterpret_cast<MPI_Datatype>(0x2d8))
#define MPI_INTEGER8 (reinterpret_cast<MPI_Datatype>(0x2d9))
#define MPI_REAL8 (reinterpret_cast<MPI_Datatype>(0x2da))
#define MPI_COMPLEX8 (reinterpret_cast<MPI_Datatype>(0x2db))
#define MPI_LOGICAL16 (reinterpret_cast<MPI_Datatype>(0x2e0))
#define MPI_INTEGER16 (reinterpret_cast<MPI_Datatype>(0x2e1))
#define MPI_REAL16 (reinterpret_cast<MPI_Datatype>(0x2e2))
#define MPI_COMPLEX16 (reinterpret_cast<MPI_Datatype>(0x2e3))
#define MPI_COMPLEX32 (reinterpret_cast<MPI_Datatype>(0x2eb))

inline constexpr int MPI_SUCCESS = 0, MPI_ERR_BUFFER = 1, MPI_ERR_COUNT = 2, MPI_ERR_TYPE = 3, MPI_ERR_COMM = 5,
    MPI_ERR_REQUEST = 7, MPI_ERR_ARG = 13, MPI_ERR_TRUNCATE = 15, MPI_ERR_OTHER = 16,
    MPI_ERR_INTERN = 17, MPI_ERR_IN_STATUS = 19, MPI_ERR_ACCESS = 20, MPI_ERR_AMODE = 21, MPI_ERR_BAD_FILE = 23,
    MPI_ERR_CONVERSION = 25, MPI_ERR_DUP_DATAREP = 27, MPI_ERR_FILE_EXISTS = 28, MPI_ERR_FILE_IN_USE = 29, MPI_ERR_FILE = 30,
    MPI_ERR_INFO_VALUE = 33, MPI_ERR_INFO = 34, MPI_ERR_IO = 35, MPI_ERR_NO_MEM = 39, MPI_ERR_NOT_SAME = 40,
    MPI_ERR_NO_SPACE = 41, MPI_ERR_NO_SUCH_FILE = 42, MPI_ERR_QUOTA = 44, MPI_ERR_READ_ONLY = 45,
    MPI_ERR_UNSUPPORTED_DATAREP = 54, MPI_ERR_UNSUPPORTED_OPERATION = 55;
inline constexpr int MPI_MODE_APPEND = 1, MPI_MODE_CREATE = 2, MPI_MODE_DELETE_ON_CLOSE = 4, MPI_MODE_EXCL = 8,
    MPI_MODE_RDONLY = 16, MPI_MODE_RDWR = 32, MPI_MODE_SEQUENTIAL = 64, MPI_MODE_UNIQUE_OPEN = 128, MPI_MODE_WRONLY = 256,
    MPI_SEEK_CUR = 401, MPI_SEEK_END = 402, MPI_SEEK_SET = 403;
inline constexpr int MPI_COMBINER_NAMED = 101, MPI_COMBINER_DUP = 102, MPI_COMBINER_CONTIGUOUS = 103,
    MPI_COMBINER_VECTOR = 104, MPI_COMBINER_HVECTOR = 105, MPI_COMBINER_INDEXED = 106, MPI_COMBINER_HINDEXED = 107,
    MPI_COMBINER_INDEXED_BLOCK = 108, MPI_COMBINER_HINDEXED_BLOCK = 109, MPI_COMBINER_STRUCT = 110,
    MPI_COMBINER_SUBARRAY = 111, MPI_COMBINER_DARRAY = 112, MPI_COMBINER_F90_REAL = 113, MPI_COMBINER_F90_COMPLEX = 114,
    MPI_COMBINER_F90_INTEGER = 115, MPI_COMBINER_RESIZED = 116, MPI_DISTRIBUTE_NONE = 16, MPI_DISTRIBUTE_BLOCK = 17,
    MPI_DISTRIBUTE_CYCLIC = 18, MPI_DISTRIBUTE_DFLT_DARG = 19, MPI_ORDER_C = 12, MPI_ORDER_FORTRAN = 15;
inline constexpr int MPI_MAX_DATAREP_STRING = 128, MPI_MAX_INFO_KEY = 256, MPI_MAX_PROCESSOR_NAME = 256,
    MPI_MAX_ERROR_STRING = 512, MPI_MAX_INFO_VAL = 1024, MPI_MAX_LIBRARY_VERSION_STRING = 8192;
inline constexpr int MPI_UNDEFINED = -32766, MPI_PROC_NULL = -3, MPI_ANY_SOURCE = -1,
    MPI_KEYVAL_INVALID = 0, MPI_THREAD_SINGLE = 0, MPI_CART = 211, MPI_CONGRUENT = 202, MPI_COMM_TYPE_SHARED = 221, MPI_TAG_UB = 501,
    MPI_LASTUSEDCODE = 506, MPI_THREAD_FUNNELED = 1024, MPI_THREAD_SERIALIZED = 2048, MPI_THREAD_MULTIPLE = 4096;
inline constexpr MPI_Offset MPI_DISPLACEMENT_CURRENT = -1;

#include "mpi/abi/functions.h"

inline constexpr MPI_Status *MPI_STATUS_IGNORE = nullptr, *MPI_STATUSES_IGNORE = nullptr;
inline constexpr MPI_Comm_copy_attr_function* MPI_COMM_NULL_COPY_FN = nullptr;
inline constexpr MPI_Type_copy_attr_function* MPI_TYPE_NULL_COPY_FN = nullptr;
extern "C" {
int PMPI_Type_toint(MPI_Datatype);
int PMPI_Errhandler_toint(MPI_Errhandler);
}
