/* Copying and clearing, as compilers call it on Arm: a fifth of the size of the routines in liblopa.a, and slower. A firmware with
 * a C library has its own. */
#include <stddef.h>
#include <stdint.h>

void __aeabi_memcpy(void *to, const void *from, size_t len);
void __aeabi_memcpy4(void *to, const void *from, size_t len) __attribute__((alias("__aeabi_memcpy")));
void __aeabi_memcpy8(void *to, const void *from, size_t len) __attribute__((alias("__aeabi_memcpy")));
void __aeabi_memclr(void *to, size_t len);
void __aeabi_memclr4(void *to, size_t len) __attribute__((alias("__aeabi_memclr")));
void __aeabi_memclr8(void *to, size_t len) __attribute__((alias("__aeabi_memclr")));

void __aeabi_memcpy(void *to, const void *from, size_t len)
{
    uint8_t *out = to;
    const uint8_t *in = from;
    while (len-- > 0) {
        *out++ = *in++;
    }
}

void __aeabi_memclr(void *to, size_t len)
{
    uint8_t *out = to;
    while (len-- > 0) {
        *out++ = 0;
    }
}
