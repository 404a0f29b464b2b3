//! Two machines' lakes in one bucket.
#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of it")]

use std::process::Command;

use crate::common::home::root;
use crate::common::{Built, Home};
use crate::lake::succeed;
use crate::script::Scripts;
use crate::server::S3;

/// A bucket to which two machines have uploaded: fixtures are on one of them, every session that the detectors are tested
/// with on the other.
pub struct Team {
    pub s3: S3,
    machines: [Home; 2],
}

const MACHINES: [&str; 2] = ["ada", "kim"];

impl Team {
    /// The first machine has these homes.
    pub fn of(homes: &[Home]) -> Self {
        let team = Self { s3: S3::start(), machines: [Home::empty(), Home::empty()] };
        let [ada, kim] = team.lakes();
        for home in homes {
            ada.run_with(|options| {
                options.machine = Some(MACHINES[0].to_owned());
                options.home = Some(home.path().to_owned());
            });
        }
        for (name, scripts) in Scripts::all(&root().join("tests/detectors")) {
            scripts.prefixed(&name).write_below(team.machines[1].path());
        }
        kim.run_with(|options| options.machine = Some(MACHINES[1].to_owned()));
        for lake in [ada, kim] {
            succeed(&mut team.s3.upload(&lake.path, &["--profile", "full"]));
        }
        team
    }

    /// The machines' own lakes.
    pub fn lakes(&self) -> [Built<'_>; 2] {
        self.machines.each_ref().map(|home| Built::new(home, "lake"))
    }

    /// The program over the bucket, in the folder of a machine.
    pub fn llrem(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_llrem"));
        command.env_clear().env("HOME", self.machines[0].path()).env("TZ", "UTC");
        command.args(["--lake", &self.s3.url(), "-f", "csv"]).args(arguments);
        self.s3.set_environment(&mut command);
        command
    }

    /// The rows that it prints.
    pub fn answer(&self, arguments: &[&str]) -> Vec<String> {
        let output = String::from_utf8(succeed(&mut self.llrem(arguments)).stdout).unwrap();
        output.lines().skip(1).map(str::to_owned).collect()
    }
}
