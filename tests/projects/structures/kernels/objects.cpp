#include "objects.hpp"
#include "tensorize.h"
#include <cstddef>
#include <stdexcept>
#include <string>

namespace shapes {

TENSORIZE_KERNEL
std::vector<int> add(const std::vector<int> &a, const std::vector<int> &b)
{
    std::vector<int> out;
    for (std::size_t i = 0; i < a.size(); i++) out.push_back(a[i] + b[i]);
    return out;
}

TENSORIZE_KERNEL
std::vector<std::vector<unsigned char>> burn(std::vector<std::vector<unsigned char>> base, std::vector<std::vector<unsigned char>> active)
{
    std::vector<std::vector<unsigned char>> out;
    int m = base.size();
    int n = base[0].size();
    for (int row = 0; row < m; row++) {
        std::vector<unsigned char> v;
        for (int col = 0; col < n; col++) v.push_back(base[row][col] / 2 + active[row][col] / 2);
        out.push_back(v);
    }
    return out;
}

TENSORIZE_KERNEL
void scale(std::vector<std::vector<float>> &m, float by)
{
    for (auto &row : m)
        for (auto &x : row) x *= by;
}

TENSORIZE_KERNEL
void add_to(const std::vector<std::vector<float>> &from, std::vector<std::vector<float>> &to)
{
    for (std::size_t i = 0; i < from.size(); i++)
        for (std::size_t j = 0; j < from[i].size(); j++) to[i][j] += from[i][j];
}

TENSORIZE_KERNEL
void halve(std::span<float> x)
{
    for (auto &v : x) v /= 2;
}

TENSORIZE_KERNEL
void squares(const std::vector<int> &x, std::vector<int> &out)
{
    out.clear();
    for (int v : x) out.push_back(v * v);
}

TENSORIZE_KERNEL
float sum(const float *first, const float *last)
{
    float s = 0;
    for (; first != last; ++first) s += *first;
    return s;
}

TENSORIZE_KERNEL
float dot(const std::array<float, 4> &a, const std::array<float, 4> &b)
{
    float s = 0;
    for (int i = 0; i < 4; i++) s += a[i] * b[i];
    return s;
}

TENSORIZE_KERNEL
void fill(const grid &g, float v)
{
    for (int i = 0; i < g.rows; i++)
        for (int j = 0; j < g.cols; j++) g.at[i * g.cols + j] = v;
}

float brightness = 1;
namespace {
int total;
}

TENSORIZE_KERNEL
void brighten(std::vector<float> &v)
{
    for (auto &x : v) x *= brightness;
}

TENSORIZE_KERNEL
int tally(const std::vector<int> &v)
{
    for (std::size_t i = 0; i < v.size(); i++) total += v[i];
    return total;
}

TENSORIZE_KERNEL
float product(const std::vector<float> &a, const float *__restrict b, std::size_t n)
{
    if (a.size() != n)
        throw std::invalid_argument("sizes differ: " + std::to_string(a.size()));
    float s = 0;
    for (std::size_t i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

TENSORIZE_KERNEL
void encode(std::string &text, const char &key)
{
    for (char &c : text) c ^= key;
}

TENSORIZE_KERNEL
void scale_by(std::vector<float> &v, const float &by)
{
    for (float &x : v) x *= by;
}

TENSORIZE_KERNEL
std::tuple<double, int, bool> totals(const std::vector<double> &x)
{
    double sum = 0;
    int positive = 0;
    for (double v : x) {
        sum += v;
        positive += v > 0;
    }
    return {sum, positive, positive > 2};
}

TENSORIZE_KERNEL
std::pair<int, float> first_over(const std::vector<float> &x, float limit)
{
    for (std::size_t i = 0; i < x.size(); i++)
        if (x[i] > limit) return {(int)i, x[i]};
    return std::make_pair(-1, 0.0f);
}

TENSORIZE_KERNEL
void turn(const float by[2][2], float (&points)[3][2])
{
    for (float (&point)[2] : points) {
        auto [x, y] = std::make_pair(point[0], point[1]);
        point[0] = by[0][0] * x + by[0][1] * y;
        point[1] = by[1][0] * x + by[1][1] * y;
    }
}

TENSORIZE_KERNEL
table transposed(const table &from)
{
    table t(from.cols, from.rows);
    for (std::size_t i = 0; i < from.rows; i++)
        for (std::size_t j = 0; j < from.cols; j++) t(j, i) = from(i, j);
    t.corner[0] = 7;
    return t;
}

TENSORIZE_KERNEL
table total_of(const table &a, const table &b)
{
    if (a.rows != b.rows || a.cols != b.cols) throw std::invalid_argument("sizes differ");
    table t(a.rows, a.cols, 1);
    for (std::size_t i = 0; i < a.rows; i++)
        for (std::size_t j = 0; j < a.cols; j++) t(i, j) = a(i, j) + b(i, j);
    return t;
}

TENSORIZE_KERNEL
std::optional<hit> nearest(const std::vector<double> &x, double limit)
{
    std::optional<hit> best;
    for (std::size_t i = 0; i < x.size(); i++)
        if (x[i] < limit && (!best || x[i] < best->at)) best = hit{x[i], (int)i};
    return best;
}

TENSORIZE_KERNEL
std::complex<float> turned_sum(const std::vector<std::complex<float>> &x, std::complex<float> by)
{
    std::complex<float> sum = 0;
    for (const auto &z : x) sum += z * by;
    return sum;
}

TENSORIZE_KERNEL
void steer(std::complex<double> *x, int n, std::complex<double> &sum, const std::complex<double> &by)
{
    for (int i = 0; i < n; i++) {
        x[i] *= by;
        sum += x[i];
    }
}

TENSORIZE_KERNEL
void scaled_without_last(std::vector<int> &v, const int &by)
{
    v.pop_back();
    for (int &x : v) x *= by;
}

TENSORIZE_KERNEL
void appended(const int *x, int n, std::vector<int> &to, int *doubled)
{
    for (int i = 0; i < n; i++) {
        to.push_back(x[i]);
        doubled[i] = x[i] * 2;
    }
}

TENSORIZE_KERNEL
void scaled_rows(std::vector<std::vector<int>> &m, const int &by)
{
    for (auto &row : m)
        for (int &x : row) x *= by;
}

TENSORIZE_KERNEL
void follower::follow(float *out) const
{
    for (int i = 0; i < of.rows; i++) out[i] = of.at[i * of.cols] + 1;
}

TENSORIZE_KERNEL
void stereo::mono(float *out) const
{
    for (int i = 0; i < count; i++) {
        float sum = 0;
        for (std::size_t c = 0; c < std::size(channel); c++) sum += channel[c][i];
        out[i] = sum / 2;
    }
}

TENSORIZE_KERNEL
void halve_words(unsigned char *memory, int n)
{
    auto *words = reinterpret_cast<short *>(memory);
    for (int i = 0; i < n; i++) words[i] = words[i] / 2;
}

TENSORIZE_KERNEL
void normalise(const blob &b, float *sums)
{
    const auto *h = static_cast<const blob::header *>(b.about);
    const float *by = reinterpret_cast<const float *>(h->more);
    for (int k = 0; k < h->rows; k++) {
        float *at = b.begin() + k * b.size(), sum = 0;
        for (int i = 0; i < b.size(); i++) sum += at[i] * by[i];
        sums[k] = sum;
    }
}

TENSORIZE_KERNEL
found loudest(const std::vector<float> &x, float &most)
{
    if (x.empty()) return found::none;
    most = x[0];
    for (float v : x) most = v > most ? v : most;
    return found::some;
}

TENSORIZE_KERNEL
std::vector<float> &made_louder(std::vector<float> &x, float by)
{
    for (float &v : x) v *= by;
    return x;
}

TENSORIZE_KERNEL
track &track::operator*=(float by)
{
    for (float &v : left) v *= by;
    for (float &v : right) v *= by;
    return *this;
}

TENSORIZE_KERNEL
track *track::silence()
{
    for (float &v : left) v = 0;
    return this;
}

TENSORIZE_KERNEL
void turn_up(const channel *c, std::vector<std::complex<float>> &x)
{
    for (auto &z : x) z = c->gain * z;
}

TENSORIZE_KERNEL
std::optional<int> place_of(const int *x, int n, int key)
{
    for (int i = 0; i < n; i++)
        if (x[i] == key) return i;
    return std::nullopt;
}

TENSORIZE_KERNEL
double worth(std::span<const order> all)
{
    double sum = 0;
    for (const auto &o : all)
        if (o.open) sum += o.price * o.amount;
    return sum;
}

TENSORIZE_KERNEL
double gain(const std::vector<order> &all)
{
    return all[1].price - all[0].price;
}

TENSORIZE_KERNEL
void close_all(std::vector<order> &all, double above)
{
    for (auto &o : all) {
        if (o.price > above) o.open = false;
        o.amount = o.amount / 2;
    }
}

TENSORIZE_KERNEL
int book::open_ones() const
{
    int n = 0;
    for (const auto &o : all) n += o.open;
    return n;
}

TENSORIZE_KERNEL
void book::raise(double by)
{
    for (auto &o : all) {
        o.price *= by;
        o.amount += 1;
    }
}

TENSORIZE_KERNEL
void cleared_from(std::vector<float> &a, int k, float *x)
{
    x[0] = 1;
    if (k > 3) a.clear();
}

TENSORIZE_KERNEL
void without_last(std::vector<int> &a)
{
    a.pop_back();
    a[0] = 1;
}

TENSORIZE_KERNEL
void appended_and_counted(std::vector<float> &a, const std::vector<float> &b, float *count)
{
    a.push_back(1);
    count[0] = b.size();
}

TENSORIZE_KERNEL
void stage::process(const std::vector<float> &in)
{
    out.resize(in.size());
    for (std::size_t i = 0; i < in.size(); i++) out[i] = gain * in[i];
}

TENSORIZE_KERNEL
void stage::keep_loud(const std::vector<float> &in)
{
    for (float v : in)
        if (v > gain) out.push_back(v);
}

TENSORIZE_KERNEL
void stage::restart(int n)
{
    out.clear();
    if (n < 1) return;
    for (int i = 0; i < n; i++) out.push_back(gain * i);
}

matrix matrix::operator*(const matrix &o) const
{
    matrix out(rows_, o.cols_);
    for (int i = 0; i < rows_; i++)
        for (int j = 0; j < o.cols_; j++) {
            double sum = 0;
            for (int k = 0; k < cols_; k++) sum += (*this)(i, k) * o(k, j);
            out(i, j) = sum;
        }
    return out;
}

matrix matrix::flipped() const
{
    matrix out(cols_, rows_);
    for (int i = 0; i < rows_; i++)
        for (int j = 0; j < cols_; j++) out(j, i) = (*this)(i, j);
    return out;
}

TENSORIZE_KERNEL
void flip(matrix &t)
{
    t = t.flipped();
}

TENSORIZE_KERNEL
void remembered(matrix &last, const matrix &t)
{
    last = t;
}

TENSORIZE_KERNEL
void squared(matrix &t)
{
    t = t * t;
}

TENSORIZE_KERNEL
void swapped_in(matrix &a, matrix &b, matrix &c)
{
    a = b;
    b = c;
}

TENSORIZE_KERNEL
matrix layer::forward(const matrix &x)
{
    seen = x;
    return x * weights;
}

TENSORIZE_KERNEL
matrix layer::again()
{
    return seen * weights;
}

TENSORIZE_KERNEL
void powers(const spectrum &of, spectrum &into)
{
    into.re.resize(of.re.size());
    into.im.resize(of.re.size());
    for (std::size_t i = 0; i < of.re.size(); i++) {
        into.re[i] = of.re[i] * of.re[i] + of.im[i] * of.im[i];
        into.im[i] = 0;
    }
}

TENSORIZE_KERNEL
void shade(canvas &c)
{
    for (int i = 0; i < c.n; i++)
        c.light[i] *= c.by.get()[i];
}

TENSORIZE_KERNEL
float brightest(const canvas &c)
{
    if (!c.light) return -1;
    float most = 0;
    for (int i = 0; i < c.n; i++)
        most = c.light[i] > most ? c.light[i] : most;
    return most;
}

TENSORIZE_KERNEL
void down(const float *const *in, float *out, int n)
{
    const float *l = in[0], *r = in[1];
    for (int i = 0; i < n; i++)
        out[i] = (l[i] + r[i]) / 2;
}

TENSORIZE_KERNEL
double mean_between(std::vector<double>::const_iterator first, std::vector<double>::const_iterator last)
{
    const auto n = std::distance(first, last);
    return n == 0 ? 0 : std::accumulate(first, last, 0.0) / static_cast<double>(n);
}

TENSORIZE_KERNEL
void scaled_between(std::vector<float>::iterator first, std::vector<float>::iterator last, float by)
{
    for (; first != last; ++first)
        *first *= by;
}

TENSORIZE_KERNEL
float largest_between(const float *first, const float *last)
{
    return *std::max_element(first, last);
}

TENSORIZE_KERNEL
void centre(lines m, std::span<const float> by)
{
    for (std::size_t r = 0; r < m.rows; r++) {
        auto line = m.line(r);
        for (std::size_t c = 0; c < m.columns; c++)
            line[c] -= by[r];
    }
}

namespace {
const struct {
    const char *name;
    float gain;
    int bias;
} calibration[] = {{"cold", 2, 1}, {"warm", 4, 3}};
}

TENSORIZE_KERNEL
float calibrated(const std::vector<float> &x)
{
    float sum = 0;
    for (float v : x) sum += v * calibration[1].gain + calibration[0].bias;
    return sum;
}

TENSORIZE_KERNEL
double meter::weighted(const std::vector<double> &x) const
{
    scratch.resize(x.size());
    std::transform(x.begin(), x.end(), scratch.begin(), [this](double v) { return v * weight; });
    last = std::accumulate(scratch.begin(), scratch.end(), 0.0);
    return last;
}

TENSORIZE_KERNEL
const std::vector<float> &delay::forward(const std::vector<float> &x)
{
    out.assign(x.size(), 0.0f);
    for (std::size_t i = 1; i < x.size(); i++) out[i] = gain * x[i - 1];
    return out;
}

TENSORIZE_KERNEL
int &delay::counted(const std::vector<int> &x)
{
    for (int v : x) count += v;
    return count;
}

TENSORIZE_KERNEL
std::vector<double> &doubled(spectrum *s)
{
    for (double &v : s->im) v *= 2;
    return s->im;
}

TENSORIZE_KERNEL
void smoothed(const std::vector<float> *x, std::vector<float> *out)
{
    if (!x || !out) return;
    out->assign(x->size(), 0.0f);
    for (std::size_t i = 1; i + 1 < x->size(); i++)
        (*out)[i] = ((*x)[i - 1] + (*x)[i + 1]) / 2;
}

TENSORIZE_KERNEL
std::vector<int> *kept(const std::vector<int> &x, int above, std::vector<int> *out)
{
    for (int v : x)
        if (v > above) out->push_back(v);
    return out;
}

TENSORIZE_KERNEL
void summed(const std::vector<std::vector<double>> *rows, std::array<double, 3> *sums)
{
    for (int k = 0; k < 3; k++) {
        double sum = 0;
        for (const auto &row : *rows) sum += row[k];
        (*sums)[k] = sum;
    }
}

TENSORIZE_KERNEL
void raised(std::vector<order> *all, double by)
{
    for (auto &o : *all)
        if (o.open) o.price *= by;
}

TENSORIZE_KERNEL
void masked(std::string *text, char by)
{
    for (auto &c : *text) c ^= by;
}

TENSORIZE_KERNEL
matrix plus(matrix a, const matrix &b)
{
    return a += b;
}

TENSORIZE_KERNEL
matrix less(matrix a, double by)
{
    for (int i = 0; i < a.rows(); i++)
        for (int j = 0; j < a.cols(); j++) a(i, j) -= by;
    return a;
}

TENSORIZE_KERNEL
int row_sum(const board &b, int from, int to)
{
    int sum = 0;
    for (int y = from; y < to; y++)
        for (int x = 0; x < b.width(); x++) sum += b.at(x, y);
    return sum;
}

TENSORIZE_KERNEL
void blurred(const board &b, board &out)
{
    for (int y = 0; y < b.height(); y++)
        for (int x = 0; x < b.width(); x++) out.at(x, y) = b.near(x - 1, y) + b.at(x, y) + b.near(x + 1, y);
}

TENSORIZE_KERNEL
void relaxed(std::vector<double> &u, double rate, double by)
{
    const double r = rate * by;
    if (r > 0.5) throw std::invalid_argument("rate");
    if (!(rate > 0)) throw std::invalid_argument("rate");
    std::vector<double> next(u);
    for (std::size_t i = 1; i + 1 < u.size(); i++) next[i] = u[i] + r * (u[i + 1] - 2 * u[i] + u[i - 1]);
    u.swap(next);
}

}
