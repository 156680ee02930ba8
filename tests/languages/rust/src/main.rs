// rsmpi has no I/O of its own: programs call the MPI's functions by its bindings, mpi::ffi. Each rank writes its blocks of a file
// collectively through a view, and reads those of the next rank independently.
use mpi::ffi;
use mpi::raw::AsRaw;
use mpi::traits::*;
use std::ffi::CString;
use std::mem::MaybeUninit;

const BLOCK: usize = 64;
const BLOCKS: usize = 200;

fn ok(code: i32, what: &str) {
    assert_eq!(code, ffi::MPI_SUCCESS as i32, "{what}");
}

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let (rank, size) = (world.rank() as usize, world.size() as usize);
    let path = CString::new(std::env::args().nth(1).expect("a file name")).unwrap();
    let mine = vec![rank as u8 + 1; BLOCK * BLOCKS];
    let mut seen = vec![0u8; BLOCK * BLOCKS];
    unsafe {
        let mut file = MaybeUninit::<ffi::MPI_File>::uninit();
        let mode = (ffi::MPI_MODE_CREATE | ffi::MPI_MODE_RDWR) as i32;
        ok(ffi::MPI_File_open(world.as_raw(), path.as_ptr(), mode, ffi::RSMPI_INFO_NULL, file.as_mut_ptr()), "open");
        let mut file = file.assume_init();
        let mut status = MaybeUninit::<ffi::MPI_Status>::uninit();
        let byte = u8::equivalent_datatype().as_raw();
        let mut view = MaybeUninit::<ffi::MPI_Datatype>::uninit();
        ok(ffi::MPI_Type_vector(BLOCKS as i32, BLOCK as i32, (BLOCK * size) as i32, byte, view.as_mut_ptr()), "type");
        let mut view = view.assume_init();
        ok(ffi::MPI_Type_commit(&mut view), "commit");
        let native = CString::new("native").unwrap();
        let set_view = |file, displacement: usize| {
            ok(ffi::MPI_File_set_view(file, displacement as ffi::MPI_Offset, byte, view, native.as_ptr(), ffi::RSMPI_INFO_NULL), "view")
        };
        set_view(file, rank * BLOCK);
        ok(ffi::MPI_File_write_all(file, mine.as_ptr().cast(), mine.len() as i32, byte, status.as_mut_ptr()), "write");
        ok(ffi::MPI_File_sync(file), "sync");
        world.barrier();
        ok(ffi::MPI_File_sync(file), "sync");
        let next = (rank + 1) % size;
        set_view(file, next * BLOCK);
        ok(ffi::MPI_File_read_at(file, 0, seen.as_mut_ptr().cast(), seen.len() as i32, byte, status.as_mut_ptr()), "read");
        assert!(seen.iter().all(|&byte| byte as usize == next + 1));
        ok(ffi::MPI_Type_free(&mut view), "free");
        ok(ffi::MPI_File_close(&mut file), "close");
    }
    if rank == 0 {
        println!("rust: right");
    }
}
