/* The emulated MPS2 board (QEMU's mps2-an386): five UARTs, a clock, an alarm, and where the blob is. */
#ifndef BOARD_H
#define BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BOARD_LINES 5
/* Where the emulator puts the blob; on a chip this would be a region of flash. */
#define BOARD_BLOB ((const uint8_t *)0x21000000)
#define BOARD_BLOB_BYTES 0x800000

void board_start(void);

/* Microseconds since board_start(); call it at least every 170 seconds. */
uint64_t board_now(void);

/* Sleeps until a byte has arrived, a line has room again, or a time. */
void board_sleep(uint64_t until);

/* Takes bytes that a line has received, and says how many. */
size_t board_read(size_t line, uint8_t *bytes, size_t room);

/* Sends as many bytes as the line accepts now, and says how many. */
size_t board_write(size_t line, const uint8_t *bytes, size_t len);

/* The flash for checkpoints: a file of the emulator's host, so that it outlives the emulator. Bytes never written are not
 * read; both say whether all bytes were. On a chip, erase before you write. */
bool board_flash_read(size_t at, void *bytes, size_t len);
bool board_flash_write(size_t at, const void *bytes, size_t len);

/* Prints to the emulator's output, and ends the emulator. */
void board_print(const char *text);
void board_exit(bool success);

#endif
