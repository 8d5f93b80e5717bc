/* Runs C functions on the inputs of a file, one job after the other, and writes what they leave behind.
 *
 * Every array lies between pages that cannot be touched, flush with one of them, so that the first element
 * too many is a fault; the rest of its page is filled with a pattern that is looked at afterwards. A fault
 * or a run without end costs its job only.
 *
 * A file of 64-bit words, lowest byte first. Job: function, number of arguments, arguments. Argument:
 *   0, bits                                            a scalar
 *   1, bytes, offset, front, read-only, contents       an array; the pointer is `offset` bytes into it
 *   2, argument, offset                                into an earlier array, `offset` bytes from its pointer
 * Result: status, then
 *   0: returned bits, every array's contents
 *   1: signal, argument or -1, offset from its pointer, 0 read, 1 write, 2 unknown
 *                                                      a fault
 *   2: argument, offset from its pointer                a write beside the array
 *   3:                                                  still running after the time limit
 *   4:                                                  an instruction that this machine does not have
 * Contents are filled up to whole words. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

typedef void tensorize_call(void **args, void *ret);
extern tensorize_call *const tensorize_calls[];
extern const uint64_t tensorize_call_count;

enum { MAX_ARGS = 128, PATTERN = 0xa5 };

struct array {
    unsigned char *map, *page, *data, *pointer;
    uint64_t map_bytes, page_bytes, bytes;
};

static struct array arrays[MAX_ARGS];
static uint64_t scalars[MAX_ARGS];
static void *args[MAX_ARGS];
static int arg_count;
static sigjmp_buf back;
static volatile sig_atomic_t caught;
static uintptr_t caught_at;
static uint64_t caught_write;
static pthread_t main_thread;
static int out;
static long seconds; /* that a call may take */

static void put(const void *from, uint64_t bytes) {
    const char *p = from;
    while (bytes > 0) {
        ssize_t n = write(out, p, bytes);
        if (n <= 0) _exit(3);
        p += n;
        bytes -= (uint64_t)n;
    }
}

static void put_word(uint64_t w) { put(&w, sizeof w); }

static uint64_t whole_words(uint64_t bytes) { return (bytes + 7) & ~(uint64_t)7; }

/* Whether the instruction that was refused is one that compilers put where a program shall end: `ud2`, `ud1` or `ud0`, which no
 * x86-64 has. On other machines the two are not told apart: there it is taken for such an end, which is the stricter of the two. */
static int traps(void) {
#if defined(__x86_64__)
    const unsigned char *at = (const unsigned char *)caught_at;
    if (*at == 0x67) at++;
    return at[0] == 0x0f && (at[1] == 0x0b || at[1] == 0xb9 || at[1] == 0xff);
#else
    return 1;
#endif
}

static void put_fault(void) {
    int at = -1;
    int64_t offset = (int64_t)caught_at;
    if (caught == SIGALRM) {
        put_word(3);
        return;
    }
    if (caught == SIGILL && !traps()) {
        put_word(4);
        return;
    }
    if (caught == SIGSEGV || caught == SIGBUS)
        for (int i = 0; i < arg_count; i++) {
            uintptr_t start = (uintptr_t)arrays[i].map;
            if (arrays[i].map && caught_at >= start && caught_at < start + arrays[i].map_bytes) {
                at = i;
                offset = (int64_t)(caught_at - (uintptr_t)arrays[i].pointer);
            }
        }
    put_word(1);
    put_word((uint64_t)caught);
    put_word((uint64_t)(int64_t)at);
    put_word((uint64_t)offset);
    put_word(caught_write);
}

static void on_signal(int number, siginfo_t *info, void *context) {
    (void)context;
    caught = number;
    caught_write = 2;
#if defined(__linux__) && defined(__x86_64__)
    caught_write = ((ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] >> 1 & 1;
#endif
    caught_at = (uintptr_t)info->si_addr;
    if (pthread_equal(pthread_self(), main_thread)) siglongjmp(back, 1);
    /* Another thread cannot go back; the next jobs get a new process. */
    put_fault();
    _exit(4);
}

static void place(struct array *a, uint64_t bytes, int64_t offset, uint64_t front, const void *contents) {
    uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t guard = 16 * size;
    a->bytes = bytes;
    a->page_bytes = (bytes + size - 1) / size * size;
    a->map_bytes = a->page_bytes + 2 * guard;
    a->map = mmap(NULL, a->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (a->map == MAP_FAILED) _exit(5);
    a->page = a->map + guard;
    if (a->page_bytes && mprotect(a->page, a->page_bytes, PROT_READ | PROT_WRITE)) _exit(5);
    a->data = front ? a->page : a->page + (a->page_bytes - bytes);
    a->pointer = (unsigned char *)((uintptr_t)a->data + (uintptr_t)offset);
    memset(a->page, PATTERN, a->page_bytes);
    memcpy(a->data, contents, bytes);
}

/* An address of the slack whose pattern is gone. */
static unsigned char *spoiled(const struct array *a) {
    for (unsigned char *p = a->page; p < a->page + a->page_bytes; p++)
        if ((p < a->data || p >= a->data + a->bytes) && *p != PATTERN) return p;
    return NULL;
}

static void run(tensorize_call *call) {
    uint64_t ret = 0;
    struct itimerval limit = {{0, 0}, {seconds, 0}}, none = {{0, 0}, {0, 0}};
    if (sigsetjmp(back, 1)) {
        setitimer(ITIMER_REAL, &none, NULL);
        put_fault();
        return;
    }
    setitimer(ITIMER_REAL, &limit, NULL);
    call(args, &ret);
    setitimer(ITIMER_REAL, &none, NULL);
    for (int i = 0; i < arg_count; i++) {
        unsigned char *p = arrays[i].map ? spoiled(&arrays[i]) : NULL;
        if (p) {
            put_word(2);
            put_word((uint64_t)i);
            put_word((uint64_t)(p - arrays[i].pointer));
            return;
        }
    }
    put_word(0);
    put_word(ret);
    for (int i = 0; i < arg_count; i++)
        if (arrays[i].map) {
            uint64_t zero = 0;
            put(arrays[i].data, arrays[i].bytes);
            put(&zero, whole_words(arrays[i].bytes) - arrays[i].bytes);
        }
}

int main(int argc, char **argv) {
    struct stat st;
    int in = argc == 4 ? open(argv[1], O_RDONLY) : -1;
    out = argc == 4 ? open(argv[2], O_WRONLY | O_APPEND) : -1;
    if (in < 0 || out < 0 || fstat(in, &st)) return 2;
    seconds = atol(argv[3]);
    const uint64_t *job = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, in, 0);
    if (job == MAP_FAILED) return 2;
    const uint64_t *end = job + (uint64_t)st.st_size / 8;
    main_thread = pthread_self();

    static unsigned char stack[1 << 16];
    stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&alternative, NULL);
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGALRM};
    for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++) sigaction(signals[i], &action, NULL);

    while (job < end) {
        uint64_t function = *job++;
        uint64_t read_only[MAX_ARGS];
        arg_count = (int)*job++;
        if (function >= tensorize_call_count || arg_count > MAX_ARGS) return 2;
        memset(arrays, 0, sizeof arrays);
        for (int i = 0; i < arg_count; i++) {
            read_only[i] = 0;
            switch (*job++) {
            case 0:
                scalars[i] = *job++;
                args[i] = &scalars[i];
                break;
            case 1: {
                uint64_t bytes = job[0];
                place(&arrays[i], bytes, (int64_t)job[1], job[2], job + 4);
                read_only[i] = job[3];
                args[i] = arrays[i].pointer;
                job += 4 + whole_words(bytes) / 8;
                break;
            }
            default:
                args[i] = (unsigned char *)args[job[0]] + (int64_t)job[1];
                job += 2;
            }
        }
        for (int i = 0; i < arg_count; i++)
            if (read_only[i] && arrays[i].page_bytes)
                mprotect(arrays[i].page, arrays[i].page_bytes, PROT_READ);
        run(tensorize_calls[function]);
        for (int i = 0; i < arg_count; i++)
            if (arrays[i].map) munmap(arrays[i].map, arrays[i].map_bytes);
    }
    return 0;
}
