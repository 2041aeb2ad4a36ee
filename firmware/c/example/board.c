/* The emulated board: start-up, interrupts, UARTs and timers. */
#include "board.h"

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))

#define HERTZ 25000000u
#define TICKS (HERTZ / 1000000u)
#define ALARM_INTERRUPT 9u
#define ROOM 128u

enum { DATA = 0x0, STATE = 0x4, CONTROL = 0x8, CLEAR = 0xc, DIVIDER = 0x10 };
enum { VALUE = 0x4, RELOAD = 0x8, TIMER_CLEAR = 0xc };
enum { SENDING_FULL = 1, RECEIVED = 2, LISTEN = 0xb, LISTEN_AND_TELL = 0xf };

static const uint32_t UARTS[BOARD_LINES] = {0x40004000, 0x40005000, 0x40006000, 0x40007000, 0x40009000};
/* Their receive interrupts; the next number is the transmit interrupt. */
static const uint8_t INTERRUPTS[BOARD_LINES] = {0, 2, 4, 18, 20};
static const uint32_t CLOCK = 0x40000000, ALARM = 0x40001000;

/* What has been received and not been read. When it is full, the emulator makes the sender wait. */
static struct { uint8_t bytes[ROOM]; uint8_t from, count; } waiting[BOARD_LINES];
static volatile bool woken;
static uint32_t last = UINT32_MAX;
static uint64_t ticks;

static void mask(void) { __asm volatile("cpsid i" ::: "memory"); }
static void unmask(void) { __asm volatile("cpsie i" ::: "memory"); }

/* Moves bytes from a UART into its buffer, with interrupts masked. */
static void fill(size_t line)
{
    while (waiting[line].count < ROOM && (REGISTER(UARTS[line] + STATE) & RECEIVED) != 0) {
        uint8_t byte = (uint8_t)REGISTER(UARTS[line] + DATA);
        waiting[line].bytes[(waiting[line].from + waiting[line].count++) % ROOM] = byte;
        /* Half a frame is of no use yet, but it must not fill the buffer. */
        if (byte == 0 || waiting[line].count >= ROOM / 2) {
            woken = true;
        }
    }
}

static void interrupt(void)
{
    uint32_t number;
    __asm volatile("mrs %0, ipsr" : "=r"(number));
    number -= 16;
    if (number == ALARM_INTERRUPT) {
        REGISTER(ALARM) = 0;
        REGISTER(ALARM + TIMER_CLEAR) = 1;
        woken = true;
        return;
    }
    for (size_t line = 0; line < BOARD_LINES; line++) {
        if (number == INTERRUPTS[line]) {
            REGISTER(UARTS[line] + CLEAR) = 2;
            fill(line);
        } else if (number == INTERRUPTS[line] + 1u) {
            REGISTER(UARTS[line] + CONTROL) = LISTEN;
            REGISTER(UARTS[line] + CLEAR) = 1;
            woken = true;
        }
    }
}

void board_start(void)
{
    REGISTER(CLOCK + RELOAD) = UINT32_MAX;
    REGISTER(CLOCK + VALUE) = UINT32_MAX;
    REGISTER(CLOCK) = 1;
    uint32_t enabled = 1u << ALARM_INTERRUPT;
    for (size_t line = 0; line < BOARD_LINES; line++) {
        REGISTER(UARTS[line] + DIVIDER) = HERTZ / 115200;
        REGISTER(UARTS[line] + CONTROL) = LISTEN;
        /* Has the emulator deliver what it received before. A zero is no byte, or one that ends no frame. */
        uint8_t first = (uint8_t)REGISTER(UARTS[line] + DATA);
        if (first != 0) {
            waiting[line].bytes[waiting[line].count++] = first;
        }
        enabled |= 3u << INTERRUPTS[line];
    }
    REGISTER(0xe000e100) = enabled;
}

uint64_t board_now(void)
{
    /* The timer counts down. */
    uint32_t value = REGISTER(CLOCK + VALUE);
    ticks += last - value;
    last = value;
    return ticks / TICKS;
}

void board_sleep(uint64_t until)
{
    uint64_t now = board_now();
    if (until <= now) {
        return;
    }
    /* At most a second: the clock must be read now and then. */
    uint32_t wait = until - now > 1000000 ? 1000000 : (uint32_t)(until - now);
    REGISTER(ALARM) = 0;
    REGISTER(ALARM + RELOAD) = REGISTER(ALARM + VALUE) = wait * TICKS + 2;
    REGISTER(ALARM) = 9;
    mask();
    while (!woken) {
        /* An interrupt that arrives now stays pending and ends the sleep at once. */
        __asm volatile("wfi" ::: "memory");
        unmask();
        mask();
    }
    woken = false;
    unmask();
}

size_t board_read(size_t line, uint8_t *bytes, size_t room)
{
    size_t len = 0;
    mask();
    while (len < room && waiting[line].count > 0) {
        bytes[len++] = waiting[line].bytes[waiting[line].from];
        waiting[line].from = (waiting[line].from + 1) % ROOM;
        waiting[line].count--;
    }
    /* Bytes that were held back arrive without another interrupt. */
    fill(line);
    unmask();
    return len;
}

size_t board_write(size_t line, const uint8_t *bytes, size_t len)
{
    size_t sent = 0;
    for (; sent < len; sent++) {
        if ((REGISTER(UARTS[line] + STATE) & SENDING_FULL) != 0) {
            /* Enable the interrupt first, then check again: room may have appeared in between. */
            REGISTER(UARTS[line] + CONTROL) = LISTEN_AND_TELL;
            if ((REGISTER(UARTS[line] + STATE) & SENDING_FULL) != 0) {
                break;
            }
        }
        REGISTER(UARTS[line] + DATA) = bytes[sent];
    }
    return sent;
}

enum { OPEN = 1, CLOSE = 2, WRITE = 5, READ = 6, SEEK = 10, EXIT = 0x18 };

static uint32_t semihosting(uint32_t operation, const void *argument)
{
    register uint32_t result __asm("r0") = operation;
    register const void *pointer __asm("r1") = argument;
    __asm volatile("bkpt 0xab" : "+r"(result) : "r"(pointer) : "memory");
    return result;
}

/* Reads or writes a part of the file, and says whether all of it was. */
static bool flash(uint32_t operation, size_t at, uintptr_t bytes, size_t len)
{
    static const char name[] = "flash.bin";
    /* The mode "r+b", and "w+b" if there is no file yet. */
    uintptr_t open[] = {(uintptr_t)name, 3, sizeof name - 1};
    uintptr_t file = semihosting(OPEN, open);
    if (file == UINT32_MAX && operation == WRITE) {
        open[1] = 7;
        file = semihosting(OPEN, open);
    }
    if (file == UINT32_MAX) {
        return false;
    }
    const uintptr_t seek[] = {file, at}, move[] = {file, bytes, len};
    /* Returns how many bytes are left. */
    bool done = semihosting(SEEK, seek) == 0 && semihosting(operation, move) == 0;
    return semihosting(CLOSE, &file) == 0 && done;
}

bool board_flash_read(size_t at, void *bytes, size_t len) { return flash(READ, at, (uintptr_t)bytes, len); }
bool board_flash_write(size_t at, const void *bytes, size_t len) { return flash(WRITE, at, (uintptr_t)bytes, len); }

void board_print(const char *text)
{
    size_t len = 0;
    while (text[len] != 0) {
        len++;
    }
    /* The name of the output, the mode "w", and the length of the name. */
    static const char name[] = ":tt";
    const uintptr_t open[] = {(uintptr_t)name, 4, 3};
    const uintptr_t write[] = {semihosting(OPEN, open), (uintptr_t)text, len};
    semihosting(WRITE, write);
}

void board_exit(bool success)
{
    semihosting(EXIT, (const void *)(uintptr_t)(success ? 0x20026 : 0x20023));
}

extern uint32_t stack_top, data_start, data_end, data_from, bss_start, bss_end;
int main(void);

/* Where the chip starts: the FPU is switched on before any float is touched. */
__attribute__((noreturn)) void reset(void)
{
    REGISTER(0xe000ed88) |= 0xfu << 20;
    __asm volatile("dsb\n isb" ::: "memory");
    const uint32_t *from = &data_from;
    for (uint32_t *to = &data_start; to < &data_end; to++) {
        *to = *from++;
    }
    for (uint32_t *to = &bss_start; to < &bss_end; to++) {
        *to = 0;
    }
    main();
    for (;;) {
    }
}

static void fault(void)
{
    board_exit(false);
    for (;;) {
    }
}

/* The stack, the chip's own fifteen exceptions, and 24 interrupts, of which the board uses fewer. */
#define EIGHT interrupt, interrupt, interrupt, interrupt, interrupt, interrupt, interrupt, interrupt
__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    void (*handlers[15 + 24])(void);
} vectors = {&stack_top, {reset, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault,
                          EIGHT, EIGHT, EIGHT}};
