#include <cmath>
#include "objects.hpp"
#include <stdexcept>
#include <string>

using namespace shapes;

/* Not zero if something went wrong. */
extern "C" int calls_from_cpp(int which)
{
    std::vector<int> a{1, 2, 3, 4}, b{10, 20, 30, 40};
    std::vector<std::vector<float>> m(3, std::vector<float>(4, 1.5f));
    switch (which) {
    case 0: return add(a, b) != std::vector<int>{11, 22, 33, 44};
    case 1: return !add({}, {}).empty();
    case 2: {
        auto r = burn({{10, 20}, {30, 40}}, {{2, 2}, {4, 4}});
        return r != std::vector<std::vector<unsigned char>>{{6, 11}, {17, 22}};
    }
    case 3: scale(m, 2); return m != std::vector<std::vector<float>>(3, std::vector<float>(4, 3));
    case 4: {
        m[1].resize(2); // ragged
        scale(m, 2);
        return m[0][3] != 3 || m[1][1] != 3 || m[2][0] != 3;
    }
    case 5: {
        std::vector<float> x{2, 4, 6};
        halve(std::span<float>(x).subspan(1));
        return x != std::vector<float>{2, 2, 3};
    }
    case 6: {
        std::vector<int> out{7, 7, 7, 7, 7, 7};
        squares(a, out);
        return out != std::vector<int>{1, 4, 9, 16};
    }
    case 7: {
        squares(b, b); // the same vector
        return !b.empty();
    }
    case 8: {
        float x[] = {1, 2, 3};
        return sum(x, x + 3) != 6 || sum(x, x) != 0 || sum(nullptr, nullptr) != 0;
    }
    case 9: return dot({1, 2, 3, 4}, {1, 1, 1, 1}) != 10;
    case 10: {
        float x[6] = {};
        fill({2, 3, x}, 5);
        return x[0] != 5 || x[5] != 5;
    }
    case 11: {
        std::vector<std::vector<float>> none;
        scale(none, 2);
        scale(none = {{}, {}}, 2);
        return none.size() != 2;
    }
    case 12: {
        // A row that is one of another matrix, too: what one writes the other one reads.
        std::vector<std::vector<float>> same(2, std::vector<float>(2, 1));
        add_to(same, same);
        return same != std::vector<std::vector<float>>(2, std::vector<float>(2, 2));
    }
    case 13: {
        std::vector<float> v{1, 2};
        brightness = 3;
        brighten(v);
        brightness = 2;
        brighten(v);
        return v != std::vector<float>{6, 12};
    }
    case 15: {
        auto found = first_over({1, 5, 3, 7}, 2), none = first_over({}, 0);
        auto [sum, positive, many] = totals({1, -2, 4.5, 3});
        if (sum != 6.5 || positive != 3 || !many || totals({}) != std::make_tuple(0.0, 0, false)) return 1;
        return found != std::make_pair(1, 5.0f) || none.first != -1;
    }
    case 16: {
        std::vector<float> v{2, 3};
        scale_by(v, 3);
        scale_by(v, v[0]); // the first of them changes what the second is multiplied by
        return v != std::vector<float>{36, 324};
    }
    case 17: {
        float by[2][2] = {{0, -1}, {1, 0}}, points[3][2] = {{1, 0}, {0, 1}, {2, 3}};
        turn(by, points);
        return points[0][1] != 1 || points[1][0] != -1 || points[2][0] != -3 || points[2][1] != 2;
    }
    case 18: {
        std::vector<float> v{1, 2, 3};
        float w[] = {4, 5, 6};
        return product(v, w, 3) != 32;
    }
    case 19: {
        std::vector<float> v{1, 2, 3};
        float w[] = {4, 5, 6};
        try {
            product(v, w, 2);
            return 1;
        } catch (const std::invalid_argument &e) {
            return std::string(e.what()) != "sizes differ: 3";
        }
    }
    case 20: {
        table t(2, 3, 5);
        t(0, 1) = 9;
        table u = transposed(t), none = transposed(table(0, 4));
        return u.height() != 3 || u(1, 0) != 9 || u(2, 1) != 5 || u.first() != 7 || none.height() != 4;
    }
    case 21: {
        table t(2, 2, 5), u = total_of(t, t);
        try {
            total_of(table(1, 2), t);
            return 1;
        } catch (const std::invalid_argument &) {
            return u(1, 1) != 10;
        }
    }
    case 22: {
        // What is short lies within the string itself.
        std::string shorter = "abc", longer(100, 'a'), none;
        encode(shorter, 1);
        encode(longer, 1);
        encode(none, 1);
        bool fine = shorter == "`cb" && longer == std::string(100, '`') && none.empty();
        encode(shorter, shorter[0]); // the first of them changes what the others are changed by
        return !fine || shorter != std::string("\0cb", 3);
    }
    case 23: {
        std::vector<order> all{{1, 2.5, 4, true}, {2, 100, 7, false}, {3, 8, 5, true}}, none;
        if (worth(all) != 50 || worth(none) != 0 || gain(all) != 97.5) return 1;
        close_all(all, 3);
        close_all(none, 3);
        return !all[0].open || all[0].amount != 2 || all[0].price != 2.5 || all[2].open || all[2].amount != 2 || all[2].id != 3;
    }
    case 24: {
        auto found = nearest({5, 3, 4}, 9), none = nearest({5, 3, 4}, 2), empty = nearest({}, 2);
        int x[] = {7, 8, 9};
        return !found || found->at != 3 || found->which != 1 || none || empty || place_of(x, 3, 9) != 2 || place_of(x, 2, 9);
    }
    case 25: {
        using namespace std::complex_literals;
        std::vector<std::complex<double>> x{1.0, 2i, 3.0 - 1i};
        std::vector<std::complex<float>> y{{1, 2}, {3, 4}}, none;
        std::complex<double> sum = 5, by = 1i;
        channel c{7, {0, 2}};
        steer(x.data(), 3, sum, by);
        turn_up(&c, y);
        if (x[0] != 1i || x[1] != -2.0 || x[2] != 1.0 + 3i || sum != 4.0 + 4i) return 1;
        if (y[0] != std::complex<float>(-4, 2) || y[1] != std::complex<float>(-8, 6)) return 1;
        // What the sum is multiplied by is one of the numbers that change.
        std::complex<double> all = 0;
        steer(x.data(), 3, all, x[1]);
        if (x[0] != -2i || x[1] != 4.0 || x[2] != 4.0 + 12i) return 1;
        return turned_sum(y, {0, 1}) != std::complex<float>(-8, -12) || turned_sum(none, 1) != 0.0f;
    }
    case 29: {
        float m[] = {1, 2, 3, 4, 5, 6}, by[] = {1, 10, 100}, sums[2];
        blob::header h{2, by};
        blob b(m, 3, &h);
        normalise(b, sums);
        if (sums[0] != 321 || sums[1] != 654) return 1;
        // The number of rows is one of the sums.
        union { blob::header h; float f[2]; } u{{1, by}};
        b.about = &u.h;
        normalise(b, u.f);
        return u.f[0] != 321;
    }
    case 28: {
        float m[] = {1, 2, 3, 4, 5, 6}, out[3] = {0, 0, 9};
        short words[] = {4, -6};
        grid g{2, 3, m};
        follower(g).follow(out);
        halve_words(reinterpret_cast<unsigned char *>(words), 2);
        return out[0] != 2 || out[1] != 5 || out[2] != 9 || words[0] != 2 || words[1] != -3;
    }
    case 27: {
        // Each with arguments that are apart, and then with one that lies in the vector.
        const int three = 3, x[] = {7, 8};
        std::vector<int> v{2, 3, 4, 5}, w{1, 2, 3, 4}, expected{1, 2, 3, 4, 7, 8};
        scaled_without_last(v, three);
        scaled_without_last(v, v[0]);
        if (v != std::vector<int>{36, 324}) return 1;
        w.reserve(50);
        int doubled[2];
        appended(x, 2, w, doubled);
        if (w != expected || doubled[1] != 16) return 1;
        appended(x, 2, w, w.data());
        if (w != std::vector<int>{14, 16, 3, 4, 7, 8, 7, 8}) return 1;
        std::vector<std::vector<int>> m{{1, 2}, {3, 4}};
        scaled_rows(m, three);
        scaled_rows(m, m[0][1]);
        return m != std::vector<std::vector<int>>{{18, 36}, {324, 432}};
    }
    case 26: {
        std::vector<float> v{1, -2, 3}, none;
        float most = 7;
        if (loudest(none, most) != found::none || most != 7 || loudest(v, most) != found::some || most != 3) return 1;
        if (&made_louder(v, 2) != &v || v[1] != -4 || &made_louder(none, 2) != &none) return 1;
        track t{{1, 2}, {3}};
        if (&((t *= 2) *= 3) != &t || t.left[1] != 12 || t.right[0] != 18) return 1;
        return t.silence() != &t || t.left[0] != 0 || t.right[0] != 18;
    }
    case 30: {
        canvas c{3, std::make_unique<float[]>(3), std::unique_ptr<const float[]>(new float[3]{2, 3, 4})}, none{0, nullptr, nullptr};
        c.light[0] = 5, c.light[2] = -1;
        shade(c);
        shade(none);
        return c.light[0] != 10 || c.light[1] != 0 || c.light[2] != -4 || c.by[2] != 4 || brightest(c) != 10 || brightest(none) != -1;
    }
    case 31: {
        float left[] = {2, 4, 6}, right[] = {4, 8, 0}, out[3];
        stereo(left, right, 3).mono(out);
        if (out[0] != 3 || out[2] != 3) return 1;
        stereo(right, left, 3).mono(left);
        return left[0] != 3 || left[1] != 6;
    }
    case 32: {
        float left[] = {2, 4, 6}, right[] = {4, 8, 0}, out[3];
        const float *in[] = {left, right};
        down(in, out, 3);
        if (out[0] != 3 || out[2] != 3) return 1;
        down(in, reinterpret_cast<float *>(&in[1]), 1);
        return *reinterpret_cast<float *>(&in[1]) != 3;
    }
    case 33: {
        const std::vector<double> x{1, 2, 6, 100};
        if (mean_between(x.begin(), x.begin() + 3) != 3 || mean_between(x.begin() + 3, x.end()) != 100) return 1;
        if (mean_between(x.end(), x.end()) != 0) return 1;
        std::vector<float> y{1, 2, 3, 4};
        scaled_between(y.begin() + 1, y.end() - 1, 10);
        scaled_between(y.end(), y.end(), 10);
        if (y != std::vector<float>{1, 20, 30, 4}) return 1;
        return largest_between(y.data(), y.data() + 3) != 30 || largest_between(&y[3], &y[3] + 1) != 4;
    }
    case 34: {
        std::vector<float> m{1, 2, 3, 4, 5, 6, 7};
        const float by[] = {1, 10};
        centre({{m.data(), 6}, 2, 3}, by);
        if (m != std::vector<float>{0, 1, 2, -6, -5, -4, 7}) return 1;
        // What is taken off lies in the rows: the original's order counts.
        centre({m, 2, 2}, std::span<const float>(m).first(2));
        if (m[0] != 0 || m[1] != 1 || m[2] != 1 || m[3] != -7) return 1;
        return calibrated({1, 2}) != 14 || calibrated({}) != 0;
    }
    case 35: {
        book b({{7, 2, 3, true}, {8, 10, 4, false}, {9, 1, 5, true}});
        if (b.open_ones() != 2) return 1;
        b.raise(3);
        if (b[0].price != 6 || b[1].price != 30 || b[1].amount != 5 || b[2].id != 9 || !b[2].open) return 1;
        book none({});
        none.raise(2);
        return none.open_ones() != 0;
    }
    case 36: {
        stage s;
        s.process({1, -2, 3});
        s.keep_loud({1, 3, 2, 7});
        if (s.result() != std::vector<float>{2, -4, 6, 3, 7}) return 1;
        s.restart(2);
        if (s.result() != std::vector<float>{0, 2}) return 3;
        s.restart(0);
        if (!s.result().empty()) return 4;
        s.process({});
        spectrum x{{1, 2}, {3, 4}}, y{{7, 7, 7}, {}};
        powers(x, y);
        return !s.result().empty() || y.re != std::vector<double>{10, 20} || y.im != std::vector<double>{0, 0};
    }
    case 37: {
        stage s;
        s.process({1, -2, 3});
        s.process(s.result()); // the same vector
        if (s.result() != std::vector<float>{4, -8, 12}) return 1;
        spectrum x{{1, 2}, {3, 4}};
        powers(x, x);
        return x.re != std::vector<double>{10, 20} || x.im != std::vector<double>{0, 0};
    }
    case 38: {
        const std::vector<float> x{1, 7, 3, 5};
        std::vector<float> y{9};
        smoothed(&x, &y);
        if (y != std::vector<float>{0, 2, 6, 0}) return 1;
        std::vector<int> none{4};
        if (kept({1, 5, 2, 8}, 1, &none) != &none || none != std::vector<int>{4, 5, 2, 8}) return 3;
        const std::vector<std::vector<double>> rows{{1, 2, 3}, {10, 20, 30}};
        std::array<double, 3> sums;
        summed(&rows, &sums);
        if (sums[0] != 11 || sums[2] != 33) return 4;
        std::vector<order> all{{7, 2, 3, true}, {8, 10, 4, false}};
        raised(&all, 3);
        std::string text = "abc";
        masked(&text, 2);
        return all[0].price != 6 || all[1].price != 10 || all[1].amount != 4 || text != "c`a";
    }
    case 39: {
        std::vector<float> x{1, 7, 3, 5};
        smoothed(nullptr, &x);
        smoothed(&x, nullptr);
        smoothed(&x, &x); // what is assigned is what was to be read
        std::vector<int> y{3, 1};
        y.reserve(4);
        kept(y, 2, &y);
        return x != std::vector<float>{0, 0, 0, 0} || y != std::vector<int>{3, 1, 3};
    }
    case 40: {
        const meter m;
        if (m.weighted({1, 2, 4}) != 21 || m.seen() != 24) return 1;
        delay d;
        const std::vector<float> &y = d.forward({1, 2, 3});
        if (y != std::vector<float>{0, 2, 4}) return 3;
        if (&d.forward({5}) != &y || y != std::vector<float>{0}) return 4;
        d.counted({1, 2, 3}) += 10;
        if (d.counted({}) != 17) return 5;
        spectrum s{{1}, {2, 3}};
        return &doubled(&s) != &s.im || s.im[1] != 6 || s.re[0] != 1;
    }
    case 41: {
        std::vector<float> x(1000, 3), one(1), other(5);
        cleared_from(x, 2, one.data());
        if (x != std::vector<float>(1000, 3) || one[0] != 1) return 1;
        cleared_from(x, 4, one.data());
        if (!x.empty()) return 2;
        std::vector<int> v(1000, 7);
        without_last(v);
        if (v.size() != 999 || v[0] != 1 || v[998] != 7) return 3;
        appended_and_counted(x, other, one.data());
        return x.size() != 1 || one[0] != 5;
    }
    case 42: {
        std::vector<float> x(2), one(1);
        appended_and_counted(x, x, one.data()); // the same vector
        return x.size() != 3 || one[0] != 3;
    }
    case 43: {
        matrix t(2, 2, {1, 2, 3, 4}), wide(1, 3, {5, 6, 7});
        matrix last;
        remembered(last, t); // from nothing
        if (last != t) return 1;
        remembered(last, wide); // of fewer elements
        if (last != wide) return 3;
        remembered(last, matrix());
        if (last != matrix()) return 4;
        matrix s = t, other = wide;
        squared(s);
        if (s != matrix(2, 2, {7, 10, 15, 22})) return 5;
        swapped_in(other, s, t);
        if (other != matrix(2, 2, {7, 10, 15, 22}) || s != t) return 6;
        flip(s);
        if (s != matrix(2, 2, {1, 3, 2, 4})) return 8;
        matrix tall = wide;
        flip(tall); // of other sizes then
        if (tall != matrix(3, 1, {5, 6, 7})) return 9;
        layer l{matrix(3, 1, {1, 2, 3}), {}};
        if (l.forward(wide) != matrix(1, 1, {38}) || l.seen != wide) return 7;
        return l.again() != matrix(1, 1, {38});
    }
    case 44: { // the same objects
        matrix s(2, 2, {1, 2, 3, 4});
        remembered(s, s);
        if (s != matrix(2, 2, {1, 2, 3, 4})) return 1;
        matrix wide(1, 3, {5, 6, 7});
        swapped_in(s, s, wide);
        if (s != wide) return 3;
        matrix t(2, 2, {1, 2, 3, 4});
        swapped_in(t, s, t); // what is read last was written first
        if (t != wide || s != wide) return 4;
        matrix none(0, 3, {}), other(0, 2, {});
        swapped_in(none, other, none);
        if (none != matrix(0, 2, {}) || other != matrix(0, 2, {})) return 6;
        layer l{matrix(2, 2, {1, 2, 3, 4}), {}};
        if (l.forward(l.weights) != matrix(2, 2, {7, 10, 15, 22})) return 5;
        return l.seen != l.weights || l.forward(l.seen) != matrix(2, 2, {7, 10, 15, 22});
    }
    case 45: {
        board b(3, 2, 5), out(3, 2, 0);
        b.at(1, 1) = 7;
        if (row_sum(b, 0, 2) != 32 || row_sum(b, 1, 1) != 0) return 1;
        blurred(b, out);
        if (out.at(0, 0) != 15 || out.at(0, 1) != 17 || out.at(1, 1) != 17 || out.at(2, 0) != 15) return 2;
        std::vector<double> u{0, 4, 0, 0};
        matrix t(1, 2, {1, 2});
        const matrix other(1, 2, {10, 20});
        if (plus(t, other) != matrix(1, 2, {11, 22}) || t != matrix(1, 2, {1, 2})) return 3;
        if (plus(matrix(1, 2, {5, 5}), t) != matrix(1, 2, {6, 7}) || plus(t, t) != matrix(1, 2, {2, 4})) return 4;
        if (less(t, 1) != matrix(1, 2, {0, 1}) || t != matrix(1, 2, {1, 2}) || less(matrix(), 1) != matrix()) return 5;
        relaxed(u, 0.5, 0.5);
        return u != std::vector<double>{0, 2, 1, 0};
    }
    case 46: { // what throws
        const board b(3, 2, 5);
        board small(2, 2, 0);
        std::vector<double> u{0, 4, 0, 0};
        int thrown = 0;
        try { row_sum(b, 1, 3); } catch (const std::out_of_range &) { thrown += 1; }
        try { row_sum(b, -1, 1); } catch (const std::out_of_range &) { thrown += 2; }
        try { blurred(b, small); } catch (const std::out_of_range &) { thrown += 4; }
        try { relaxed(u, 1, 0.75); } catch (const std::invalid_argument &) { thrown += 8; }
        try { relaxed(u, 0, 0.75); } catch (const std::invalid_argument &) { thrown += 16; }
        try { relaxed(u, std::nan(""), 1); } catch (const std::invalid_argument &) { thrown += 32; }
        const matrix t(1, 2, {1, 2}), other(2, 1, {1, 2});
        try { plus(t, other); } catch (const std::invalid_argument &) { thrown += 64; }
        if (u[1] != 4 || small.at(0, 0) != 15 || t != matrix(1, 2, {1, 2})) return 1;
        return thrown == 127 ? 0 : thrown + 2;
    }
    case 14: return tally(a) != 10 || tally(b) != 110;
    }
    return -1;
}
