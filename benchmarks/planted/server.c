/* A small in-memory server of one thread that speaks as much of Redis' protocol as a load of GET
   needs. Each GET costs WORK rounds of arithmetic, which is what a planted commit changes. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "work.h"

#define CLIENTS 4096
#define WORDS 16
#define SLOTS (1u << 20)

struct client { char *in, *out; size_t have, room, said, space; };
struct entry { char *key, *value; uint32_t key_bytes, value_bytes; };
struct word { char *text; size_t bytes; };

static struct client *clients[CLIENTS];
static struct entry *table[SLOTS];
static size_t entries;
static char dump[4096] = "dump.tiny";
volatile uint64_t sink;

static uint64_t hash(const char *text, size_t bytes) {
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < bytes; i++) h = (h ^ (unsigned char)text[i]) * 1099511628211u;
    return h;
}

__attribute__((noinline)) static uint64_t work(uint64_t seed) {
    for (int i = 0; i < WORK; i++) seed = (seed ^ (seed >> 29)) * 0xbf58476d1ce4e5b9u;
    return seed;
}

static struct entry **find(const char *key, size_t bytes) {
    uint64_t at = hash(key, bytes);
    for (;; at++) {
        struct entry **slot = &table[at & (SLOTS - 1)];
        if (!*slot || ((*slot)->key_bytes == bytes && !memcmp((*slot)->key, key, bytes)))
            return slot;
    }
}

static char *copied(const char *text, size_t bytes) {
    char *made = malloc(bytes + 1);
    memcpy(made, text, bytes);
    made[bytes] = 0;
    return made;
}

static void set(const char *key, size_t key_bytes, const char *value, size_t value_bytes) {
    struct entry **slot = find(key, key_bytes);
    if (!*slot) {
        *slot = calloc(1, sizeof **slot);
        (*slot)->key = copied(key, key_bytes);
        (*slot)->key_bytes = key_bytes;
        entries++;
    }
    free((*slot)->value);
    (*slot)->value = copied(value, value_bytes);
    (*slot)->value_bytes = value_bytes;
}

static void say(struct client *c, const char *text, size_t bytes) {
    if (c->said + bytes > c->space) {
        c->space = 2 * (c->said + bytes);
        c->out = realloc(c->out, c->space);
    }
    memcpy(c->out + c->said, text, bytes);
    c->said += bytes;
}

static void say_text(struct client *c, const char *text) { say(c, text, strlen(text)); }

static void bulk(struct client *c, const char *text, size_t bytes) {
    char head[32];
    say(c, head, sprintf(head, "$%zu\r\n", bytes));
    say(c, text, bytes);
    say_text(c, "\r\n");
}

static void save(void) {
    FILE *file = fopen(dump, "wb");
    if (!file) return;
    for (size_t i = 0; i < SLOTS; i++) {
        struct entry *e = table[i];
        if (!e) continue;
        fwrite(&e->key_bytes, 4, 1, file);
        fwrite(&e->value_bytes, 4, 1, file);
        fwrite(e->key, 1, e->key_bytes, file);
        fwrite(e->value, 1, e->value_bytes, file);
    }
    fclose(file);
}

static void load(void) {
    FILE *file = fopen(dump, "rb");
    uint32_t bytes[2];
    if (!file) return;
    while (fread(bytes, 4, 2, file) == 2) {
        char *text = malloc((size_t)bytes[0] + bytes[1]);
        if (fread(text, 1, (size_t)bytes[0] + bytes[1], file))
            set(text, bytes[0], text + bytes[0], bytes[1]);
        free(text);
    }
    fclose(file);
}

static int is(struct word *word, const char *name) {
    return word->bytes == strlen(name) && !strncasecmp(word->text, name, word->bytes);
}

static void info(struct client *c) {
    char text[256];
    int bytes = sprintf(text, "# Stats\r\ntotal_commands_processed:0\r\nkeys:%zu\r\n", entries);
    bulk(c, text, bytes);
}

static void answer(struct client *c, struct word *words, int count) {
    if (is(words, "GET") && count == 2) {
        sink += work(hash(words[1].text, words[1].bytes));
        struct entry *e = *find(words[1].text, words[1].bytes);
        if (e) bulk(c, e->value, e->value_bytes);
        else say_text(c, "$-1\r\n");
    } else if (is(words, "SET") && count == 3) {
        set(words[1].text, words[1].bytes, words[2].text, words[2].bytes);
        say_text(c, "+OK\r\n");
    } else if (is(words, "EXISTS") && count == 2) {
        say_text(c, *find(words[1].text, words[1].bytes) ? ":1\r\n" : ":0\r\n");
    } else if (is(words, "DBSIZE")) {
        char text[32];
        say(c, text, sprintf(text, ":%zu\r\n", entries));
    } else if (is(words, "CONFIG")) {
        say_text(c, "*0\r\n");
    } else if (is(words, "INFO")) {
        info(c);
    } else if (is(words, "PING")) {
        say_text(c, "+PONG\r\n");
    } else if (is(words, "SAVE")) {
        save();
        say_text(c, "+OK\r\n");
    } else if (is(words, "AUTH") || is(words, "SELECT") || is(words, "FLUSHALL")) {
        say_text(c, "+OK\r\n");
    } else {
        say_text(c, "-ERR unknown command\r\n");
    }
}

/* The bytes of the command at `at`, or 0 where it is not whole. */
static size_t command(char *at, size_t have, struct word *words, int *count) {
    char *end = memchr(at, '\n', have);
    if (!end || *at != '*') return 0;
    *count = atoi(at + 1);
    char *next = end + 1;
    for (int i = 0; i < *count; i++) {
        size_t left = have - (next - at);
        end = left ? memchr(next, '\n', left) : NULL;
        if (!end) return 0;
        size_t bytes = strtoul(next + 1, NULL, 10);
        char *text = end + 1;
        if ((size_t)(text - at) + bytes + 2 > have) return 0;
        if (i < WORDS) words[i] = (struct word){text, bytes};
        next = text + bytes + 2;
    }
    if (*count > WORDS) *count = WORDS;
    return next - at;
}

static int serve(int fd) {
    struct client *c = clients[fd];
    if (c->room - c->have < 65536) c->in = realloc(c->in, c->room += 65536);
    ssize_t got = recv(fd, c->in + c->have, c->room - c->have, 0);
    if (got <= 0) return got < 0 && errno == EAGAIN ? 0 : -1;
    c->have += got;
    size_t done = 0, bytes;
    struct word words[WORDS];
    int count;
    while ((bytes = command(c->in + done, c->have - done, words, &count))) {
        if (count > 0) answer(c, words, count);
        done += bytes;
    }
    memmove(c->in, c->in + done, c->have -= done);
    for (size_t sent = 0; sent < c->said;) {
        ssize_t now = send(fd, c->out + sent, c->said - sent, MSG_NOSIGNAL);
        if (now <= 0) return -1;
        sent += now;
    }
    c->said = 0;
    return 0;
}

static int listening(int port, const char *host, const char *path) {
    int one = 1, fd = socket(path ? AF_UNIX : AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    inet_pton(AF_INET, host, &in.sin_addr);
    if (path) snprintf(un.sun_path, sizeof un.sun_path, "%s", path);
    int bad = path ? bind(fd, (void *)&un, sizeof un) : bind(fd, (void *)&in, sizeof in);
    if (bad || listen(fd, 512)) {
        perror("bind");
        exit(1);
    }
    return fd;
}

int main(int count, char **words) {
    int port = 0, doors[2] = {-1, -1}, poll = epoll_create1(0);
    const char *host = "127.0.0.1", *path = NULL;
    for (int i = 1; i < count; i++) {
        if (!strcmp(words[i], "--version")) return puts("Tiny server v=1") == EOF;
        if (i + 1 == count) continue;
        if (!strcmp(words[i], "--port")) port = atoi(words[i + 1]);
        if (!strcmp(words[i], "--bind")) host = words[i + 1];
        if (!strcmp(words[i], "--unixsocket")) path = words[i + 1];
        if (!strcmp(words[i], "--dir"))
            snprintf(dump, sizeof dump, "%s/dump.tiny", words[i + 1]);
    }
    load();
    if (port) doors[0] = listening(port, host, NULL);
    if (path) doors[1] = listening(0, host, path);
    for (int i = 0; i < 2; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = doors[i]};
        if (doors[i] >= 0) epoll_ctl(poll, EPOLL_CTL_ADD, doors[i], &event);
    }
    for (;;) {
        struct epoll_event events[256];
        int ready = epoll_wait(poll, events, 256, -1);
        for (int i = 0; i < ready; i++) {
            int one = 1, fd = events[i].data.fd;
            if (fd == doors[0] || fd == doors[1]) {
                int made = accept(fd, NULL, NULL);
                if (made < 0 || made >= CLIENTS) continue;
                setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                clients[made] = calloc(1, sizeof **clients);
                struct epoll_event event = {.events = EPOLLIN, .data.fd = made};
                epoll_ctl(poll, EPOLL_CTL_ADD, made, &event);
            } else if (serve(fd)) {
                free(clients[fd]->in);
                free(clients[fd]->out);
                free(clients[fd]);
                clients[fd] = NULL;
                close(fd);
            }
        }
    }
}
