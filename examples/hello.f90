! The smallest useful parallel file, in Fortran: every rank writes the numbers that are its own, interleaved with everybody
! else's, in one collective call, and reads them back.
!
!   mpifort hello.f90 -o hello && mercutio run -- mpirun -n 4 ./hello hello.bin
!
! The file then holds 0, 1, 2, ... in order: rank r of n owns the places r, r + n, r + 2n, ...
program hello
  use mpi_f08
  implicit none
  integer, parameter :: numbers = 8
  integer :: rank, ranks, i, written, error, bytes
  integer :: mine(numbers), back(numbers)
  integer(kind=MPI_OFFSET_KIND) :: start
  integer(kind=MPI_ADDRESS_KIND) :: extent
  type(MPI_File) :: file
  type(MPI_Datatype) :: every_nth
  type(MPI_Status) :: status
  logical :: good, all_good
  character(len=1000) :: path

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  path = 'hello.bin'
  if (command_argument_count() > 0) call get_command_argument(1, path)

  ! What this rank sees of the file: one integer, then a hole for the others, again and again. The view's displacement
  ! moves its start to this rank's first place.
  call MPI_Type_size(MPI_INTEGER, bytes)
  extent = int(ranks, MPI_ADDRESS_KIND) * bytes
  call MPI_Type_create_resized(MPI_INTEGER, 0_MPI_ADDRESS_KIND, extent, every_nth)
  call MPI_Type_commit(every_nth)
  mine = [(rank + i * ranks, i = 0, numbers - 1)]
  back = 0

  ! Files report errors by return code unless told otherwise, so each call is checked.
  call MPI_File_open(MPI_COMM_WORLD, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, error)
  call check(error, 'open')
  call MPI_File_set_size(file, 0_MPI_OFFSET_KIND, error)
  call check(error, 'set_size')
  start = int(rank, MPI_OFFSET_KIND) * bytes
  call MPI_File_set_view(file, start, MPI_INTEGER, every_nth, 'native', MPI_INFO_NULL, error)
  call check(error, 'set_view')
  call MPI_File_write_all(file, mine, numbers, MPI_INTEGER, status, error)
  call check(error, 'write_all')
  call MPI_Get_count(status, MPI_INTEGER, written)

  ! The view is this rank's own part, so it may read what it wrote without a sync; offset 0 is the view's beginning.
  call MPI_File_read_at_all(file, 0_MPI_OFFSET_KIND, back, numbers, MPI_INTEGER, MPI_STATUS_IGNORE, error)
  call check(error, 'read_at_all')
  call MPI_File_close(file, error)
  call check(error, 'close')
  call MPI_Type_free(every_nth)

  good = written == numbers .and. all(back == mine)
  call MPI_Allreduce(good, all_good, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD)
  if (rank == 0) print '(a, a, i0, a, i0, a, a)', trim(path), ': ', numbers * ranks, ' numbers from ', ranks, ' ranks, ', &
      merge('verified', 'WRONG   ', all_good)
  call MPI_Finalize()
  if (.not. all_good) stop 1

contains

  subroutine check(code, what)
    integer, intent(in) :: code
    character(len=*), intent(in) :: what
    character(len=MPI_MAX_ERROR_STRING) :: text
    integer :: length
    if (code == MPI_SUCCESS) return
    call MPI_Error_string(code, text, length)
    print '(4a)', 'hello: ', what, ': ', text(1:length)
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine check
end program hello
