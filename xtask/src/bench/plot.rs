//! A picture of what `cargo xtask bench run` measured: how many times as fast as the original, against the size.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use serde_json::Value;

/// What is drawn: the key of a row, its name, its colour.
const LINES: [(&str, &str, RGBColor); 4] = [
    ("cpu_ns", "cpu", RGBColor(0xd5, 0x5e, 0x00)),
    ("auto_ns", "auto", RGBColor(0x00, 0x72, 0xb2)),
    ("numpy_ns", "NumPy", RGBColor(0x00, 0x9e, 0x73)),
    ("pytorch_ns", "PyTorch", RGBColor(0x99, 0x62, 0xb3)),
];
const COLUMNS: usize = 2;
const PANEL: (u32, u32) = (430, 240);
const LEGEND: i32 = 40;

/// Writes an SVG file with a panel for each kernel.
pub fn write(rows: &[Value], path: &Path) -> Result<()> {
    std::fs::write(path, svg(rows)?).with_context(|| format!("cannot write {}", path.display()))
}

fn svg(rows: &[Value]) -> Result<String> {
    // They come size by size.
    let mut panels: Vec<Vec<Value>> = Vec::new();
    for row in rows {
        match panels.iter_mut().find(|p| p[0]["kernel"] == row["kernel"]) {
            Some(panel) => panel.push(row.clone()),
            None => panels.push(vec![row.clone()]),
        }
    }
    let lines = panels.len().div_ceil(COLUMNS);
    let size = (
        PANEL.0 * COLUMNS as u32,
        PANEL.1 * lines as u32 + LEGEND as u32,
    );
    let mut text = String::new();
    {
        let all = SVGBackend::with_string(&mut text, size).into_drawing_area();
        let drawn = || -> Result<(), Box<dyn std::error::Error + '_>> {
            all.fill(&WHITE)?;
            let (legend, below) = all.split_vertically(LEGEND);
            draw_legend(&legend)?;
            for (area, panel) in below.split_evenly((lines, COLUMNS)).iter().zip(&panels) {
                draw(area, panel)?;
            }
            Ok(all.present()?)
        };
        drawn().map_err(|e| anyhow!("the plot can't be drawn: {e}"))?;
    }
    Ok(text)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Drawn<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

fn draw_legend<'a>(area: &Area<'a>) -> Drawn<'a> {
    let text = ("sans-serif", 14).into_font().color(&BLACK);
    let text = text.pos(Pos::new(HPos::Left, VPos::Center));
    area.draw(&Text::new(
        "times as fast as the original, against elements:",
        (16, LEGEND / 2),
        text.clone(),
    ))?;
    for (x, (_, name, colour)) in (370..).step_by(110).zip(LINES) {
        let stroke = [(x, LEGEND / 2), (x + 24, LEGEND / 2)];
        area.draw(&PathElement::new(stroke, colour.stroke_width(2)))?;
        area.draw(&Text::new(name, (x + 30, LEGEND / 2), text.clone()))?;
    }
    Ok(())
}

/// One kernel, both axes logarithmic.
fn draw<'a>(area: &Area<'a>, rows: &[Value]) -> Drawn<'a> {
    let line = |key: &str| -> Vec<(f64, f64)> {
        let points = rows.iter().filter_map(|r| {
            let ratio = r["original_ns"].as_f64()? / r[key].as_f64()?;
            Some((r["elements"].as_f64()?, ratio))
        });
        points.collect()
    };
    let lines = LINES.map(|(key, _, colour)| (line(key), colour));
    let all = || lines.iter().flat_map(|(points, _)| points);
    let range = |of: &dyn Fn(&(f64, f64)) -> f64| {
        let ends = (f64::INFINITY, 0.0_f64);
        all().map(of).fold(ends, |(l, h), v| (l.min(v), h.max(v)))
    };
    let (x, y) = (range(&|p| p.0), range(&|p| p.1));
    // Nothing to draw has no range.
    let (x, y) = if x.0 < x.1 {
        (x, y)
    } else {
        ((1.0, 2.0), (1.0, 2.0))
    };
    // The original, at 1, is always to be seen.
    let y = (y.0.min(0.5) / 1.2, y.1.max(2.0) * 1.2);
    let name = rows[0]["kernel"].as_str().unwrap_or_default();
    let mut chart = ChartBuilder::on(area)
        .caption(name, ("sans-serif", 15))
        .margin(8)
        .x_label_area_size(24)
        .y_label_area_size(44)
        .build_cartesian_2d((x.0..x.1).log_scale(), (y.0..y.1).log_scale())?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_labels(5)
        .y_labels(5)
        .x_label_formatter(&|x| count(*x))
        .y_label_formatter(&|y| format!("{y}"))
        .draw()?;
    let original = [(x.0, 1.0), (x.1, 1.0)];
    chart.draw_series(LineSeries::new(original, BLACK.mix(0.6)))?;
    for (points, colour) in lines {
        let dots = points.clone().into_iter();
        chart.draw_series(dots.map(|p| Circle::new(p, 2, colour.filled())))?;
        chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
    }
    Ok(())
}

/// `1000`, `10k`, `1M`
fn count(n: f64) -> String {
    match n {
        n if n >= 1e6 => format!("{}M", n / 1e6),
        n if n >= 1e4 => format!("{}k", n / 1e3),
        n => format!("{n}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_kernel_has_a_panel_and_what_was_not_measured_no_line() {
        let row = |kernel, elements, cpu| {
            json!({"kernel": kernel, "elements": elements, "original_ns": 100.0, "cpu_ns": cpu, "numpy_ns": 300.0,
                   "pytorch_ns": null})
        };
        let rows = [
            row("dot", 64, 90.0),
            row("softmax", 64, 50.0),
            row("dot", 4096, 10.0),
            row("softmax", 4096, 25.0),
        ];
        let svg = svg(&rows).unwrap();
        for word in ["<svg", "dot", "softmax", "NumPy"] {
            assert!(svg.contains(word), "{word}: {svg}");
        }
        let captions = svg.lines().filter(|l| l.trim() == "dot").count();
        assert_eq!(captions, 1, "one panel a kernel: {svg}");
        let drawn = |(r, g, b): (u8, u8, u8)| {
            let colour = format!("#{r:02X}{g:02X}{b:02X}");
            svg.matches("<circle").count() > 0
                && svg.lines().filter(|l| l.contains(&colour)).count() > 1
        };
        let colour = |i: usize| LINES[i].2.rgb();
        assert!(drawn(colour(0)) && drawn(colour(2)));
        assert!(!drawn(colour(1)) && !drawn(colour(3)));
    }
}
