//! Writes JSON as serde_json does, byte for byte, with a third of the work.
//!
//! Every event waits for its verdict to be written. A verdict is made of short texts, and
//! serde_json looks at a text byte by byte and writes its quotes one by one. Here a text without
//! anything to escape is copied at once. Numbers, and texts with something to escape, are left to
//! serde_json.

use super::json::NUMBER;
use serde::Serialize;
use serde::ser::{
    Error as _, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::Error;

/// Writes a value behind what is in `out`.
///
/// # Errors
/// The value's own, and a map's key that is not a text.
pub fn write(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
    value.serialize(Writer { out, is_raw: false })
}

/// What serde_json's raw values call the text that is to be written as it is.
const RAW: &str = "$serde_json::private::RawValue";

struct Writer<'a> {
    out: &'a mut Vec<u8>,
    /// A text is JSON already.
    is_raw: bool,
}

/// The items or members of a value that was begun.
struct Parts<'a> {
    out: &'a mut Vec<u8>,
    is_first: bool,
    /// It has one member, whose text is the whole value.
    is_raw: bool,
    end: &'static str,
}

/// Whether a text may stand between quotes as it is.
fn is_plain(text: &str) -> bool {
    // Without a way out of the loop, so that many bytes are looked at at once.
    !text.bytes().fold(false, |is_special, byte| {
        is_special | (byte < 0x20) | (byte == b'"') | (byte == b'\\')
    })
}

fn quote(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

impl<'a> Writer<'a> {
    fn begin(self, start: &str, end: &'static str) -> Parts<'a> {
        self.out.extend_from_slice(start.as_bytes());
        Parts {
            out: self.out,
            is_first: true,
            is_raw: false,
            end,
        }
    }

    /// The beginning of a variant that holds something: an object with its name as the only member.
    fn begin_variant(
        self,
        variant: &str,
        start: &str,
        end: &'static str,
    ) -> Result<Parts<'a>, Error> {
        self.out.push(b'{');
        write(self.out, variant)?;
        self.out.push(b':');
        Ok(self.begin(start, end))
    }

    fn number(self, number: impl Serialize) -> Result<(), Error> {
        serde_json::to_writer(self.out, &number)
    }
}

impl Parts<'_> {
    fn separate(&mut self) {
        if !std::mem::take(&mut self.is_first) {
            self.out.push(b',');
        }
    }

    fn item(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        self.separate();
        write(self.out, value)
    }

    fn member(
        &mut self,
        name: &'static str,
        value: &(impl Serialize + ?Sized),
    ) -> Result<(), Error> {
        if self.is_raw {
            return value.serialize(Writer {
                out: self.out,
                is_raw: true,
            });
        }
        debug_assert!(is_plain(name), "a member is called {name:?}");
        match std::mem::take(&mut self.is_first) {
            true => self.out.push(b'"'),
            false => self.out.extend_from_slice(b",\""),
        }
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        write(self.out, value)
    }

    fn close(self) {
        self.out.extend_from_slice(self.end.as_bytes());
    }
}

impl<'a> Serializer for Writer<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Parts<'a>;
    type SerializeTuple = Parts<'a>;
    type SerializeTupleStruct = Parts<'a>;
    type SerializeTupleVariant = Parts<'a>;
    type SerializeMap = Parts<'a>;
    type SerializeStruct = Parts<'a>;
    type SerializeStructVariant = Parts<'a>;

    fn serialize_str(self, text: &str) -> Result<(), Error> {
        if self.is_raw {
            self.out.extend_from_slice(text.as_bytes());
        } else if is_plain(text) {
            quote(self.out, text);
        } else {
            return serde_json::to_writer(self.out, text);
        }
        Ok(())
    }

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.out
            .extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.out.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), Error> {
        self.collect_seq(bytes)
    }

    fn serialize_i8(self, value: i8) -> Result<(), Error> {
        self.number(value)
    }

    fn serialize_i16(self, value: i16) -> Result<(), Error> {
        self.number(value)
    }

    fn serialize_i32(self, value: i32) -> Result<(), Error> {
        self.number(value)
    }

    fn serialize_i64(self, value: i64) -> Result<(), Error> {
        self.number(value)
    }

    fn serialize_i128(self, value: i128) -> Result<(), Error> {
        self.number(value)
    }

    fn serialize_u8(self, value: u8) -> Result<(), Error> {
        self.number(value)
    }

    fn serialize_u16(self, value: u16) -> Result<(), Error> {
        self.number(value)
    }

    fn serialize_u32(self, value: u32) -> Result<(), Error> {
        self.number(value)
    }

    fn serialize_u64(self, value: u64) -> Result<(), Error> {
        self.number(value)
    }

    fn serialize_u128(self, value: u128) -> Result<(), Error> {
        self.number(value)
    }

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        self.number(value)
    }

    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        self.number(value)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        let parts = self.begin_variant(variant, "", "}")?;
        write(parts.out, value)?;
        parts.close();
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Parts<'a>, Error> {
        Ok(self.begin("[", "]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Parts<'a>, Error> {
        Ok(self.begin("[", "]"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Parts<'a>, Error> {
        Ok(self.begin("[", "]"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts<'a>, Error> {
        self.begin_variant(variant, "[", "]}")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Parts<'a>, Error> {
        Ok(self.begin("{", "}"))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Parts<'a>, Error> {
        match name {
            // serde_json's own two types whose text is JSON.
            NUMBER | RAW => Ok(Parts {
                is_raw: true,
                ..self.begin("", "")
            }),
            _ => Ok(self.begin("{", "}")),
        }
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts<'a>, Error> {
        self.begin_variant(variant, "{", "}}")
    }
}

impl SerializeMap for Parts<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.separate();
        let start = self.out.len();
        write(self.out, key)?;
        match self.out.get(start) {
            Some(b'"') => Ok(()),
            _ => Err(Error::custom("key must be a string")),
        }
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.out.push(b':');
        write(self.out, value)
    }

    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

/// The traits of what has items, and of what has members: they differ in the names of their methods
/// only.
macro_rules! parts {
    ($($of:ident $add:ident ($($name:ident)?) $with:ident;)*) => {
        $(
            impl $of for Parts<'_> {
                type Ok = ();
                type Error = Error;

                fn $add<T: Serialize + ?Sized>(&mut self, $($name: &'static str,)? value: &T) -> Result<(), Error> {
                    self.$with($($name,)? value)
                }

                fn end(self) -> Result<(), Error> {
                    self.close();
                    Ok(())
                }
            }
        )*
    };
}

parts! {
    SerializeSeq serialize_element () item;
    SerializeTuple serialize_element () item;
    SerializeTupleStruct serialize_field () item;
    SerializeTupleVariant serialize_field () item;
    SerializeStruct serialize_field (name) member;
    SerializeStructVariant serialize_field (name) member;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::value::RawValue;
    use serde_json::{Value, json};
    use std::collections::BTreeMap;

    fn check(value: &(impl Serialize + ?Sized)) {
        let mut out = b"before".to_vec();
        write(&mut out, value).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            format!("before{}", serde_json::to_string(value).unwrap())
        );
    }

    #[test]
    fn every_shape_is_written_as_serde_json_writes_it() {
        #[derive(Serialize)]
        struct Unit;
        #[derive(Serialize)]
        struct Newtype(Option<u8>);
        #[derive(Serialize)]
        struct Tuple(i64, f32);
        #[derive(Serialize)]
        struct Fields<'a> {
            a: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            b: Option<char>,
            #[serde(flatten)]
            c: BTreeMap<&'a str, u128>,
        }
        #[derive(Serialize)]
        enum Variant {
            Unit,
            Newtype(Vec<bool>),
            Tuple(i8, ()),
            Fields { a: f64 },
        }
        check(&(Unit, Newtype(None), Newtype(Some(7)), Tuple(i64::MIN, 1.5)));
        check(&Fields {
            a: "x",
            b: Some('"'),
            c: BTreeMap::from([("\n", u128::MAX)]),
        });
        check(&Fields {
            a: "",
            b: None,
            c: BTreeMap::new(),
        });
        check(&[
            Variant::Unit,
            Variant::Newtype(vec![true, false]),
            Variant::Tuple(-1, ()),
            Variant::Fields { a: 1e300 },
        ]);
        check(&(f64::NAN, f32::INFINITY, i128::MIN, Some(Some("")), [(); 0]));
        check(&json!({"a": 1.25, "b": [12345678901234567890123_i128.to_string()], "": null}));
        check(&serde_json::from_str::<Value>("[1234567890123456789012345, 1E+2, -0.0]").unwrap());
        check(&RawValue::from_string(r#"{"a" : "\u0041"}"#.into()).unwrap());
        let other_keys = write(&mut Vec::new(), &BTreeMap::from([(1, 2)]));
        assert_eq!(other_keys.unwrap_err().to_string(), "key must be a string");
    }

    proptest! {
        #[test]
        fn every_text_is_written_as_serde_json_writes_it(text in "[\\x00-\\x7f]{0,40}|\\PC{0,40}") {
            check(&text);
            check(&json!({ text.clone(): text }));
        }
    }
}
