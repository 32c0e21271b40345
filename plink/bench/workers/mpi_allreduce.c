/* Every rank of an MPI bench: times MPI_Allreduce (float32, sum) and checks every element.
 *
 * Usage: mpi_allreduce ELEMENTS[,ELEMENTS...] WARMUPS REPETITIONS LIMIT_S
 *
 * Each number of elements is warmed up and timed in turn, with lines in that sequence.
 *
 * Rank 0 writes lines that start with "plink-bench" and a word:
 *   library TEXT          the MPI library's own version text
 *   rank R HOST           the host name of rank R
 *   seconds S             one timed repetition: the longest time of any rank
 *   cpu S                 the CPU seconds of a rank's process in it, the mean over ranks
 *   reduction S           seconds of adding 10^9 bytes here while all ranks do; large buffers only
 *   wrong W               elements that are not the known sum, over all ranks and repetitions
 * With --version it only shows that it can be started here. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HOST_BYTES 256
#define VALUE_PERIOD 1009
#define MOST_SIZES 64
/* Fewer take too short a time. */
#define LEAST_ADDED 65536
#define MOST_ADDED 1048576
#define ADDITIONS 5
/* The longest that a launcher takes to hear of a rank's death and to end the others. */
#define NOTICE_S 10

/* Small whole numbers, so that float32 holds every partial sum exactly; they differ from rank to
 * rank and from place to place, so that a lost or misplaced part shows. */
static float own_value(int element, int rank) { return (float)(element % VALUE_PERIOD + rank + 1); }

static long count_wrong(const float* sums, int elements, int size) {
    const long from_ranks = (long)size * (size + 1) / 2;
    long wrong = 0;
    for (int i = 0; i < elements; ++i) {
        const float expected = (float)((long)(i % VALUE_PERIOD) * size + from_ranks);
        wrong += sums[i] != expected;
    }
    return wrong;
}

static void report_hosts(int rank, int size) {
    char host[HOST_BYTES] = {0};
    char* hosts = rank == 0 ? malloc((size_t)size * HOST_BYTES) : NULL;
    gethostname(host, sizeof host - 1);
    MPI_Gather(host, HOST_BYTES, MPI_CHAR, hosts, HOST_BYTES, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int r = 0; rank == 0 && r < size; ++r) {
        printf("plink-bench rank %d %s\n", r, hosts + (size_t)r * HOST_BYTES);
    }
    free(hosts);
}

static void report_library(int rank) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    text[strcspn(text, "\n")] = '\0';
    if (rank == 0) {
        printf("plink-bench library %s\n", text);
    }
}

/* Of all threads of this process. */
static double cpu_seconds(void) {
    struct timespec used = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

static void report_reduction(const float* own, float* sums, int elements, int rank) {
    const int added = elements < MOST_ADDED ? elements : MOST_ADDED;
    if (added < LEAST_ADDED) {
        return;
    }
    MPI_Reduce_local(own, sums, added, MPI_FLOAT, MPI_SUM);
    const double begin = MPI_Wtime();
    for (int i = 0; i < ADDITIONS; ++i) {
        MPI_Reduce_local(own, sums, added, MPI_FLOAT, MPI_SUM);
    }
    const double seconds = (MPI_Wtime() - begin) / ADDITIONS;
    if (rank == 0) {
        printf("plink-bench reduction %.9f\n", seconds / ((double)added * sizeof *own) * 1e9);
    }
}

/* Parts the text at commas; how many numbers it holds, 0 where it holds none or too many. */
static int parse_sizes(char* text, int* sizes, int* largest) {
    int count = 0;
    for (char* word = strtok(text, ","); word != NULL; word = strtok(NULL, ",")) {
        if (count == MOST_SIZES) {
            return 0;
        }
        sizes[count] = atoi(word);
        *largest = sizes[count] > *largest ? sizes[count] : *largest;
        ++count;
    }
    return count;
}

static void leave(void) {
#ifdef MPICH_VERSION
    /* MPICH over UCX and TCP (seen with 4.0.2 and UCX 1.13) can wait for ever in MPI_Finalize: one
     * rank still disconnects from peers that no longer answer. Every result is out before any rank
     * passes the barrier: Hydra may then call the end of a rank a failure and kill the others. */
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    _exit(0);
#else
    MPI_Finalize();
#endif
}

/* A pipe breaks because another rank died. A launcher names the first death that it hears of, so
 * this one waits for the launcher to hear of the other. */
static void die_later(int number) {
    sleep(NOTICE_S);
    signal(number, SIG_DFL);
    raise(number);
}

int main(int argc, char** argv) {
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        return 0;
    }
    if (argc != 5) {
        return 2;
    }
    int sizes[MOST_SIZES];
    int largest = 0;
    const int counts = parse_sizes(argv[1], sizes, &largest);
    if (counts == 0) {
        return 2;
    }
    const int warmups = atoi(argv[2]);
    const int repetitions = atoi(argv[3]);
    /* Whatever becomes of the launcher and of the peers, this process does not outlive its use. */
    alarm((unsigned)atoi(argv[4]));
    signal(SIGPIPE, die_later);

    MPI_Init(&argc, &argv);
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    report_library(rank);
    report_hosts(rank, size);

    float* own = malloc((size_t)largest * sizeof *own);
    float* sums = malloc((size_t)largest * sizeof *sums);
    if (own == NULL || sums == NULL) {
        fprintf(stderr, "not enough memory for two buffers of %d floats\n", largest);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 0; i < largest; ++i) {
        own[i] = own_value(i, rank);
    }
    report_reduction(own, sums, largest, rank);
    long wrong = 0;
    for (int timed = 0; timed < counts * (warmups + repetitions); ++timed) {
        const int elements = sizes[timed / (warmups + repetitions)];
        const int repetition = timed % (warmups + repetitions);
        memset(sums, 0, (size_t)elements * sizeof *sums);
        MPI_Barrier(MPI_COMM_WORLD);
        const double cpu_begin = cpu_seconds();
        const double begin = MPI_Wtime();
        MPI_Allreduce(own, sums, elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        const double seconds = MPI_Wtime() - begin;
        const double cpu = cpu_seconds() - cpu_begin;
        wrong += count_wrong(sums, elements, size);
        double slowest = 0.0;
        double all_cpu = 0.0;
        MPI_Reduce(&cpu, &all_cpu, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (rank == 0 && repetition >= warmups) {
            printf("plink-bench seconds %.9f\n", slowest);
            printf("plink-bench cpu %.9f\n", all_cpu / size);
        }
    }
    long all_wrong = 0;
    MPI_Reduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("plink-bench wrong %ld\n", all_wrong);
    }
    free(own);
    free(sums);
    leave();
    return 0;
}
