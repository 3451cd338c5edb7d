//! Tables with columns that line up.

/// Lays rows out under a header; the last column is not padded.
pub fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .chain([header[column].chars().count()])
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let mut text = String::new();
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded: Vec<String> =
            cells.zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text.push_str(padded.join("  ").trim_end());
        text.push('\n');
    };
    line(&mut header.iter().copied());
    for row in rows {
        line(&mut row.iter().map(String::as_str));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_end_without_blanks() {
        let rows = vec![
            vec!["should_failslab".to_owned(), "ERRNO".to_owned(), "off".to_owned()],
            vec!["f".to_owned(), "TRUE".to_owned(), String::new()],
        ];
        assert_eq!(
            table(&["FUNCTION", "TYPE", "KEY"], &rows),
            "FUNCTION         TYPE   KEY\n\
             should_failslab  ERRNO  off\n\
             f                TRUE\n"
        );
    }
}
