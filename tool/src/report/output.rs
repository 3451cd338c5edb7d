//! Where reports go, and in which form.

use std::{
    fs::File,
    io::{self, Write},
    path::Path,
};

use super::{Asked, LiveLine, Places, Traced, json, summary};
use crate::{plan::Plan, running::KernelWarning, session::Ended};

/// Stderr or a file, as text or as JSON.
pub struct Output {
    writer: Box<dyn Write>,
    json: bool,
    /// On stderr, among other people's lines, ours are marked.
    prefix: &'static str,
    /// For the live line and the places of stacks.
    pub live: LiveLine,
    places: Places,
}

impl Output {
    /// Opens the file, if there is one.
    pub fn open(path: Option<&Path>, json: bool, live: bool, places: Places) -> io::Result<Self> {
        let (writer, prefix): (Box<dyn Write>, _) = match path {
            Some(path) => (Box::new(File::create(path)?), ""),
            None => (Box::new(io::stderr()), "inject: "),
        };
        Ok(Self { writer, json, prefix, live: LiveLine::new(live && !json), places })
    }

    /// Says that it begins; as text only where a person may wait for something.
    pub fn start(&mut self, plan: &Plan, asked: &Asked) {
        if self.json {
            self.write(&json::start(plan, asked));
        }
    }

    /// An injection.
    pub fn injection(&mut self, traced: &Traced) {
        let text = if self.json {
            json::injection(traced, &self.places)
        } else {
            self.prefixed(&traced.text(&self.places))
        };
        self.write(&text);
    }

    /// The kernel complained, after these injections.
    pub fn kernel_warning(&mut self, warning: &KernelWarning, before: &[Traced]) {
        if self.json {
            self.write(&json::kernel_warning(warning));
            return;
        }
        let mut text =
            format!("the kernel said at {:.6}: {}\n", warning.time.as_secs_f64(), warning.text);
        for traced in before {
            text += "  just before: ";
            text += traced.text(&self.places).trim_start();
        }
        let text = self.prefixed(&text);
        self.write(&text);
    }

    /// The end.
    pub fn summary(&mut self, ended: &Ended, asked: &Asked) {
        let text = if self.json {
            json::summary(ended, asked, &self.places)
        } else {
            self.prefixed(&summary::summary(ended, asked, &self.places))
        };
        self.write(&text);
    }

    fn prefixed(&self, text: &str) -> String {
        text.lines().map(|line| format!("{}{line}\n", self.prefix)).collect()
    }

    fn write(&mut self, text: &str) {
        self.live.clear();
        if let Err(error) = self.writer.write_all(text.as_bytes()) {
            log::info!("the report cannot be written: {error}");
        }
    }
}
