/* Compilers may fuse a product and a sum, or add in another order, which changes the last bits. A volatile variable in
 * between keeps every operation as it is written, whatever the flags. */
static inline float NAME_sum(float a, float b)
{
    volatile float result = a + b;
    return result;
}

static inline float NAME_product(float a, float b)
{
    volatile float result = a * b;
    return result;
}

/* The bias plus each feature times its weight, added one after the other. */
static inline float NAME_affine(const float *weights, float bias, const float *features, int count)
{
    float sum = bias;
    for (int i = 0; i < count; i++) {
        sum = NAME_sum(sum, NAME_product(weights[i], features[i]));
    }
    return sum;
}
