//! `allow`, `deny` and `ask`: a fixed verdict, no process at all.

use super::call::Call;
use super::compile::{Compile, Mistake};
use super::error::HandlerError;
use super::kind::Kind;
use hookwire_base::event::On;
use hookwire_base::verdict::{Answer, Decision};

macro_rules! fixed {
    ($($name:ident)*) => {$(
        #[derive(Debug)]
        pub struct $name(pub String);

        impl Kind for $name {
            type Raw = String;

            fn compile(reason: String, _: &Compile<'_>) -> Result<Self, Mistake> {
                Ok($name(reason))
            }

            fn has_effects(&self) -> bool {
                false
            }

            async fn run(&self, _: &Call<'_>) -> Result<Answer, HandlerError> {
                Ok(Answer::decide(Decision::$name, self.0.as_str()))
            }

            fn awaited(&self, _: &On) -> Option<&'static str> {
                Some("verdict")
            }

            fn fixed(&self) -> Option<(Decision, &str)> {
                Some((Decision::$name, &self.0))
            }

            fn judges_acts(&self) -> bool {
                Decision::$name != Decision::Allow
            }
        }
    )*};
}

fixed! { Allow Deny Ask }
