/* What both problems need: the node and its data, e^x, sums in sixteen lanes, and mixing. */
#ifndef COMMON_H
#define COMMON_H

#include <stddef.h>
#include <stdint.h>

enum { LANES = 16 };

/* Sizes come from the settings, as in the node; with SIZES_KNOWN the compiler knows them. */
#ifdef SIZES_KNOWN
#define SIZE(name, known) ((size_t)(known))
#else
#define SIZE(name, known) (job->name)
#endif

/* A node, its samples, its settings, the batches of one step, and its neighbour. The same in src/reference.rs. */
struct job {
    float *x, *y, *z, *theta, *v, *delta, *direction, *strengths;
    size_t n, width, hidden, classes;
    const uint8_t *features, *labels; /* row after row; a value is scale * (raw - offset) */
    float scale, offset, mu;
    size_t batch;
    const uint32_t *inner_gradient, *hessian_vector, *cross_vector, *outer_gradient_inner, *outer_gradient_outer;
    float alpha, beta, lambda, gamma, tau;
    float weight;
    const float *their_x, *their_y;
};

static inline uint32_t bits_of(float a)
{
    union { float value; uint32_t bits; } both = { .value = a };
    return both.bits;
}

static inline float float_of(uint32_t bits)
{
    union { uint32_t bits; float value; } both = { .bits = bits };
    return both.value;
}

static inline float absolute(float a)
{
    return __builtin_fabsf(a);
}

/* e^x by the algorithm of FreeBSD, musl and libm. */
static float exponential(float x)
{
    const float ln2_hi = 6.9314575195e-01f, ln2_lo = 1.4286067653e-06f, inv_ln2 = 1.4426950216e+00f;
    const float p1 = 1.6666625440e-1f, p2 = -2.7667332906e-3f;
    uint32_t size = bits_of(x) & 0x7fffffff;
    int negative = x < 0;
    if (size >= 0x42aeac50) { /* |x| >= 87.34, or NaN */
        if (size > 0x7f800000)
            return x;
        if (size >= 0x42b17218 && !negative)
            return x * 0x1p127f;
        if (size >= 0x42cff1b5 && negative)
            return 0;
    }
    int k = 0;
    float hi = x, lo = 0;
    if (size > 0x3eb17218) { /* |x| > 0.5 ln 2 */
        if (size > 0x3f851592) /* |x| > 1.5 ln 2 */
            k = (int)(inv_ln2 * x + (negative ? -0.5f : 0.5f));
        else
            k = negative ? -1 : 1;
        hi = x - (float)k * ln2_hi;
        lo = (float)k * ln2_lo;
        x = hi - lo;
    } else if (size <= 0x39000000) {
        return 1 + x;
    }
    float xx = x * x;
    float c = x - xx * (p1 + xx * p2);
    float y = 1 + (x * c / (2 - c) - lo + hi);
    if (k < -126)
        return y * 0x1p-100f * float_of((uint32_t)(k + 227) << 23);
    if (k > 127)
        return y * 2 * float_of((uint32_t)(k + 126) << 23);
    return y * float_of((uint32_t)(k + 127) << 23);
}

static inline float sigmoid(float a)
{
    float tail = exponential(-absolute(a));
    return (a >= 0 ? 1 : tail) / (1 + tail);
}

/* Halves are added until one value is left. */
static inline float add_lanes(float *lanes, size_t count)
{
    for (size_t half = count / 2; half > 0; half /= 2)
        for (size_t i = 0; i < half; i++)
            lanes[i] += lanes[i + half];
    return lanes[0];
}

/* The other half of a step, with one neighbour. */
static inline void mix_all(size_t n, const struct job *job)
{
    float *x = job->x, *y = job->y;
    for (size_t i = 0; i < n; i++) {
        float x_gap = job->weight * (job->their_x[i] - x[i]), y_gap = job->weight * (job->their_y[i] - y[i]);
        x[i] += job->tau * (x_gap - job->alpha * y[i]);
        y[i] = y[i] + y_gap + job->delta[i];
    }
}

#endif
