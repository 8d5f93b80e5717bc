#ifndef PARTICLES_H
#define PARTICLES_H

struct particle {
    float at[3], by[3];
    char alive;
    double weight;
    struct particle *next;
};

void advance(struct particle *p, int n, float dt);
void shifted(struct particle *to, const struct particle *from, int n);
/* Gives back what it got. */
void *louder(void *samples, int n);

#endif
