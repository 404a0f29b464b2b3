//! Networks and servers that fail now and then: the same arrives.

use std::time::Duration;

use crate::lake::{stderr, succeed};
use crate::proxy::{Fate, Request};
use crate::server::S3;
use crate::sync::{add_session, assert_copied, large_lake, small_lake};

/// Numbers that look random and are the same each time.
pub(crate) struct Dice(pub u64);

impl Dice {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

const SLOW_DOWN: &str = "<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>";
const INTERNAL: &str = "<Error><Code>InternalError</Code><Message>We encountered an internal error.</Message></Error>";
const NO_SUCH_UPLOAD: &str = "<Error><Code>NoSuchUpload</Code><Message>It does not exist.</Message></Error>";

#[test]
fn errors_resets_and_lost_answers() {
    let s3 = S3::start();
    let bench = small_lake(["a", "b", "c"]);
    for (seed, day) in [(1, None), (2, Some("2025-09-25")), (3, Some("2025-08-25"))] {
        if let Some(day) = day {
            add_session(&bench, &format!("s{seed}"), day);
            bench.extract();
        }
        let mut dice = Dice(seed);
        s3.proxy.decide(move |_| match dice.below(10) {
            0 => Fate::Answer(500, INTERNAL),
            1 => Fate::Answer(503, SLOW_DOWN),
            2 => Fate::Reset,
            3 => Fate::LoseAnswer,
            _ => Fate::Pass,
        });
        let output = succeed(&mut s3.upload(&bench.lake(), &["--profile", "full"]));
        assert!(stderr(&output).starts_with("put "), "{}", stderr(&output));
        assert_copied(&s3, &bench.lake());
    }
}

/// The manifest is put on condition; when the answer to that is lost, the second try meets what the first one put.
#[test]
fn a_lost_answer_to_the_manifest_is_no_conflict() {
    let s3 = S3::start();
    let bench = small_lake(["a", "b", "c"]);
    let mut lost = 0;
    s3.proxy.decide(move |request| {
        if request.method == "PUT" && request.target.ends_with("/manifest") && lost < 2 {
            lost += 1;
            return Fate::LoseAnswer;
        }
        Fate::Pass
    });
    succeed(&mut s3.upload(&bench.lake(), &["--profile", "full"]));
    assert_copied(&s3, &bench.lake());
}

/// A file uploaded in parts is whole once they are put together. If the answer to that is lost, the second try finds no
/// parts any more.
#[test]
fn a_lost_answer_to_the_last_of_the_parts_is_no_failure() {
    let (s3, bench) = (S3::start(), large_lake());
    let is_completion = |request: &Request| request.method == "POST" && request.target.contains("uploadId=");
    for arguments in [[].as_slice(), &["--full"]] {
        let mut lost = 0;
        s3.proxy.decide(move |request| {
            if is_completion(request) && lost == 0 {
                lost += 1;
                return Fate::LoseAnswer;
            }
            Fate::Pass
        });
        succeed(s3.upload(&bench.lake(), &["--profile", "full"]).args(arguments));
        let tries = s3.proxy.take_log().iter().filter(|request| is_completion(request)).count();
        assert_eq!(tries, 2, "nothing was lost");
        assert_copied(&s3, &bench.lake());
        // That the object is another one is seen by its time, which stores tell in whole seconds.
        std::thread::sleep(Duration::from_secs(1));
    }
    // Of the one that was there before nobody says that it was put.
    s3.proxy.decide(move |request| if is_completion(request) { Fate::Answer(404, NO_SUCH_UPLOAD) } else { Fate::Pass });
    let failed = s3.upload(&bench.lake(), &["--profile", "full", "--full"]).output().unwrap();
    assert_eq!(failed.status.code(), Some(1), "{}", stderr(&failed));
}
