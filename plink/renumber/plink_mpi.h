/* An MPI communicator in plink's order: PLINK_RANK, which `plink renumber` sets, is the key. */
#include <mpi.h>
#include <stdlib.h>
static inline int plink_mpi_split(MPI_Comm all, MPI_Comm *ordered) {
  const char *key = getenv("PLINK_RANK");
  int rank = 0;
  MPI_Comm_rank(all, &rank);
  return MPI_Comm_split(all, 0, key ? atoi(key) : rank, ordered);
}
