/*
 * Loaded into the program (LD_PRELOAD), this makes what it writes below FAULT_DIR fail at the call number FAULT_AT, as
 * FAULT_KIND says. The calls that count are those that change something: open to create, write, fsync, mkdir, rename,
 * unlink.
 *
 *   kill     SIGKILL in place of the call
 *   half     half of a write, or all of another call, and then SIGKILL
 *   full     from there on the disk is full; the first write still gets half of its bytes there
 *   readonly from there on the file system is read-only
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_int calls;
static atomic_char ours[4096];

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int below(const char *path) {
    const char *dir = getenv("FAULT_DIR");
    return dir && strncmp(path, dir, strlen(dir)) == 0;
}

static void die(void) { kill(getpid(), SIGKILL); }

/* -1: no fault yet; 0: this is the call; above: it was before. */
static int due(void) {
    const char *at = getenv("FAULT_AT");
    int n = atomic_fetch_add(&calls, 1) + 1 - (at ? atoi(at) : 0);
    return n < 0 ? -1 : n;
}

static int is(const char *kind) {
    const char *k = getenv("FAULT_KIND");
    return k && strcmp(k, kind) == 0;
}

/* Whether the call is to fail; `takes_room` if a full disk makes it. */
static int fails(int when, int takes_room) {
    if (when < 0) return 0;
    if (when == 0 && is("kill")) die();
    if (is("readonly")) { errno = EROFS; return 1; }
    if (takes_room && is("full")) { errno = ENOSPC; return 1; }
    return 0;
}

static void after(int when) {
    if (when == 0 && is("half")) die();
}

static int opened(int fd, const char *path) {
    if (fd >= 0 && fd < 4096) ours[fd] = below(path);
    return fd;
}

#define OPEN(name)                                                   \
    int name(const char *path, int flags, ...) {                     \
        va_list args;                                                \
        va_start(args, flags);                                       \
        mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;    \
        va_end(args);                                                \
        if (!(flags & O_CREAT) || !below(path))                      \
            return opened(REAL(name)(path, flags, mode), path);      \
        int when = due();                                            \
        if (fails(when, 1)) return -1;                               \
        int fd = opened(REAL(name)(path, flags, mode), path);        \
        after(when);                                                 \
        return fd;                                                   \
    }
OPEN(open)
OPEN(open64)

ssize_t write(int fd, const void *bytes, size_t n) {
    if (fd < 0 || fd >= 4096 || !ours[fd]) return REAL(write)(fd, bytes, n);
    int when = due();
    if (when == 0 && (is("half") || is("full"))) {
        ssize_t done = REAL(write)(fd, bytes, n / 2);
        after(when);
        return done;
    }
    if (fails(when, 1)) return -1;
    return REAL(write)(fd, bytes, n);
}

int fsync(int fd) {
    if (fd < 0 || fd >= 4096 || !ours[fd]) return REAL(fsync)(fd);
    int when = due();
    if (fails(when, 1)) return -1;
    int done = REAL(fsync)(fd);
    after(when);
    return done;
}

int mkdir(const char *path, mode_t mode) {
    /* Of a folder that is there, the system says that, whatever else is wrong. */
    if (!below(path) || access(path, F_OK) == 0) return REAL(mkdir)(path, mode);
    int when = due();
    if (fails(when, 1)) return -1;
    int done = REAL(mkdir)(path, mode);
    after(when);
    return done;
}

int rename(const char *from, const char *to) {
    if (!below(to)) return REAL(rename)(from, to);
    int when = due();
    if (fails(when, 0)) return -1;
    int done = REAL(rename)(from, to);
    after(when);
    return done;
}

int unlink(const char *path) {
    if (!below(path)) return REAL(unlink)(path);
    int when = due();
    if (fails(when, 0)) return -1;
    int done = REAL(unlink)(path);
    after(when);
    return done;
}
