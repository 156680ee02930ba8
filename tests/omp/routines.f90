! The Fortran module: each routine once, two to four threads, against what the file must hold.
program routines
  use, intrinsic :: iso_c_binding, only: c_int, c_long, c_loc, c_size_t
  use mercutio_omp_file
  use omp_lib, only: omp_get_thread_num
  implicit none
  integer, parameter :: elements = 1000
  integer(c_long), parameter :: bytes = 8*elements
  character(len=*), parameter :: name = 'omp_routines_f.bin'
  integer :: threads, failures = 0, unit

  do threads = 2, 4
    call each_threads_own(threads)
    call common_to_all(threads)
  end do
  call errors()
  open (newunit=unit, file=name)
  close (unit, status='delete')
  if (failures > 0) error stop 'failed'
  print '(a)', 'ok'

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (holds) return
    !$omp critical
    failures = failures + 1
    print '(3a)', 'FAILED ', what, ': '//omp_file_message()
    !$omp end critical
  end subroutine

  ! What element i of a thread's data is.
  elemental function value_of(thread, i) result(value)
    integer, intent(in) :: thread, i
    real(8) :: value
    value = thread*1.0d6 + i
  end function

  subroutine each_threads_own(team)
    integer, intent(in) :: team
    integer(c_int) :: fd
    fd = -1
    !$omp parallel num_threads(team) shared(fd)
    call own_data(fd, omp_get_thread_num(), team)
    !$omp end parallel
  end subroutine

  subroutine own_data(fd, me, team)
    integer(c_int), intent(inout) :: fd
    integer, intent(in) :: me, team
    real(8), target :: mine(elements), back(elements)
    type(omp_file_part) :: halves(2), back_halves(2)
    integer(c_long) :: at, offsets(2), total
    integer :: i
    mine = [(value_of(me, i), i=1, elements)]
    total = bytes*team
    at = bytes*me
    halves = [omp_file_part(c_loc(mine), bytes/2), omp_file_part(c_loc(mine(elements/2 + 1)), bytes/2)]
    back_halves = [omp_file_part(c_loc(back), bytes/2), omp_file_part(c_loc(back(elements/2 + 1)), bytes/2)]
    offsets = 3*total + [bytes*me/2, total/2 + bytes*me/2]
    call check(omp_file_open_all(fd, name//'  ', omp_file_rdwr + omp_file_creat + omp_file_trunc) == 0, 'open')
    call check(omp_file_write_all(mine, bytes, fd, omp_file_no_hint) == bytes, 'write_all')
    call check(omp_file_write_list_all(halves, 2, fd, omp_file_no_hint) == bytes, 'write_list_all')
    call check(omp_file_write_at_all(mine, bytes, 2*total + at, fd, omp_file_no_hint) == bytes, 'write_at_all')
    call check(omp_file_write_list_at_all(halves, offsets, 2, fd, omp_file_no_hint) == bytes, 'write_list_at_all')
    call check(omp_file_sync_all(fd) == 0, 'sync_all')
    do i = 0, 2
      back = 0
      call check(omp_file_read_at_all(back, bytes, i*total + at, fd, omp_file_no_hint) == bytes, 'read_at_all')
      call check(all(back == mine), 'what read_at_all gave')
    end do
    back = 0
    call check(omp_file_read_list_at_all(back_halves, offsets, 2, fd, omp_file_no_hint) == bytes, 'read_list_at_all')
    call check(all(back == mine), 'what read_list_at_all gave')
    call check(omp_file_close_all(fd) == 0, 'close')
    call check(omp_file_open_all(fd, name, omp_file_rdonly) == 0, 'open to read')
    back = 0
    call check(omp_file_read_all(back, bytes, fd, omp_file_no_hint) == bytes, 'read_all')
    call check(all(back == mine), 'what read_all gave')
    back = 0
    call check(omp_file_read_list_all(back_halves, 2, fd, omp_file_no_hint) == bytes, 'read_list_all')
    call check(all(back == mine), 'what read_list_all gave')
    call check(omp_file_close_all(fd) == 0, 'close again')
  end subroutine

  subroutine common_to_all(team)
    integer, intent(in) :: team
    integer(c_int) :: fd
    integer(c_long) :: offsets(2)
    real(8), target :: ours(elements), back(elements, 4)
    type(omp_file_part) :: halves(2), back_one(1), back_two(2)
    integer :: i
    ours = [(value_of(team, i), i=1, elements)]
    back = 0
    offsets = [3*bytes + bytes/2, 3*bytes]
    halves = [omp_file_part(c_loc(ours(elements/2 + 1)), bytes/2), omp_file_part(c_loc(ours), bytes/2)]
    back_one = [omp_file_part(c_loc(back(1, 2)), bytes)]
    back_two = [omp_file_part(c_loc(back(elements/2 + 1, 4)), bytes/2), omp_file_part(c_loc(back(1, 4)), bytes/2)]
    !$omp parallel num_threads(team)
    call check(omp_file_open_all(fd, name, omp_file_rdwr + omp_file_creat + omp_file_trunc) == 0, 'open')
    call check(omp_file_write_com_all(ours, bytes, fd, omp_file_no_hint) == bytes, 'write_com_all')
    call check(omp_file_write_com_list_all(halves(2:1:-1), 2, fd, omp_file_no_hint) == bytes, 'write_com_list_all')
    call check(omp_file_write_com_at_all(ours, bytes, 2*bytes, fd, omp_file_no_hint) == bytes, 'write_com_at_all')
    call check(omp_file_write_com_list_at_all(halves, offsets, 2, fd, omp_file_no_hint) == bytes, 'write_com_list_at_all')
    call check(omp_file_close_all(fd) == 0, 'close')
    call check(omp_file_open_all(fd, name, omp_file_rdonly) == 0, 'open to read')
    call check(omp_file_read_com_all(back(:, 1), bytes, fd, omp_file_no_hint) == bytes, 'read_com_all')
    call check(omp_file_read_com_list_all(back_one, 1, fd, omp_file_no_hint) == bytes, 'read_com_list_all')
    call check(omp_file_read_com_at_all(back(:, 3), bytes, 2*bytes, fd, omp_file_no_hint) == bytes, 'read_com_at_all')
    call check(omp_file_read_com_list_at_all(back_two, offsets, 2, fd, omp_file_no_hint) == bytes, 'read_com_list_at_all')
    call check(omp_file_close_all(fd) == 0, 'close again')
    !$omp end parallel
    do i = 1, 4
      call check(all(back(:, i) == ours), 'common data')
    end do
  end subroutine

  subroutine errors()
    integer(c_int) :: fd
    fd = 0
    !$omp parallel num_threads(3)
    call check(omp_file_open_all(fd, 'no/such/file', omp_file_rdonly) == omp_file_err_no_such_file, 'no such file')
    call check(index(omp_file_message(), 'no/such/file') > 0, 'the message')
    call check(omp_file_close_all(fd) == omp_file_err_file, 'no handle')
    !$omp end parallel
    call check(fd == -1, 'the handle of nothing')
  end subroutine
end program
