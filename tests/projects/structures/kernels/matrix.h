#ifndef MATRIX_H
#define MATRIX_H
typedef struct { int rows, cols; float **vals; } matrix;
typedef struct { int h, w, c; float *data; } image;
struct stats { float scale; int n; float sum; };
void scale_matrix(matrix *m, float scale);
void matrix_add_matrix(matrix from, matrix to);
void scale_image(image m, float s);
int add_bias(float *y, const float *x, const float *b, int n);
float sum_range(const float *p, const float *end);
struct range { float lo, hi; int n; };
struct range range_of(const float *x, int n);
void total(struct stats *s, const float *x);
void daxpy_(const int *n, const double *alpha, const double *x, double *y);
float mean_over(const long dims[], const float *x);
void shift_rows(int **m, int rows, int cols, const int *by);
struct block { int dims[3]; int *at; };
void fill_block(const struct block *b, int value);
#endif
