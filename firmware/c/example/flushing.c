/* A product that flushes subnormal results to zero, in the place of the compiler's: vendors replace float routines in this way,
 * with the linker's --wrap. The library must notice. Floats are passed as integers here, so that nothing is computed twice. */
#include <stdint.h>

uint32_t __real___aeabi_fmul(uint32_t a, uint32_t b);
uint32_t __wrap___aeabi_fmul(uint32_t a, uint32_t b);

uint32_t __wrap___aeabi_fmul(uint32_t a, uint32_t b)
{
    uint32_t product = __real___aeabi_fmul(a, b);
    return (product & 0x7f800000) == 0 ? product & 0x80000000 : product;
}
