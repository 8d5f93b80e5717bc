/* What looks at its data as it goes. */
int until_negative(const int *x, int *y, int n);
