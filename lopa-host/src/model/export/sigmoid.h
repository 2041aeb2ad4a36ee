
static inline float NAME_quotient(float a, float b)
{
    volatile float result = a / b;
    return result;
}

/* 2 to the power of -k. */
static inline float NAME_half_to(int k)
{
    float power = 1.0f;
    for (; k >= 16; k -= 16) {
        power = NAME_product(power, 1.52587890625e-5f);
    }
    for (; k > 0; k--) {
        power = NAME_product(power, 0.5f);
    }
    return power;
}

/* e to the power of a, which is not positive. It is that of FreeBSD's msun, operation by operation:
 * Copyright (C) 1993 by Sun Microsystems, Inc. All rights reserved.
 * Developed at SunPro, a Sun Microsystems, Inc. business.
 * Permission to use, copy, modify, and distribute this software is freely granted, provided that this notice is
 * preserved. */
static inline float NAME_exp(float a)
{
    if (a <= -103.972084f) {
        return 0.0f;
    }
    if (a >= -0.00012207031f) {
        return NAME_sum(1.0f, a);
    }
    /* e^a = 2^-k e^x, with x within half a ln 2. */
    int k = 0;
    if (a < -1.0397208f) {
        k = (int)NAME_sum(0.5f, -NAME_product(1.442695f, a));
    } else if (a < -0.3465736f) {
        k = 1;
    }
    const float times = (float)k;
    const float hi = NAME_sum(a, NAME_product(times, 0.69314575f));
    const float lo = NAME_product(-times, 1.4286068e-6f);
    const float x = NAME_sum(hi, -lo);
    const float xx = NAME_product(x, x);
    const float slope = NAME_sum(0.16666625f, NAME_product(xx, -0.0027667333f));
    const float c = NAME_sum(x, -NAME_product(xx, slope));
    const float ratio = NAME_quotient(NAME_product(x, c), NAME_sum(2.0f, -c));
    const float y = NAME_sum(1.0f, NAME_sum(NAME_sum(ratio, -lo), hi));
    /* In two steps where 2^-k is smaller than the smallest normal number. */
    if (k > 126) {
        return NAME_product(NAME_product(y, NAME_half_to(102)), NAME_half_to(k - 102));
    }
    return NAME_product(y, NAME_half_to(k));
}

/* 1 / (1 + e^-a). */
static inline float NAME_sigmoid(float a)
{
    const float tail = NAME_exp(a < 0.0f ? a : -a);
    return NAME_quotient(a < 0.0f ? tail : 1.0f, NAME_sum(1.0f, tail));
}
