//! `llrem man`: the manual page of the program and all its commands.

use std::io;

use clap_mangen::Man;

use super::output;
use super::settings::Settings;
use crate::{Error, Result};

/// Runs the command.
pub(super) fn run(settings: &Settings) -> Result<()> {
    let page = page().map_err(Error::Output)?;
    output::raw(&settings.output, &page)
}

fn page() -> io::Result<Vec<u8>> {
    let mut command = super::command();
    command.build();
    let mut page = Vec::new();
    let whole = Man::new(command.clone());
    whole.render_title(&mut page)?;
    whole.render_name_section(&mut page)?;
    whole.render_synopsis_section(&mut page)?;
    whole.render_description_section(&mut page)?;
    whole.render_options_section(&mut page)?;
    for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
        page.extend_from_slice(format!(".SH \"llrem {}\"\n", command.get_name()).as_bytes());
        let own = command.clone().mut_args(|arg| if arg.is_global_set() { arg.hide(true) } else { arg });
        let man = Man::new(own);
        let mut sections = Vec::new();
        man.render_synopsis_section(&mut sections)?;
        man.render_description_section(&mut sections)?;
        man.render_options_section(&mut sections)?;
        man.render_extra_section(&mut sections)?;
        page.extend_from_slice(String::from_utf8_lossy(&sections).replace(".SH ", ".SS ").as_bytes());
    }
    whole.render_extra_section(&mut page)?;
    whole.render_version_section(&mut page)?;
    Ok(page)
}
