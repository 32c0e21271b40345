/* An allreduce (float32, sum) among the first N ranks, for each N, and what the kernel says was
 * sent.
 *
 * Usage: mpi_traffic ELEMENTS FOLDER LIMIT_S N[,N...] LABEL[:VARIABLE=VALUE[,VARIABLE=VALUE]]...
 *
 * Every label is another choice of the library's integer control variables (MPI_T). Rank R writes
 * its kernel's TCP counters before and after into FOLDER/LABEL-N-R-before and -after. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void fail(const char* what) {
    fprintf(stderr, "%s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void set_variable(const char* name, int value) {
    int index = 0;
    int count = 0;
    MPI_T_cvar_handle handle;
    if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS ||
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS ||
        MPI_T_cvar_write(handle, &value) != MPI_SUCCESS) {
        fail(name);
    }
    MPI_T_cvar_handle_free(&handle);
}

/* Cuts the label off its variables, and sets these. */
static void choose(char* choice) {
    char* rest = strchr(choice, ':');
    if (rest == NULL) {
        return;
    }
    *rest++ = '\0';
    for (char* word = strtok(rest, ","); word != NULL; word = strtok(NULL, ",")) {
        char* value = strchr(word, '=');
        *value++ = '\0';
        set_variable(word, atoi(value));
    }
}

static void save_counters(const char* folder, const char* label, int ranks, const char* when) {
    int rank = 0;
    char command[4096];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(command, sizeof command, "ss -tinHO > %s/%s-%d-%d-%s", folder, label, ranks, rank,
             when);
    MPI_Barrier(MPI_COMM_WORLD);
    if (system(command) != 0) {
        fail(command);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void reduce_once(int elements, MPI_Comm comm) {
    if (comm == MPI_COMM_NULL) {
        return;
    }
    int ranks = 0;
    MPI_Comm_size(comm, &ranks);
    float* own = malloc((size_t)elements * sizeof *own);
    float* sums = malloc((size_t)elements * sizeof *sums);
    for (int i = 0; i < elements; ++i) {
        own[i] = (float)(i % 1000);
    }
    MPI_Allreduce(own, sums, elements, MPI_FLOAT, MPI_SUM, comm);
    for (int i = 0; i < elements; ++i) {
        if (sums[i] != (float)(i % 1000 * ranks)) {
            fail("the sum is wrong");
        }
    }
    free(own);
    free(sums);
}

static void run(int elements, const char* folder, const char* label, int ranks) {
    int rank = 0;
    MPI_Comm comm;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, rank, &comm);
    /* Connections are made when they are first needed. */
    reduce_once(elements, comm);
    save_counters(folder, label, ranks, "before");
    reduce_once(elements, comm);
    save_counters(folder, label, ranks, "after");
}

int main(int argc, char** argv) {
    int provided = 0;
    char counts[256];
    alarm((unsigned)atoi(argv[3]));
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(&argc, &argv);
    for (int i = 5; i < argc; ++i) {
        choose(argv[i]);
        snprintf(counts, sizeof counts, "%s", argv[4]);
        for (char* count = strtok(counts, ","); count != NULL; count = strtok(NULL, ",")) {
            run(atoi(argv[1]), argv[2], argv[i], atoi(count));
        }
    }
#ifdef MPICH_VERSION
    /* MPICH over UCX can wait for ever in MPI_Finalize; every counter is saved by now. */
    _exit(0);
#endif
    MPI_Finalize();
    return 0;
}
