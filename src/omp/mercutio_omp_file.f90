! Parallel file I/O for the threads of an OpenMP team, in Fortran: the routines of mercutio/omp_file.h, which says what each does.
! Link with -lmercutio-omp. Compilers other than the one that made the installed .mod file compile this source with the program.
!
! Arrays are given as they are, contiguous ones without a copy; lengths and offsets count bytes: storage_size(x)/8*size(x).
! The routines are functions: bytes moved, or a negative code.
module mercutio_omp_file
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_long, c_null_char, c_null_ptr, c_ptr, c_size_t, c_f_pointer
  implicit none
  private

  ! Kinds of handles and codes, and of lengths, offsets and values.
  integer, parameter, public :: omp_file_kind = c_int, omp_file_size_kind = c_long

  integer(c_int), parameter, public :: omp_file_no_hint = -1
  integer(c_int), parameter, public :: omp_file_success = 0, omp_file_err_arg = -1, omp_file_err_file = -2, &
    omp_file_err_not_same = -3, omp_file_err_team = -4, omp_file_err_mode = -5, omp_file_err_no_such_file = -6, &
    omp_file_err_exists = -7, omp_file_err_access = -8, omp_file_err_no_space = -9, omp_file_err_no_memory = -10, &
    omp_file_err_io = -11, omp_file_err_other = -12

  ! Flags of omp_file_open_all; add them up. The values are Linux's.
  integer(c_int), parameter, public :: omp_file_rdonly = 0, omp_file_wronly = 1, omp_file_rdwr = 2, omp_file_creat = 64, &
    omp_file_excl = 128, omp_file_trunc = 512, omp_file_append = 1024

  ! An element of a list: omp_file_part(c_loc(array), bytes), where the array is a target.
  type, bind(c), public :: omp_file_part
    type(c_ptr) :: buffer = c_null_ptr
    integer(c_size_t) :: length = 0
  end type

  public :: omp_file_open_all, omp_file_close_all, omp_file_sync_all, omp_file_message
  public :: omp_file_write_all, omp_file_write_at_all, omp_file_write_list_all, omp_file_write_list_at_all
  public :: omp_file_write_com_all, omp_file_write_com_at_all, omp_file_write_com_list_all, omp_file_write_com_list_at_all
  public :: omp_file_read_all, omp_file_read_at_all, omp_file_read_list_all, omp_file_read_list_at_all
  public :: omp_file_read_com_all, omp_file_read_com_at_all, omp_file_read_com_list_all, omp_file_read_com_list_at_all

  interface
    function open_of_c(fd, filename, flags) bind(c, name='omp_file_open_all') result(code)
      import :: c_char, c_int
      integer(c_int), intent(inout) :: fd
      character(kind=c_char), intent(in) :: filename(*)
      integer(c_int), value :: flags
      integer(c_int) :: code
    end function
    function message_of_c() bind(c, name='omp_file_message') result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function
    function length_of_c(text) bind(c, name='strlen') result(length)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function

    function omp_file_close_all(fd) bind(c) result(code)
      import :: c_int
      integer(c_int), value :: fd
      integer(c_int) :: code
    end function
    function omp_file_sync_all(fd) bind(c) result(code)
      import :: c_int
      integer(c_int), value :: fd
      integer(c_int) :: code
    end function
    ! Lists have no intent: with one, compilers take what a list leads to for unchanged.
    function omp_file_write_all(buffer, length, fd, hint) bind(c) result(bytes)
      import :: c_int, c_long
      type(*), intent(in) :: buffer(*)
      integer(c_long), value :: length
      integer(c_int), value :: fd, hint
      integer(c_long) :: bytes
    end function
    function omp_file_write_at_all(buffer, length, offset, fd, hint) bind(c) result(bytes)
      import :: c_int, c_long
      type(*), intent(in) :: buffer(*)
      integer(c_long), value :: length, offset
      integer(c_int), value :: fd, hint
      integer(c_long) :: bytes
    end function
    function omp_file_write_list_all(list, count, fd, hint) bind(c) result(bytes)
      import :: c_int, c_long, omp_file_part
      type(omp_file_part) :: list(*)
      integer(c_int), value :: count, fd, hint
      integer(c_long) :: bytes
    end function
    function omp_file_write_list_at_all(list, offsets, count, fd, hint) bind(c) result(bytes)
      import :: c_int, c_long, omp_file_part
      type(omp_file_part) :: list(*)
      integer(c_long), intent(in) :: offsets(*)
      integer(c_int), value :: count, fd, hint
      integer(c_long) :: bytes
    end function
    function omp_file_write_com_all(buffer, length, fd, hint) bind(c) result(bytes)
      import :: c_int, c_long
      type(*), intent(in) :: buffer(*)
      integer(c_long), value :: length
      integer(c_int), value :: fd, hint
      integer(c_long) :: bytes
    end function
    function omp_file_write_com_at_all(buffer, length, offset, fd, hint) bind(c) result(bytes)
      import :: c_int, c_long
      type(*), intent(in) :: buffer(*)
      integer(c_long), value :: length, offset
      integer(c_int), value :: fd, hint
      integer(c_long) :: bytes
    end function
    function omp_file_write_com_list_all(list, count, fd, hint) bind(c) result(bytes)
      import :: c_int, c_long, omp_file_part
      type(omp_file_part) :: list(*)
      integer(c_int), value :: count, fd, hint
      integer(c_long) :: bytes
    end function
    function omp_file_write_com_list_at_all(list, offsets, count, fd, hint) bind(c) result(bytes)
      import :: c_int, c_long, omp_file_part
      type(omp_file_part) :: list(*)
      integer(c_long), intent(in) :: offsets(*)
      integer(c_int), value :: count, fd, hint
      integer(c_long) :: bytes
    end function
    function omp_file_read_all(buffer, length, fd, hint) bind(c) result(bytes)
      import :: c_int, c_long
      type(*), intent(inout) :: buffer(*)
      integer(c_long), value :: length
      integer(c_int), value :: fd, hint
      integer(c_long) :: bytes
    end function
    function omp_file_read_at_all(buffer, length, offset, fd, hint) bind(c) result(bytes)
      import :: c_int, c_long
      type(*), intent(inout) :: buffer(*)
      integer(c_long), value :: length, offset
      integer(c_int), value :: fd, hint
      integer(c_long) :: bytes
    end function
    function omp_file_read_list_all(list, count, fd, hint) bind(c) result(bytes)
      import :: c_int, c_long, omp_file_part
      type(omp_file_part) :: list(*)
      integer(c_int), value :: count, fd, hint
      integer(c_long) :: bytes
    end function
    function omp_file_read_list_at_all(list, offsets, count, fd, hint) bind(c) result(bytes)
      import :: c_int, c_long, omp_file_part
      type(omp_file_part) :: list(*)
      integer(c_long), intent(in) :: offsets(*)
      integer(c_int), value :: count, fd, hint
      integer(c_long) :: bytes
    end function
    function omp_file_read_com_all(buffer, length, fd, hint) bind(c) result(bytes)
      import :: c_int, c_long
      type(*), intent(inout) :: buffer(*)
      integer(c_long), value :: length
      integer(c_int), value :: fd, hint
      integer(c_long) :: bytes
    end function
    function omp_file_read_com_at_all(buffer, length, offset, fd, hint) bind(c) result(bytes)
      import :: c_int, c_long
      type(*), intent(inout) :: buffer(*)
      integer(c_long), value :: length, offset
      integer(c_int), value :: fd, hint
      integer(c_long) :: bytes
    end function
    function omp_file_read_com_list_all(list, count, fd, hint) bind(c) result(bytes)
      import :: c_int, c_long, omp_file_part
      type(omp_file_part) :: list(*)
      integer(c_int), value :: count, fd, hint
      integer(c_long) :: bytes
    end function
    function omp_file_read_com_list_at_all(list, offsets, count, fd, hint) bind(c) result(bytes)
      import :: c_int, c_long, omp_file_part
      type(omp_file_part) :: list(*)
      integer(c_long), intent(in) :: offsets(*)
      integer(c_int), value :: count, fd, hint
      integer(c_long) :: bytes
    end function
  end interface

contains

  ! 0, or a negative code. Blanks at the end of the name don't count.
  function omp_file_open_all(fd, filename, flags) result(code)
    integer(c_int), intent(inout) :: fd
    character(len=*), intent(in) :: filename
    integer(c_int), intent(in) :: flags
    integer(c_int) :: code
    code = open_of_c(fd, trim(filename)//c_null_char, flags)
  end function

  ! The text of the calling thread's last error.
  function omp_file_message() result(text)
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: characters(:)
    type(c_ptr) :: address
    integer :: i
    address = message_of_c()
    call c_f_pointer(address, characters, [length_of_c(address)])
    allocate (character(len=size(characters)) :: text)
    do i = 1, size(characters)
      text(i:i) = characters(i)
    end do
  end function

end module
