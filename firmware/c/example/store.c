/* Checkpoints in two slots, written in turn: whenever power fails, one of them is complete. */
#include "board.h"
#include "store.h"

/* Where the boot counter and the slots are: each in an erase unit of its own. */
enum { UNIT = 4096, BOOTS = 0, SLOTS = UNIT };

/* A checkpoint and its number, on its way to or from the flash. */
static struct { uint32_t sequence; uint8_t checkpoint[LOPA_LOGISTIC_CHECKPOINT_BYTES(FEATURES)]; } slot;
static uint32_t sequence;

/* On a chip, where a unit is erased before it is written, two units in turn: a power cut must not set the number back. */
uint32_t store_boot(void)
{
    uint32_t boot = 0, kept = 0;
    board_flash_read(BOOTS, &boot, sizeof boot);
    boot++;
    bool written = board_flash_write(BOOTS, &boot, sizeof boot) && board_flash_read(BOOTS, &kept, sizeof kept);
    return written && kept == boot ? boot : 0;
}

void store_restore(LopaNode *node, uint64_t now)
{
    uint32_t numbers[2] = {0, 0};
    for (uint32_t i = 0; i < 2; i++) {
        board_flash_read(SLOTS + i * UNIT, &numbers[i], sizeof numbers[i]);
    }
    uint32_t newest = numbers[1] > numbers[0];
    sequence = numbers[newest];
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t which = newest ^ i;
        /* The library refuses a checkpoint that is damaged, or of another network. */
        if (board_flash_read(SLOTS + which * UNIT, &slot, sizeof slot)
            && lopa_node_restore(node, slot.checkpoint, sizeof slot.checkpoint, now) == 0) {
            /* The next one replaces the other slot. */
            sequence += (sequence & 1) != which;
            return;
        }
    }
}

int32_t store_save(LopaNode *node)
{
    int32_t len = lopa_node_save(node, slot.checkpoint, sizeof slot.checkpoint);
    if (len < 0) {
        return len;
    }
    slot.sequence = sequence + 1;
    if (!board_flash_write(SLOTS + (slot.sequence & 1) * UNIT, &slot, sizeof slot)) {
        return LOPA_ERROR_CHECKPOINT;
    }
    sequence = slot.sequence;
    return len;
}
