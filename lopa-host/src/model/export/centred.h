
/* The bias plus each feature, less its offset, times its weight. The offset is subtracted first: as part of the bias it
 * would cancel most digits of a feature that is far from zero. */
static inline float NAME_centred(const float *weights, float bias, const float *features)
{
    float sum = bias;
    for (int i = 0; i < BIG_FEATURES; i++) {
        sum = NAME_sum(sum, NAME_product(weights[i], NAME_sum(features[i], -NAME_offsets[i])));
    }
    return sum;
}
