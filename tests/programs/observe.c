/* SPDX-License-Identifier: MIT
 *
 * observe: runs a command and writes a line for each process that came of it.
 *
 *     observe [-1] FILE COMMAND...
 *
 * A line is the name of the parent, the name of the process, how it ended, and the descriptors that
 * it had open then:
 *
 *     bash make exited 2: 0 /dev/null 1 /tmp/out 2 /tmp/err
 *
 * A name is the file that the process executed last; the parent of the command is "-". The
 * processes are stopped (ptrace) where they begin and end and nowhere else. With -1 the command
 * alone is observed: its children may be debuggers, of which a process has one. The status is the
 * command's, 128 + N when signal N ended it. What is still there when the command and all that it
 * left behind have ended cannot be: observe waits for all of them.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define FDS_MAX 1024
#define OPTIONS_ALONE (PTRACE_O_TRACEEXIT | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)
#define OPTIONS_ALL (OPTIONS_ALONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE)

struct process {
    struct process *before, *parent; /* no parent: the command */
    pid_t pid;
    char *name, *fds;
    int status;
    bool ended;
    bool waits; /* stopped where it began; its parent's report comes first */
};

static struct process *last;

static void die(const char *what)
{
    fprintf(stderr, "observe: %s: %s\n", what, strerror(errno));
    exit(125);
}

/* The live process of that pid, NULL where there is none. Pids are used again. */
static struct process *find(pid_t pid)
{
    struct process *p = last;
    while (p != NULL && (p->pid != pid || p->ended))
        p = p->before;
    return p;
}

static struct process *find_or_add(pid_t pid)
{
    struct process *p = find(pid);
    if (p != NULL)
        return p;
    p = calloc(1, sizeof *p);
    if (p == NULL)
        die("calloc");
    *p = (struct process){.before = last, .pid = pid};
    last = p;
    return p;
}

/* The process that a thread belongs to; the thread itself where it cannot be told. */
static pid_t process_of(pid_t tid)
{
    char path[64], line[256];
    int pid = tid;
    FILE *f;
    snprintf(path, sizeof path, "/proc/%d/status", tid);
    f = fopen(path, "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "Tgid: %d", &pid) == 1)
            break;
    if (f != NULL)
        fclose(f);
    return pid;
}

static char *link_of(const char *path)
{
    char target[PATH_MAX];
    ssize_t len = readlink(path, target, sizeof target - 1);
    target[len > 0 ? len : 0] = '\0';
    return strdup(target);
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static char *fds_of(pid_t tid)
{
    char path[64], *text = NULL;
    int fd[FDS_MAX], n = 0;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct dirent *entry;
    DIR *dir;
    snprintf(path, sizeof path, "/proc/%d/fd", tid);
    dir = opendir(path);
    while (dir != NULL && n < FDS_MAX && (entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.')
            fd[n++] = atoi(entry->d_name);
    if (dir != NULL)
        closedir(dir);
    qsort(fd, (size_t)n, sizeof *fd, by_number);
    for (int i = 0; i < n; i++) {
        char *target;
        snprintf(path, sizeof path, "/proc/%d/fd/%d", tid, fd[i]);
        target = link_of(path);
        fprintf(out, " %d %s", fd[i], target);
        free(target);
    }
    fclose(out);
    return text;
}

/* A thread is about to end. The last one of its process is the one that counts: what it sees open
 * is what the process ends with. */
static void take_down(pid_t tid)
{
    struct process *p = find_or_add(process_of(tid));
    char path[64], *exe, *slash;
    snprintf(path, sizeof path, "/proc/%d/exe", tid);
    exe = link_of(path);
    slash = strrchr(exe, '/');
    free(p->name);
    free(p->fds);
    p->name = strdup(slash != NULL ? slash + 1 : exe);
    p->fds = fds_of(tid);
    free(exe);
}

/* The parent says that a process or thread began. */
static void add(pid_t parent, pid_t child)
{
    struct process *p;
    if (process_of(child) != child)
        return;
    p = find_or_add(child);
    p->parent = find_or_add(process_of(parent));
    if (p->waits)
        ptrace(PTRACE_CONT, child, NULL, NULL);
    p->waits = false;
}

/* Returns whether a stopped process has to wait until its parent has told of it: it could be gone
 * by then. */
static bool is_early(pid_t tid)
{
    if (process_of(tid) != tid || find(tid) != NULL)
        return false;
    find_or_add(tid)->waits = true;
    return true;
}

/* Resumes a stopped thread with the request that its stop calls for. */
static void resume(pid_t tid, int status)
{
    int event = status >> 16, sig = WSTOPSIG(status);
    unsigned long message = 0;
    enum __ptrace_request how = PTRACE_CONT;
    if (event != 0)
        ptrace(PTRACE_GETEVENTMSG, tid, NULL, &message);
    if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE)
        add(tid, (pid_t)message);
    else if (event == PTRACE_EVENT_EXIT)
        take_down(tid);
    else if (event == PTRACE_EVENT_STOP && sig != SIGTRAP)
        how = PTRACE_LISTEN; /* stopped by job control, and to stay so */
    else if (event == PTRACE_EVENT_STOP && is_early(tid))
        return;
    ptrace(how, tid, NULL, (void *)(long)(event != 0 ? 0 : sig));
}

static void observe(void)
{
    struct process *p;
    int status;
    pid_t tid;
    while ((tid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
        if (tid <= 0)
            continue;
        if (WIFSTOPPED(status)) {
            resume(tid, status);
            continue;
        }
        p = find(tid);
        if (p != NULL) {
            p->ended = true;
            p->status = status;
        }
    }
}

static pid_t start(char **argv, bool alone)
{
    int go[2];
    pid_t pid;
    char byte = 0;
    if (pipe(go) < 0 || (pid = fork()) < 0)
        die("fork");
    if (pid == 0) {
        close(go[1]);
        if (read(go[0], &byte, 1) != 1)
            _exit(125);
        close(go[0]);
        execvp(argv[0], argv);
        die(argv[0]);
    }
    close(go[0]);
    if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)(long)(alone ? OPTIONS_ALONE : OPTIONS_ALL)) < 0)
        die("ptrace");
    if (write(go[1], &byte, 1) != 1)
        die("pipe");
    close(go[1]);
    return pid;
}

static void write_lines(const char *path)
{
    FILE *f = fopen(path, "w");
    if (f == NULL)
        die(path);
    for (const struct process *p = last; p != NULL; p = p->before) {
        const char *parent = p->parent != NULL ? p->parent->name : "-";
        bool killed = WIFSIGNALED(p->status);
        fprintf(f, "%s %s %s %d:%s\n", parent != NULL ? parent : "?", p->name ? p->name : "?",
                killed ? "killed" : "exited", killed ? WTERMSIG(p->status) : WEXITSTATUS(p->status),
                p->fds ? p->fds : "");
    }
    if (fclose(f) != 0)
        die(path);
}

int main(int argc, char **argv)
{
    bool alone = argc > 1 && strcmp(argv[1], "-1") == 0;
    const char *path;
    struct process *command;
    int status;
    argv += alone;
    argc -= alone;
    if (argc < 3) {
        fputs("usage: observe [-1] FILE COMMAND...\n", stderr);
        return 125;
    }
    path = argv[1];
    command = find_or_add(start(argv + 2, alone));
    observe();
    write_lines(path);
    status = command->status;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
