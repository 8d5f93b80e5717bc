#pragma once
#include <algorithm>
#include <array>
#include <complex>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <tuple>
#include <span>
#include <string>
#include <utility>
#include <stdexcept>
#include <vector>

namespace shapes {
std::vector<int> add(const std::vector<int> &a, const std::vector<int> &b);
std::vector<std::vector<unsigned char>> burn(std::vector<std::vector<unsigned char>> base, std::vector<std::vector<unsigned char>> active);
void scale(std::vector<std::vector<float>> &m, float by);
void scale_by(std::vector<float> &v, const float &by);
void add_to(const std::vector<std::vector<float>> &from, std::vector<std::vector<float>> &to);
void encode(std::string &text, const char &key);
void halve(std::span<float> x);
void squares(const std::vector<int> &x, std::vector<int> &out);
float sum(const float *first, const float *last);
float product(const std::vector<float> &a, const float *__restrict b, std::size_t n);
float dot(const std::array<float, 4> &a, const std::array<float, 4> &b);
struct grid { int rows, cols; float *at; };
void fill(const grid &g, float v);
extern float brightness;
void brighten(std::vector<float> &v);
int tally(const std::vector<int> &v);
std::tuple<double, int, bool> totals(const std::vector<double> &x);
std::pair<int, float> first_over(const std::vector<float> &x, float limit);
struct hit { double at = 7; int which = 7; };
std::optional<hit> nearest(const std::vector<double> &x, double limit);
std::optional<int> place_of(const int *x, int n, int key);
std::complex<float> turned_sum(const std::vector<std::complex<float>> &x, std::complex<float> by);
void steer(std::complex<double> *x, int n, std::complex<double> &sum, const std::complex<double> &by);
struct channel { int number; std::complex<float> gain; };
void turn_up(const channel *c, std::vector<std::complex<float>> &x);
void scaled_without_last(std::vector<int> &v, const int &by);
void appended(const int *x, int n, std::vector<int> &to, int *doubled);
void scaled_rows(std::vector<std::vector<int>> &m, const int &by);
/* What it holds are references. */
class follower {
    const grid &of;
    const int &unused;

public:
    follower(const grid &g) : of(g), unused(g.rows) {}
    void follow(float *out) const;
};
/* What it holds are pointers. */
class stereo {
    float *channel[2];
    int count;

public:
    stereo(float *left, float *right, int n) : channel{left, right}, count(n) {}
    void mono(float *out) const;
};
void halve_words(unsigned char *memory, int n);
class blob {
    void *data;
    int width;
public:
    struct header { int rows; void *more; };
    void *about;
    blob(float *data, int width, header *about) : data(data), width(width), about(about) {}
    float *begin() const { return static_cast<float *>(data); }
    int size() const { return width; }
};
void normalise(const blob &b, float *sums);
enum class found { none, some };
found loudest(const std::vector<float> &x, float &most);
std::vector<float> &made_louder(std::vector<float> &x, float by);
struct track {
    std::vector<float> left, right;
    track &operator*=(float by);
    track *silence();
};
void turn(const float by[2][2], float (&points)[3][2]);
/* Nobody can make one without its size. */
class table {
    std::size_t rows, cols;
    std::vector<int> cells;
    std::array<int, 2> corner{};

public:
    table(std::size_t r, std::size_t c, int v = 0) : rows(r), cols(c), cells(r * c, v) {}
    int &operator()(std::size_t i, std::size_t j) { return cells[i * cols + j]; }
    int operator()(std::size_t i, std::size_t j) const { return cells[i * cols + j]; }
    std::size_t height() const { return rows; }
    int first() const { return corner[0]; }
    friend table transposed(const table &from);
    friend table total_of(const table &a, const table &b);
};
table transposed(const table &from);
table total_of(const table &a, const table &b);
struct order {
    int id;
    double price;
    short amount;
    bool open;
};
double worth(std::span<const order> all);
double gain(const std::vector<order> &all);
void close_all(std::vector<order> &all, double above);
/* Vectors of such structs in a class. */
class book {
    std::vector<order> all;

public:
    explicit book(std::vector<order> of) : all(std::move(of)) {}
    int open_ones() const;
    void raise(double by);
    const order &operator[](std::size_t i) const { return all[i]; }
};
/* Vectors that get shorter, or may; and one of which another one's length is asked. */
void cleared_from(std::vector<float> &a, int k, float *x);
void without_last(std::vector<int> &a);
void appended_and_counted(std::vector<float> &a, const std::vector<float> &b, float *count);
/* Vectors in a class that change their lengths. */
class stage {
    std::vector<float> out;
    float gain = 2;

public:
    void process(const std::vector<float> &in);
    void keep_loud(const std::vector<float> &in);
    void restart(int n);
    const std::vector<float> &result() const { return out; }
};
struct spectrum {
    std::vector<double> re, im;
};
void powers(const spectrum &of, spectrum &into);
/* Objects that are assigned as a whole. */
class matrix {
    int rows_ = 0, cols_ = 0;
    std::vector<double> data_;

public:
    matrix() {}
    matrix(int rows, int cols) : rows_(rows), cols_(cols), data_(rows * cols, 0.0) {}
    matrix(int rows, int cols, std::vector<double> data) : rows_(rows), cols_(cols), data_(std::move(data)) {}
    double &operator()(int i, int j) { return data_[i * cols_ + j]; }
    double operator()(int i, int j) const { return data_[i * cols_ + j]; }
    matrix operator*(const matrix &o) const;
    matrix flipped() const;
    matrix &operator+=(const matrix &o)
    {
        if (rows_ != o.rows_ || cols_ != o.cols_) throw std::invalid_argument("matrix");
        for (std::size_t i = 0; i < data_.size(); i++) data_[i] += o.data_[i];
        return *this;
    }
    int rows() const { return rows_; }
    int cols() const { return cols_; }
    bool operator==(const matrix &) const = default;
};
void remembered(matrix &last, const matrix &t);
void squared(matrix &t);
void flip(matrix &t);
void swapped_in(matrix &a, matrix &b, matrix &c);
/* Objects by value: the caller's stay what they are. */
matrix plus(matrix a, const matrix &b);
matrix less(matrix a, double by);
struct layer {
    matrix weights, seen;
    matrix forward(const matrix &x);
    matrix again();
};
/* What changes where the object is const, and what is returned as a reference to a member. */
class meter {
    double weight = 3;
    mutable double last = 0;
    mutable std::vector<double> scratch;

public:
    double weighted(const std::vector<double> &x) const;
    double seen() const { return last + scratch.size(); }
};
class delay {
    float gain = 2;
    int count = 1;
    std::vector<float> out;

public:
    const std::vector<float> &forward(const std::vector<float> &x);
    int &counted(const std::vector<int> &x);
};
std::vector<double> &doubled(spectrum *s);
/* Results that go to where a pointer points. */
void smoothed(const std::vector<float> *x, std::vector<float> *out);
std::vector<int> *kept(const std::vector<int> &x, int above, std::vector<int> *out);
void summed(const std::vector<std::vector<double>> *rows, std::array<double, 3> *sums);
void raised(std::vector<order> *all, double by);
void masked(std::string *text, char by);
struct canvas {
    int n;
    std::unique_ptr<float[]> light;
    std::unique_ptr<const float[]> by;
};
void shade(canvas &c);
float brightest(const canvas &c);
void down(const float *const *in, float *out, int n);
double mean_between(std::vector<double>::const_iterator first, std::vector<double>::const_iterator last);
void scaled_between(std::vector<float>::iterator first, std::vector<float>::iterator last, float by);
float largest_between(const float *first, const float *last);
struct lines {
    std::span<float> data;
    std::size_t rows, columns;
    std::span<float> line(std::size_t r) const { return data.subspan(r * columns, columns); }
};
void centre(lines m, std::span<const float> by);
float calibrated(const std::vector<float> &x);
/* Accessors that look at where they are asked for. */
class board {
    int w_, h_;
    std::vector<int> cells_;

    void check(int x, int y) const
    {
        if (x < 0 || y < 0 || x >= w_ || y >= h_) throw std::out_of_range("board");
    }

public:
    board(int w, int h, int v) : w_(w), h_(h), cells_(std::size_t(w) * h, v) {}
    int width() const { return w_; }
    int height() const { return h_; }
    bool inside(int x, int y) const { return x >= 0 && y >= 0 && x < w_ && y < h_; }
    int &at(int x, int y)
    {
        check(x, y);
        const int place = y * w_ + x;
        return cells_[place];
    }
    const int &at(int x, int y) const
    {
        if (!inside(x, y)) throw std::out_of_range("board");
        return cells_[y * w_ + x];
    }
    const int &near(int x, int y) const
    {
        if (x < 0) x = 0;
        if (x >= w_) x = w_ - 1;
        return cells_[y * w_ + x];
    }
};
int row_sum(const board &b, int from, int to);
void blurred(const board &b, board &out);
void relaxed(std::vector<double> &u, double rate, double by);
}
