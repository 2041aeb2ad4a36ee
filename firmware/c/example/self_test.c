/* The library's test of floats, with the FPU as it starts and with settings that change bits. */
#include "board.h"
#include "lopa.h"

#ifdef __ARM_FP
static int32_t with(uint32_t setting)
{
    __asm volatile("vmsr fpscr, %0" ::"r"(setting) : "memory");
    int32_t result = lopa_self_test();
    __asm volatile("vmsr fpscr, %0" ::"r"(0) : "memory");
    return result;
}
#else
static int32_t with(uint32_t setting)
{
    /* Without an FPU there is nothing to set. */
    return setting == 0 ? lopa_self_test() : LOPA_ERROR_FLOATS;
}
#endif

int main(void)
{
    static const struct { const char *name; uint32_t setting; } settings[] = {
        {"as it starts: ", 0},           {"flush to zero: ", 1u << 24},      {"towards plus infinity: ", 1u << 22},
        {"towards minus infinity: ", 2u << 22}, {"towards zero: ", 3u << 22}, {"as it starts: ", 0},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        board_print(settings[i].name);
        board_print(lopa_error_text(with(settings[i].setting)));
        board_print("\n");
    }
    board_exit(true);
    return 0;
}
