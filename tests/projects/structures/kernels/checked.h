/* What looks at its data as it goes. */
int until_negative(const int *x, int *y, int n);
int count_until_unknown(const unsigned short *label, int n, unsigned *bins, int labels);
