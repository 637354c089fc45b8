//! Code that an interpreter is given within a text: whether it shows that it starts no other
//! program.

use super::Names;

/// What Python code must not hold: names that start programs, and ways to reach them by a name that
/// is put together or written in another encoding.
static STARTERS: Names = Names::new("python-starters");

/// Modules by which nothing is started, and no member is reached by the text of its name.
static MODULES: Names = Names::new("python-modules");

/// Whether code starts no program, whatever its texts say. Code that isn't plain, or imports what
/// isn't known, may; so may other languages than Python, where a member is reached by any text.
pub(in super::super) fn starts_nothing(interpreter: &str, code: &str) -> bool {
    let is_python =
        interpreter.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') == "python";
    let lower = code.to_ascii_lowercase();
    is_python
        && code.is_ascii()
        && !STARTERS.words().any(|name| lower.contains(name))
        && imports_known(&lower)
}

/// Whether every `import` of python's code names modules that start nothing by themselves.
fn imports_known(code: &str) -> bool {
    let is_known = |name: &str| {
        let module = name
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .split('.')
            .next()
            .unwrap_or_default();
        MODULES.has(module)
    };
    let mut imports = 0;
    for statement in code.split(['\n', ';']).map(str::trim) {
        let known = match (
            statement.strip_prefix("from "),
            statement.strip_prefix("import "),
        ) {
            (Some(rest), _) => is_known(rest),
            (None, Some(rest)) => rest.split(',').all(is_known),
            (None, None) => continue,
        };
        if !known {
            return false;
        }
        imports += 1;
    }
    // `importlib`, or an import that stands elsewhere.
    code.matches("import").count() == imports
}

/// Where code reads what it is given on its input, or a line of it at a time.
static READERS: Names = Names::new("input-readers");

/// Calls that start a program, or that hand a text to a shell.
static RUNNERS: Names = Names::new("code-runners");

/// The same where the code says of what they are: `subprocess.run`, `child_process.exec`.
static RUNNERS_OF: Names = Names::new("code-runners-of");

/// Whether code runs a program, or a text for a shell, that isn't constant, and reads its input:
/// what it reads may be what it runs. Code that starts a program by a constant name with other
/// arguments doesn't.
pub(in super::super) fn runs_what_it_reads(
    interpreter: &str,
    code: &str,
    reads_lines: bool,
) -> bool {
    const MOST: usize = 64;
    let lower = code.to_ascii_lowercase();
    if !reads_lines && !READERS.words().any(|name| lower.contains(name)) {
        return false;
    }
    let has_module = ["subprocess", "child_process", "open3"]
        .iter()
        .any(|it| lower.contains(it));
    let is_script = ["perl", "ruby", "php"]
        .iter()
        .any(|it| interpreter.starts_with(it));
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let is_runner = |name: &str| {
        RUNNERS.has(name)
            || has_module && RUNNERS_OF.has(name)
            || is_script && matches!(name, "exec" | "spawn")
    };
    let names = code.split(|c| !is_part(c)).filter(|it| !it.is_empty());
    let is_run = |name: &&str| is_runner(&name.to_ascii_lowercase());
    let behind = |name: &str| &code[name.as_ptr() as usize - code.as_ptr() as usize + name.len()..];
    names
        .filter(is_run)
        .take(MOST)
        .any(|name| is_open_call(behind(name)))
        || is_script && has_open_backticks(code)
}

/// Whether what a call is given to run isn't constant.
fn is_open_call(behind: &str) -> bool {
    let given =
        behind.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '(' | '[' | '{'));
    // A method of something else, or a definition.
    if given.is_empty()
        || behind
            .trim_start()
            .starts_with(['=', '.', ':', ')', ';', ','])
    {
        return false;
    }
    let is_quote = |c: char| matches!(c, '"' | '\'' | '`');
    let (prefix, rest) =
        given.split_at(given.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(0));
    let Some(quote) = rest
        .chars()
        .next()
        .filter(|c| is_quote(*c) && prefix.len() < 3)
    else {
        // A number, or nothing.
        return given
            .starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$' | '@' | '<' | '*'));
    };
    let Some(end) = rest[1..].find(quote) else {
        return true;
    };
    let (text, after) = (&rest[1..=end], rest[end + 2..].trim_start());
    let is_filled = quote != '\'' && text.contains(['$', '@'])
        || text.contains("#{")
        || prefix.contains(['f', 'F']);
    let is_shell = super::is_shell(super::super::names::base_name(text.trim()));
    // Joined with something, or a shell that is given something.
    is_filled
        || after.starts_with(['+', '.', '%']) && !after.starts_with(".split")
        || is_shell && has_open_rest(after)
}

/// Whether a name stands among what a call is given further, until the call ends.
fn has_open_rest(after: &str) -> bool {
    let end = after.find([')', ';', '\n']).unwrap_or(after.len());
    let plain = |it: &str| {
        let value = it
            .rsplit(['=', ':'])
            .next()
            .unwrap_or(it)
            .trim()
            .trim_matches([']', '[', '}', '{', ' ']);
        value.is_empty()
            || value.starts_with(['"', '\'', '-'])
            || matches!(value, "True" | "False" | "None" | "true" | "false" | "null")
            || value.starts_with(|c: char| c.is_ascii_digit())
    };
    !after[..end].split(',').all(plain)
}

/// Perl's, ruby's and PHP's `` `...` `` and `%x(...)` with something in them that isn't constant.
fn has_open_backticks(code: &str) -> bool {
    let in_backticks = code.split('`').skip(1).step_by(2);
    let in_brackets = ["%x", "qx"]
        .iter()
        .flat_map(|it| code.split(it).skip(1))
        .filter(|it| it.starts_with(['(', '{', '[', '/']));
    let is_open = |it: &str| {
        it.contains("#{") || it.starts_with('$') || it.contains(" $") || it.contains("$_")
    };
    in_backticks
        .chain(in_brackets.map(|it| it.lines().next().unwrap_or(it)))
        .any(is_open)
}
