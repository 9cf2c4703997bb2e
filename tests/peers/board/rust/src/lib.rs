//! Each line of standard input is a vector; each line of standard output is the crate's answer, or null.
use serde_json::{Value, json};
use std::io::{BufRead, stdin};

/// Answer every vector; `None` where the crate does not offer the rule or its types do not hold the inputs.
pub fn answer(rule: impl Fn(&str, &str, &Value) -> Option<String> + std::panic::RefUnwindSafe) {
    std::panic::set_hook(Box::new(|_| ()));
    for line in stdin().lock().lines() {
        let vector: Value = serde_json::from_str(&line.expect("a line")).expect("a vector");
        let text = |name: &str| vector[name].as_str().expect("a text").to_owned();
        let (name, upgrade, inputs) = (text("rule"), text("upgrade"), vector["inputs"].clone());
        match std::panic::catch_unwind(|| rule(&name, &upgrade, &inputs)) {
            Ok(result) => println!("{}", json!(result)),
            Err(_) => println!("{}", json!({"error": "panicked"})),
        }
    }
}

/// A number of the inputs, if its type holds it.
pub fn number<T: std::str::FromStr>(inputs: &Value, name: &str) -> Option<T> {
    inputs[name].as_str()?.parse().ok()
}

/// Bytes of the inputs.
pub fn bytes(inputs: &Value, name: &str) -> Option<Vec<u8>> {
    let text = inputs[name].as_str()?.strip_prefix("0x")?;
    (0..text.len()).step_by(2).map(|place| u8::from_str_radix(&text[place..place + 2], 16).ok()).collect()
}
