/* A node: moves bytes between the lines and the library, and computes when the library says so. */
#include "board.h"
#include "lopa.h"
#include "store.h"

/* All memory of the node, and for each line the frame on its way. */
static uint64_t memory[LOPA_WORDS(LOPA_LOGISTIC_FLOATS(FEATURES))];
static struct { uint8_t bytes[LOPA_FRAME_BYTES]; size_t from, to; } frames[LOPA_LINKS];

/* Sends what there is to send, as far as the lines accept it. */
static void speak(LopaNode *node, uint64_t now)
{
    for (size_t link = 0; link < LOPA_LINKS; link++) {
        for (;;) {
            size_t left = frames[link].to - frames[link].from;
            size_t sent = board_write(link, frames[link].bytes + frames[link].from, left);
            frames[link].from += sent;
            if (sent < left) {
                break;
            }
            int32_t len = lopa_node_transmit(node, link, frames[link].bytes, LOPA_FRAME_BYTES, now);
            if (len <= 0) {
                break;
            }
            frames[link].from = 0;
            frames[link].to = (size_t)len;
        }
    }
}

/* Hands over what the lines have received. */
static void listen(LopaNode *node, uint64_t now)
{
    uint8_t bytes[64];
    for (size_t link = 0; link < LOPA_LINKS; link++) {
        size_t len;
        while ((len = board_read(link, bytes, sizeof bytes)) > 0) {
            lopa_node_receive(node, link, bytes, len, now);
        }
    }
}

int main(void)
{
    board_start();
    LopaNode *node;
    uint32_t boot = store_boot();
    int32_t error = lopa_node_init(memory, sizeof memory, BOARD_BLOB, BOARD_BLOB_BYTES, boot, board_now(), &node);
    if (error < 0) {
        board_print(lopa_error_text(error));
    } else if (boot > 0) {
        store_restore(node, board_now());
    }
    /* A node that was refused is served too: it tells a host why. */
    while (node != NULL) {
        uint64_t now = board_now();
        listen(node, now);
        int32_t step = lopa_node_poll(node, now);
        if (lopa_node_checkpoint_wanted(node)) {
            /* Flash that cannot count boots is not trusted with a checkpoint. */
            int32_t saved = boot > 0 ? store_save(node) : LOPA_ERROR_CHECKPOINT;
            /* In the middle of a round it has to wait. */
            if (saved != LOPA_ERROR_TURN) {
                lopa_node_checkpoint_written(node, saved >= 0);
            }
        }
        speak(node, now);
        if (step == LOPA_COMPUTE) {
            error = lopa_node_compute(node);
            if (error < 0) {
                board_print(lopa_error_text(error));
            }
        } else {
            /* A frame that is due but not sent waits for its line, not for the clock. */
            uint64_t deadline = lopa_node_deadline(node);
            board_sleep(deadline > now ? deadline : now + 1000000);
        }
    }
    board_exit(false);
    return 0;
}
