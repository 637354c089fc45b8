//! The edit that mends a mistake. It travels with the mistake from where that is found, so that an
//! editor can offer it without reading our messages.
//!
//! An edit says what changes in the definition, not how a format writes it: that is the editor's
//! part.

use std::ops::Range;

/// One way to mend a mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What it does: an imperative sentence without a full stop.
    pub title: String,
    /// The edit.
    pub edit: Edit,
    /// It is most likely what the author means.
    pub is_preferred: bool,
}

/// What changes. "The member" is the one whose key or value is the place of the mistake, "the map"
/// is the map that has this member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// One word in the place of the mistake becomes another.
    Replace {
        /// As it is written there.
        wrong: String,
        /// As it should be.
        right: String,
    },
    /// The value in the place of the mistake gets quotes.
    Quote,
    /// What the line's key holds gets quotes. For a text that has no tree because of the mistake.
    QuoteLine,
    /// The text of the member's value gets something before and behind it.
    Wrap {
        /// Before.
        before: String,
        /// Behind.
        after: String,
    },
    /// These parts of the text of the member's value go, in bytes of the text.
    Cut(Vec<Range<usize>>),
    /// The member's value becomes this word.
    Value(&'static str),
    /// The member's value becomes a list of these.
    Items(Vec<String>),
    /// The member's key becomes this one.
    Key(&'static str),
    /// The map gets a member.
    Add {
        /// Its key.
        key: &'static str,
        /// Its value.
        word: &'static str,
        /// Where it stands.
        place: Place,
    },
    /// The map loses the member with this key.
    Remove(String),
    /// The list under this key of the map gets an item; if there is no list, it is made before the
    /// member.
    AddItem {
        /// The key of the list.
        key: &'static str,
        /// The new item.
        item: String,
    },
    /// The hook gets this name, with a number if another hook of the file has it.
    Name(String),
    /// The file's `defaults` get a member, and are made if there are none.
    Default {
        /// Its key.
        key: &'static str,
        /// Its value.
        word: &'static str,
    },
    /// The list that is the whole file becomes the value of this key.
    Under(&'static str),
}

/// Where a new member stands in its map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Behind the hook's name, or its first member if it has no name.
    BehindName,
    /// At the end.
    Last,
}

impl Fix {
    /// The one way to mend something.
    pub fn new(title: impl Into<String>, edit: Edit) -> Fix {
        Fix {
            title: title.into(),
            edit,
            is_preferred: true,
        }
    }

    /// One way of several, none of which is more likely.
    pub fn option(title: impl Into<String>, edit: Edit) -> Fix {
        Fix {
            is_preferred: false,
            ..Fix::new(title, edit)
        }
    }

    /// Another word.
    pub fn replace(wrong: &str, right: &str) -> Fix {
        Fix::new(
            format!("Change it to `{right}`"),
            Edit::Replace {
                wrong: wrong.into(),
                right: right.into(),
            },
        )
    }

    /// Without the member of this key.
    pub fn remove(key: &str) -> Fix {
        Fix::new(format!("Remove `{key}`"), Edit::Remove(key.into()))
    }

    /// With a member more.
    pub fn add(key: &'static str, word: &'static str, place: Place) -> Fix {
        Fix::option(
            format!("Add `{key}: {word}`"),
            Edit::Add { key, word, place },
        )
    }
}
