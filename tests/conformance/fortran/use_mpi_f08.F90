! The I/O chapter through mpi_f08: the shared cases, then what only this binding has: typed handles with == and /=, the
! absent ierror, and array sections as buffers.
#define WITH_F08
#include "types.inc"
module use_mpi_f08_cases
contains
#include "manipulation.inc"
#include "access.inc"
#include "errors.inc"

  subroutine turn_in(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    use, intrinsic :: iso_c_binding
    use mpi_f08
    implicit none
    type(c_ptr), value :: userbuf, filebuf
    type(MPI_Datatype) :: datatype
    integer :: count, ierror
    integer(kind=MPI_OFFSET_KIND) :: position
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer, pointer :: user(:), file(:)
    call c_f_pointer(userbuf, user, [int(position) + count])
    call c_f_pointer(filebuf, file, [count])
    user(position + 1:) = int(extra_state) - file
    ierror = merge(MPI_SUCCESS, MPI_ERR_TYPE, datatype == MPI_INTEGER)
  end subroutine

  subroutine turn_out(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    use, intrinsic :: iso_c_binding
    use mpi_f08
    implicit none
    type(c_ptr), value :: userbuf, filebuf
    type(MPI_Datatype) :: datatype
    integer :: count, ierror
    integer(kind=MPI_OFFSET_KIND) :: position
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer, pointer :: user(:), file(:)
    call c_f_pointer(userbuf, user, [int(position) + count])
    call c_f_pointer(filebuf, file, [count])
    file = int(extra_state) - user(position + 1:)
    ierror = merge(MPI_SUCCESS, MPI_ERR_TYPE, datatype == MPI_INTEGER)
  end subroutine

  subroutine extent_of(datatype, extent, extra_state, ierror)
    use mpi_f08
    implicit none
    type(MPI_Datatype) :: datatype
    integer(kind=MPI_ADDRESS_KIND) :: extent, extra_state
    integer :: ierror
    extent = merge(4, 1, datatype == MPI_INTEGER .and. extra_state == 5000)
    ierror = MPI_SUCCESS
  end subroutine

  subroutine case_no_ierror()
    use mpi_f08
    implicit none
    type(MPI_File) :: file
    type(MPI_Errhandler) :: made
    type(MPI_Status) :: status
    type(MPI_Request) :: request
    character(len=512) :: path
    integer :: value, count, calls, class, number
    integer(kind=MPI_OFFSET_KIND) :: bytes
    integer(kind=MPI_ADDRESS_KIND) :: extra
    common /handled/ calls, class, number
    call ckfresh('a', path)
    call MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file)
    call MPI_File_create_errhandler(handler, made)
    call MPI_File_set_errhandler(file, made)
    call MPI_Errhandler_free(made)
    extra = 5000
    call MPI_Register_datarep('quiet', turn_in, turn_out, extent_of, extra)
    calls = 0
    call MPI_File_read_at(file, -1_MPI_OFFSET_KIND, value, 1, MPI_INTEGER, status)
    call ckeq(calls, 1, 'the handler stands in for ierror')
    value = 5
    call MPI_File_write_at_all(file, 0_MPI_OFFSET_KIND, value, 1, MPI_INTEGER, status)
    call MPI_Get_count(status, MPI_INTEGER, count)
    call ckeq(count, 1, 'count')
    call MPI_File_iwrite_at(file, 4_MPI_OFFSET_KIND, value, 1, MPI_INTEGER, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_File_get_size(file, bytes)
    call ckeq8(bytes, 8_8, 'size')
    call MPI_File_sync(file)
    call MPI_File_close(file)
    if (file /= MPI_FILE_NULL) call ckeq(0, 1, 'the handle is not null')
  end subroutine

  subroutine case_sections()
    use mpi_f08
    implicit none
    type(MPI_File) :: file
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    character(len=512) :: path
    integer :: ierr, rank, i, count, stored(5)
    integer, asynchronous :: a(10), b(10)
    integer(kind=MPI_OFFSET_KIND) :: at
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call opened('a', path, file)
    call fill(a, 10, 100 * rank)
    stored = [(100 * rank + 2 * i - 1, i = 1, 5)]
    at = 64 * rank
    call MPI_File_write_at_all(file, at, a(1:9:2), 5, MPI_INTEGER, status, ierr)
    call ckok(ierr, 'every second element')
    call MPI_Get_count(status, MPI_INTEGER, count, ierr)
    call ckeq(count, 5, 'count')
    b = 0
    call MPI_File_read_at_all(file, at, b(2:10:2), 5, MPI_INTEGER, status, ierr)
    call ckok(ierr, 'read into every second element')
    do i = 1, 5
      call ckeq(b(2 * i), stored(i), 'section')
      call ckeq(b(2 * i - 1), 0, 'beside the section')
    end do
    if (MPI_SUBARRAYS_SUPPORTED) then
      call MPI_File_iwrite_at_all(file, at + 32, a(10:2:-2), 5, MPI_INTEGER, request, ierr)
      call ckok(ierr, 'nonblocking, backwards')
      call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
      b = 0
      call MPI_File_read_at_all_begin(file, at + 32, b(1:9:2), 5, MPI_INTEGER, ierr)
      call MPI_File_read_at_all_end(file, b(1:9:2), status, ierr)
      call ckok(ierr, 'split')
      do i = 1, 5
        call ckeq(b(2 * i - 1), 100 * rank + 12 - 2 * i, 'section')
      end do
    end if
    call MPI_File_close(file, ierr)
    call ckdisk(path, at, stored, 5)
  end subroutine
end module

program use_mpi_f08
  use use_mpi_f08_cases
  use mpi_f08
  implicit none
  integer :: ierr, failed
#include "runs.inc"
  call ckrun('no_ierror', case_no_ierror)
  call ckrun('sections', case_sections)
  call ckdone(failed)
  call MPI_Finalize(ierr)
  if (failed /= 0) call exit(1)
end program
