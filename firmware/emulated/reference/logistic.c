/* A step of logistic regression that learns the strength of regularisation of each feature: plain C, for comparison. */
#include "common.h"

#define N SIZE(n, 784)

/* The scalar product of a row and weights; n is a multiple of sixteen. */
static float dot(size_t n, const uint8_t *restrict row, const float *restrict weights)
{
    float lanes[LANES] = { 0 };
    for (size_t i = 0; i < n; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            lanes[j] += (float)row[i + j] * weights[i + j];
    return add_lanes(lanes, LANES);
}

/* The scalar products of a row and two vectors: each byte is converted once. Half of the lanes at a time, because the chip
   has registers for sixteen. */
static void dots(size_t n, const uint8_t *restrict row, const float *restrict a, const float *restrict b, float *ra,
                 float *rb)
{
    enum { HALF = LANES / 2 };
    float sums_a[LANES], sums_b[LANES];
    for (size_t first = 0; first < LANES; first += HALF) {
        float lanes_a[HALF] = { 0 }, lanes_b[HALF] = { 0 };
        for (size_t i = first; i < n; i += LANES)
            for (size_t j = 0; j < HALF; j++) {
                float value = (float)row[i + j];
                lanes_a[j] += value * a[i + j];
                lanes_b[j] += value * b[i + j];
            }
        for (size_t j = 0; j < HALF; j++) {
            sums_a[first + j] = lanes_a[j];
            sums_b[first + j] = lanes_b[j];
        }
    }
    *ra = add_lanes(sums_a, LANES);
    *rb = add_lanes(sums_b, LANES);
}

/* Adds rows, each times a factor, in their order: eight at a time, so that `out` is read and written less often. */
static void add_rows(size_t n, const struct job *job, const uint32_t *indices, const float *factors,
                     float *restrict out)
{
    enum { ROWS = 8 };
    size_t b = 0;
    for (; b + ROWS <= job->batch; b += ROWS) {
        const uint8_t *rows[ROWS];
        float f[ROWS];
        for (size_t r = 0; r < ROWS; r++) {
            rows[r] = job->features + n * indices[b + r];
            f[r] = factors[b + r];
        }
        for (size_t i = 0; i < n; i++) {
            float sum = out[i];
            for (size_t r = 0; r < ROWS; r++)
                sum += f[r] * (float)rows[r][i];
            out[i] = sum;
        }
    }
    for (; b < job->batch; b++) {
        const uint8_t *restrict row = job->features + n * indices[b];
        for (size_t i = 0; i < n; i++)
            out[i] += factors[b] * (float)row[i];
    }
}

static void add_gradient(size_t n, const struct job *job, const uint32_t *indices, float share, float *out)
{
    float factors[job->batch];
    for (size_t b = 0; b < job->batch; b++) {
        float label = job->labels[indices[b]] ? 1 : -1;
        float output = job->scale * dot(n, job->features + n * indices[b], job->theta);
        factors[b] = share * (-label * sigmoid(-label * output)) * job->scale;
    }
    add_rows(n, job, indices, factors, out);
}

static void add_hessian_vector(size_t n, const struct job *job, const uint32_t *indices, float share, float *out)
{
    float factors[job->batch];
    for (size_t b = 0; b < job->batch; b++) {
        const uint8_t *row = job->features + n * indices[b];
        float output, change;
        dots(n, row, job->theta, job->v, &output, &change);
        output *= job->scale;
        change *= job->scale;
        float tail = exponential(-absolute(output)), whole = 1 + tail;
        factors[b] = share * (tail / (whole * whole) * change) * job->scale;
    }
    add_rows(n, job, indices, factors, out);
}

/* The oracles and the updates of one step. Pixels have no offset. */
void logistic_compute(const struct job *job)
{
    float *restrict direction = job->direction, *restrict strengths = job->strengths;
    float *restrict theta = job->theta, *restrict v = job->v, *restrict z = job->z;
    float share = 1.0f / (float)job->batch;
    size_t n = N;
    for (size_t i = 0; i < n; i++) {
        strengths[i] = 2 * exponential(job->x[i]);
        float s = -(strengths[i] * theta[i] * v[i]), old = z[i];
        z[i] = old + job->gamma * (s - old);
        job->delta[i] = z[i] - old;
        direction[i] = 0;
    }
    add_hessian_vector(n, job, job->hessian_vector, share, direction);
    for (size_t i = 0; i < n; i++)
        direction[i] += strengths[i] * v[i];
    add_gradient(n, job, job->outer_gradient_inner, -share, direction);
    for (size_t i = 0; i < n; i++) {
        v[i] -= job->lambda * direction[i];
        direction[i] = 0;
    }
    add_gradient(n, job, job->inner_gradient, share, direction);
    for (size_t i = 0; i < n; i++)
        theta[i] -= job->beta * (direction[i] + strengths[i] * theta[i]);
}

void logistic_mix(const struct job *job)
{
    mix_all(N, job);
}
