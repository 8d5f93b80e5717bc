/* A term of a flat sum, from this element on, in rows of COLS elements. */
static struct term in_rows(struct term t, size_t from) {
    t.at = (const char *)t.at + from * t.step;
    t.pitch = COLS * t.step;
    return t;
}
