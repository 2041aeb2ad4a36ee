/* A step of a shared sigmoid layer with a personal softmax head: plain C, for comparison. */
#include "common.h"

#define WIDTH SIZE(width, 16)
#define HIDDEN SIZE(hidden, 8)
#define CLASSES SIZE(classes, 4)

/* One sample on its way through the network. */
struct sample {
    float *values; /* less the offset, not yet scaled */
    float *hidden, *probabilities, *change, *pull;
};

/* A short scalar product: lanes beyond the end would stay zero, and are left out of the sum. */
static float short_dot(size_t n, const float *restrict a, const float *restrict b)
{
    float lanes[LANES];
    size_t used = 1;
    while (used < n)
        used *= 2;
    for (size_t i = 0; i < n; i++)
        lanes[i] = a[i] * b[i];
    for (size_t i = n; i < used; i++)
        lanes[i] = 0;
    return add_lanes(lanes, used);
}

static float dot(size_t n, const float *restrict a, const float *restrict b)
{
    if (n < LANES)
        return short_dot(n, a, b);
    float lanes[LANES];
    for (size_t j = 0; j < LANES; j++)
        lanes[j] = a[j] * b[j];
    for (a += LANES, b += LANES, n -= LANES; n >= LANES; a += LANES, b += LANES, n -= LANES)
        for (size_t j = 0; j < LANES; j++)
            lanes[j] += a[j] * b[j];
    if (n > 0)
        for (size_t j = 0; j < LANES; j++)
            lanes[j] += j < n ? a[j] * b[j] : 0;
    return add_lanes(lanes, LANES);
}

static void add_multiple(size_t n, float factor, const float *restrict a, float *restrict out)
{
    for (size_t i = 0; i < n; i++)
        out[i] += factor * a[i];
}

/* Parameters are the weights of a layer, row after row, and its biases. */
static void through_head(const struct job *job, const float *head, const float *hidden, float *out)
{
    const float *biases = head + CLASSES * HIDDEN;
    for (size_t c = 0; c < CLASSES; c++)
        out[c] = dot(HIDDEN, head + c * HIDDEN, hidden) + biases[c];
}

static void forward(const struct job *job, uint32_t index, const struct sample *sample)
{
    const uint8_t *row = job->features + WIDTH * index;
    const float *biases = job->x + HIDDEN * WIDTH;
    for (size_t i = 0; i < WIDTH; i++)
        sample->values[i] = (float)row[i] - job->offset;
    for (size_t h = 0; h < HIDDEN; h++) {
        float sum = job->scale * dot(WIDTH, sample->values, job->x + h * WIDTH);
        sample->hidden[h] = sigmoid(sum + biases[h]);
    }
    float *p = sample->probabilities, total = 0;
    through_head(job, job->theta, sample->hidden, p);
    float top = p[0];
    for (size_t c = 1; c < CLASSES; c++)
        if (p[c] > top)
            top = p[c];
    for (size_t c = 0; c < CLASSES; c++) {
        p[c] = exponential(p[c] - top);
        total += p[c];
    }
    for (size_t c = 0; c < CLASSES; c++)
        p[c] /= total;
}

/* How the probabilities change with theta along v. */
static void change_along_v(const struct job *job, const struct sample *sample)
{
    through_head(job, job->v, sample->hidden, sample->change);
    float mean = dot(CLASSES, sample->probabilities, sample->change);
    for (size_t c = 0; c < CLASSES; c++)
        sample->change[c] = sample->probabilities[c] * (sample->change[c] - mean);
}

static void add_to_head(const struct job *job, float share, const float *coefficients, const float *hidden, float *out)
{
    float *biases = out + CLASSES * HIDDEN;
    for (size_t c = 0; c < CLASSES; c++) {
        float factor = share * coefficients[c];
        add_multiple(HIDDEN, factor, hidden, out + c * HIDDEN);
        biases[c] += factor;
    }
}

static float back_through_head(const struct job *job, const float *head, size_t h, const float *over_classes)
{
    float sum = 0;
    for (size_t c = 0; c < CLASSES; c++)
        sum += head[c * HIDDEN + h] * over_classes[c];
    return sum;
}

static void add_to_layer(const struct job *job, float share, const struct sample *sample, float *out)
{
    float *biases = out + HIDDEN * WIDTH;
    for (size_t h = 0; h < HIDDEN; h++) {
        float s = sample->hidden[h], slope = share * (sample->pull[h] * (s * (1 - s)));
        add_multiple(WIDTH, slope * job->scale, sample->values, out + h * WIDTH);
        biases[h] += slope;
    }
}

static void add_head_gradient(const struct job *job, const uint32_t *indices, float share, const struct sample *sample,
                              float *out)
{
    for (size_t b = 0; b < job->batch; b++) {
        forward(job, indices[b], sample);
        sample->probabilities[job->labels[indices[b]]] -= 1;
        add_to_head(job, share, sample->probabilities, sample->hidden, out);
    }
}

static void clear(size_t n, float *a)
{
    for (size_t i = 0; i < n; i++)
        a[i] = 0;
}

/* The oracles and the updates of one step. */
void shared_layer_compute(const struct job *job)
{
    size_t n = HIDDEN * (WIDTH + 1), p = CLASSES * (HIDDEN + 1);
    float values[WIDTH], hidden[HIDDEN], pull[HIDDEN], probabilities[CLASSES], change[CLASSES];
    struct sample sample = { values, hidden, probabilities, change, pull };
    float share = 1.0f / (float)job->batch;
    float *s = job->delta, *z = job->z, *direction = job->direction, *theta = job->theta, *v = job->v;

    clear(n, s);
    for (size_t b = 0; b < job->batch; b++) {
        uint32_t index = job->outer_gradient_outer[b];
        forward(job, index, &sample);
        probabilities[job->labels[index]] -= 1;
        for (size_t h = 0; h < HIDDEN; h++)
            pull[h] = back_through_head(job, theta, h, probabilities);
        add_to_layer(job, share, &sample, s);
    }
    for (size_t b = 0; b < job->batch; b++) {
        uint32_t index = job->cross_vector[b];
        forward(job, index, &sample);
        change_along_v(job, &sample);
        probabilities[job->labels[index]] -= 1;
        for (size_t h = 0; h < HIDDEN; h++)
            pull[h] = back_through_head(job, v, h, probabilities) + back_through_head(job, theta, h, change);
        add_to_layer(job, -share, &sample, s);
    }
    for (size_t i = 0; i < n; i++) {
        float old = z[i];
        z[i] = old + job->gamma * (s[i] - old);
        s[i] = z[i] - old;
    }

    clear(p, direction);
    for (size_t b = 0; b < job->batch; b++) {
        forward(job, job->hessian_vector[b], &sample);
        change_along_v(job, &sample);
        add_to_head(job, share, change, hidden, direction);
    }
    add_multiple(p, job->mu, v, direction);
    add_head_gradient(job, job->outer_gradient_inner, -share, &sample, direction);
    for (size_t i = 0; i < p; i++)
        v[i] -= job->lambda * direction[i];
    clear(p, direction);
    add_head_gradient(job, job->inner_gradient, share, &sample, direction);
    for (size_t i = 0; i < p; i++)
        theta[i] -= job->beta * (direction[i] + job->mu * theta[i]);
}

void shared_layer_mix(const struct job *job)
{
    mix_all(HIDDEN * (WIDTH + 1), job);
}
