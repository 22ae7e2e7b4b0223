/* Preloaded into every emulated test: a process that starts another ends at once and says so.
 *
 * An emulator of user programs copies itself when its program forks. Only the thread that forks
 * lives on in the copy, where a lock that another thread held stays locked for ever, so that a test
 * would hang now and then. Tests that start processes therefore run on this machine and start the
 * emulator (docs/native.md, "aarch64").
 */
#define _GNU_SOURCE
#include <spawn.h>
#include <sys/types.h>
#include <unistd.h>

static _Noreturn void refuse(void)
{
    static const char text[] =
        "an emulated process may not start another: put the test into a module named `spawning`\n";
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(70);
}

pid_t fork(void) { refuse(); }

pid_t vfork(void) { refuse(); }

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
    refuse();
}

int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
    refuse();
}
