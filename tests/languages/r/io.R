# Rmpi starts the MPI; io.c has the I/O: Rscript io.R io.so FILE
suppressMessages(library(Rmpi))
words <- commandArgs(trailingOnly = TRUE)
dyn.load(words[1])
got <- .C("write_and_read", words[2], wrong = integer(1))
if (got$wrong != 0) stop("wrong: ", got$wrong)
if (mpi.comm.rank(0) == 0) cat("R: right\n")
invisible(mpi.finalize())
