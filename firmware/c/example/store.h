/* Checkpoints and the boot counter, in the board's flash. */
#ifndef STORE_H
#define STORE_H

#include "lopa.h"

/* Counts a boot and returns its number, 1 for the first; 0 if the flash does not keep it. */
uint32_t store_boot(void);

/* Continues from the newest complete checkpoint, if there is one. */
void store_restore(LopaNode *node, uint64_t now);

/* Writes a checkpoint. Returns its length or an error; the previous one is still there. */
int32_t store_save(LopaNode *node);

#endif
