// The part of the ABI of Open MPI 4 and 5 (libmpi.so.40) that the backend uses, for 64-bit long and pointers. Handles are addresses
// of objects; predefined objects are symbols of the library.
#pragma once

#include <cstddef>

using MPI_Aint = std::ptrdiff_t;
using MPI_Count = long long;
using MPI_Offset = long long;
using MPI_Comm = struct ompi_communicator_t*;
using MPI_Datatype = struct ompi_datatype_t*;
using MPI_Errhandler = struct ompi_errhandler_t*;
using MPI_File = struct ompi_file_t*;
using MPI_Group = struct ompi_group_t*;
using MPI_Info = struct ompi_info_t*;
using MPI_Op = struct ompi_op_t*;
using MPI_Request = struct ompi_request_t*;
using MPI_Win = struct ompi_win_t*;

struct ompi_status_public_t {
  int MPI_SOURCE, MPI_TAG, MPI_ERROR;
  int cancelled;        // private to the MPI, as is the next member
  std::size_t bytes;
};
using MPI_Status = ompi_status_public_t;

// MERCUTIO_OBJECT(handle's type, MPI_X, symbol)
#define MERCUTIO_OBJECT(Object, name, symbol) \
  extern "C" Object symbol;                   \
  inline constexpr Object* name = &symbol;
MERCUTIO_OBJECT(ompi_communicator_t, MPI_COMM_NULL, ompi_mpi_comm_null)
MERCUTIO_OBJECT(ompi_communicator_t, MPI_COMM_SELF, ompi_mpi_comm_self)
MERCUTIO_OBJECT(ompi_communicator_t, MPI_COMM_WORLD, ompi_mpi_comm_world)
MERCUTIO_OBJECT(ompi_group_t, MPI_GROUP_NULL, ompi_mpi_group_null)
MERCUTIO_OBJECT(ompi_info_t, MPI_INFO_NULL, ompi_mpi_info_null)
MERCUTIO_OBJECT(ompi_op_t, MPI_MAX, ompi_mpi_op_max)
MERCUTIO_OBJECT(ompi_op_t, MPI_MIN, ompi_mpi_op_min)
MERCUTIO_OBJECT(ompi_op_t, MPI_REPLACE, ompi_mpi_op_replace)
MERCUTIO_OBJECT(ompi_op_t, MPI_SUM, ompi_mpi_op_sum)
MERCUTIO_OBJECT(ompi_errhandler_t, MPI_ERRHANDLER_NULL, ompi_mpi_errhandler_null)
MERCUTIO_OBJECT(ompi_errhandler_t, MPI_ERRORS_ARE_FATAL, ompi_mpi_errors_are_fatal)
MERCUTIO_OBJECT(ompi_errhandler_t, MPI_ERRORS_RETURN, ompi_mpi_errors_return)
MERCUTIO_OBJECT(ompi_file_t, MPI_FILE_NULL, ompi_mpi_file_null)
MERCUTIO_OBJECT(ompi_request_t, MPI_REQUEST_NULL, ompi_request_null)
MERCUTIO_OBJECT(ompi_win_t, MPI_WIN_NULL, ompi_mpi_win_null)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_2COMPLEX, ompi_mpi_2cplex)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_2DOUBLE_COMPLEX, ompi_mpi_2dblcplex)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_2DOUBLE_PRECISION, ompi_mpi_2dblprec)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_2INT, ompi_mpi_2int)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_2INTEGER, ompi_mpi_2integer)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_2REAL, ompi_mpi_2real)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_AINT, ompi_mpi_aint)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_BYTE, ompi_mpi_byte)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_CHAR, ompi_mpi_char)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_CHARACTER, ompi_mpi_character)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_COMPLEX, ompi_mpi_cplex)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_COMPLEX16, ompi_mpi_complex16)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_COMPLEX32, ompi_mpi_complex32)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_COMPLEX8, ompi_mpi_complex8)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_COUNT, ompi_mpi_count)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_CXX_BOOL, ompi_mpi_cxx_bool)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_CXX_DOUBLE_COMPLEX, ompi_mpi_cxx_dblcplex)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_CXX_FLOAT_COMPLEX, ompi_mpi_cxx_cplex)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_CXX_LONG_DOUBLE_COMPLEX, ompi_mpi_cxx_ldblcplex)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_C_BOOL, ompi_mpi_c_bool)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_C_COMPLEX, ompi_mpi_c_float_complex)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_C_DOUBLE_COMPLEX, ompi_mpi_c_double_complex)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_C_FLOAT_COMPLEX, ompi_mpi_c_float_complex)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_C_LONG_DOUBLE_COMPLEX, ompi_mpi_c_long_double_complex)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_DATATYPE_NULL, ompi_mpi_datatype_null)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_DOUBLE, ompi_mpi_double)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_DOUBLE_COMPLEX, ompi_mpi_dblcplex)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_DOUBLE_INT, ompi_mpi_double_int)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_DOUBLE_PRECISION, ompi_mpi_dblprec)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_FLOAT, ompi_mpi_float)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_FLOAT_INT, ompi_mpi_float_int)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_INT, ompi_mpi_int)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_INT16_T, ompi_mpi_int16_t)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_INT32_T, ompi_mpi_int32_t)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_INT64_T, ompi_mpi_int64_t)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_INT8_T, ompi_mpi_int8_t)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_INTEGER, ompi_mpi_integer)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_INTEGER1, ompi_mpi_integer1)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_INTEGER2, ompi_mpi_integer2)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_INTEGER4, ompi_mpi_integer4)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_INTEGER8, ompi_mpi_integer8)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_LOGICAL, ompi_mpi_logical)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_LOGICAL1, ompi_mpi_logical1)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_LOGICAL2, ompi_mpi_logical2)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_LOGICAL4, ompi_mpi_logical4)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_LOGICAL8, ompi_mpi_logical8)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_LONG, ompi_mpi_long)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_LONG_DOUBLE, ompi_mpi_long_double)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_LONG_DOUBLE_INT, ompi_mpi_longdbl_int)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_LONG_INT, ompi_mpi_long_int)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_LONG_LONG, ompi_mpi_long_long_int)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_OFFSET, ompi_mpi_offset)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_PACKED, ompi_mpi_packed)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_REAL, ompi_mpi_real)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_REAL16, ompi_mpi_real16)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_REAL4, ompi_mpi_real4)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_REAL8, ompi_mpi_real8)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_SHORT, ompi_mpi_short)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_SHORT_INT, ompi_mpi_short_int)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_SIGNED_CHAR, ompi_mpi_signed_char)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_UINT16_T, ompi_mpi_uint16_t)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_UINT32_T, ompi_mpi_uint32_t)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_UINT64_T, ompi_mpi_uint64_t)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_UINT8_T, ompi_mpi_uint8_t)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_UNSIGNED, ompi_mpi_unsigned)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_UNSIGNED_CHAR, ompi_mpi_unsigned_char)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_UNSIGNED_LONG, ompi_mpi_unsigned_long)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_UNSIGNED_LONG_LONG, ompi_mpi_unsigned_long_long)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_UNSIGNED_SHORT, ompi_mpi_unsigned_short)
MERCUTIO_OBJECT(ompi_datatype_t, MPI_WCHAR, ompi_mpi_wchar)
#undef MERCUTIO_OBJECT

inline constexpr int MPI_SUCCESS = 0, MPI_ERR_BUFFER = 1, MPI_ERR_COUNT = 2, MPI_ERR_TYPE = 3, MPI_ERR_COMM = 5,
    MPI_ERR_REQUEST = 7, MPI_ERR_ARG = 13, MPI_ERR_TRUNCATE = 15, MPI_ERR_OTHER = 16,
    MPI_ERR_INTERN = 17, MPI_ERR_IN_STATUS = 18, MPI_ERR_ACCESS = 20, MPI_ERR_AMODE = 21, MPI_ERR_BAD_FILE = 23,
    MPI_ERR_CONVERSION = 25, MPI_ERR_DUP_DATAREP = 27, MPI_ERR_FILE_EXISTS = 28, MPI_ERR_FILE_IN_USE = 29, MPI_ERR_FILE = 30,
    MPI_ERR_INFO_VALUE = 33, MPI_ERR_INFO = 34, MPI_ERR_IO = 35, MPI_ERR_NO_MEM = 39, MPI_ERR_NOT_SAME = 40,
    MPI_ERR_NO_SPACE = 41, MPI_ERR_NO_SUCH_FILE = 42, MPI_ERR_QUOTA = 44, MPI_ERR_READ_ONLY = 45,
    MPI_ERR_UNSUPPORTED_DATAREP = 51, MPI_ERR_UNSUPPORTED_OPERATION = 52;
inline constexpr int MPI_MODE_CREATE = 1, MPI_MODE_RDONLY = 2, MPI_MODE_WRONLY = 4, MPI_MODE_RDWR = 8,
    MPI_MODE_DELETE_ON_CLOSE = 16, MPI_MODE_UNIQUE_OPEN = 32, MPI_MODE_EXCL = 64, MPI_MODE_APPEND = 128,
    MPI_MODE_SEQUENTIAL = 256, MPI_SEEK_SET = 600, MPI_SEEK_CUR = 602, MPI_SEEK_END = 604;
inline constexpr int MPI_COMBINER_NAMED = 0, MPI_COMBINER_DUP = 1, MPI_COMBINER_CONTIGUOUS = 2, MPI_COMBINER_VECTOR = 3,
    MPI_COMBINER_HVECTOR = 5, MPI_COMBINER_INDEXED = 6, MPI_COMBINER_HINDEXED = 8, MPI_COMBINER_INDEXED_BLOCK = 9,
    MPI_COMBINER_STRUCT = 11, MPI_COMBINER_SUBARRAY = 12, MPI_COMBINER_DARRAY = 13, MPI_COMBINER_F90_REAL = 14,
    MPI_COMBINER_F90_COMPLEX = 15, MPI_COMBINER_F90_INTEGER = 16, MPI_COMBINER_RESIZED = 17,
    MPI_COMBINER_HINDEXED_BLOCK = 18, MPI_DISTRIBUTE_DFLT_DARG = -1, MPI_DISTRIBUTE_BLOCK = 0, MPI_DISTRIBUTE_CYCLIC = 1,
    MPI_DISTRIBUTE_NONE = 2, MPI_ORDER_C = 0, MPI_ORDER_FORTRAN = 1;
inline constexpr int MPI_MAX_INFO_KEY = 36, MPI_MAX_DATAREP_STRING = 128, MPI_MAX_ERROR_STRING = 256, MPI_MAX_INFO_VAL = 256,
    MPI_MAX_LIBRARY_VERSION_STRING = 256, MPI_MAX_PROCESSOR_NAME = 256;
inline constexpr int MPI_UNDEFINED = -32766, MPI_PROC_NULL = -2, MPI_ANY_SOURCE = -1,
    MPI_KEYVAL_INVALID = -1, MPI_COMM_TYPE_SHARED = 0, MPI_TAG_UB = 0, MPI_THREAD_SINGLE = 0, MPI_CART = 1, MPI_CONGRUENT = 1,
    MPI_THREAD_FUNNELED = 1, MPI_THREAD_SERIALIZED = 2, MPI_THREAD_MULTIPLE = 3, MPI_LASTUSEDCODE = 5;
inline constexpr MPI_Offset MPI_DISPLACEMENT_CURRENT = -54278278;

#include "mpi/abi/functions.h"

inline constexpr MPI_Status *MPI_STATUS_IGNORE = nullptr, *MPI_STATUSES_IGNORE = nullptr;
extern "C" {
MPI_Comm_copy_attr_function OMPI_C_MPI_COMM_NULL_COPY_FN;
MPI_Type_copy_attr_function OMPI_C_MPI_TYPE_NULL_COPY_FN;
int PMPI_Type_c2f(MPI_Datatype);
int PMPI_Errhandler_c2f(MPI_Errhandler);
}
inline constexpr auto* MPI_COMM_NULL_COPY_FN = &OMPI_C_MPI_COMM_NULL_COPY_FN;
inline constexpr auto* MPI_TYPE_NULL_COPY_FN = &OMPI_C_MPI_TYPE_NULL_COPY_FN;
