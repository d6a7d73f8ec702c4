//! The gate as a whole: lists of lines, what each refusal says, and properties over all of them.

mod tree;

use tree::verdict;

#[test]
fn tmp_render() {
    println!("{}", super::render());
}

#[test]
fn tmp_jsonl() {
    let text = std::fs::read_to_string("/work/shared/design/gate-examples.jsonl").unwrap();
    for line in text.lines() {
        let get = |key: &str| {
            let s = &line[line.find(&format!("\"{key}\": \"")).unwrap() + key.len() + 5..];
            let mut out = String::new();
            let mut it = s.chars();
            while let Some(c) = it.next() {
                match c {
                    '"' => break,
                    '\\' => match it.next().unwrap() {
                        'n' => out.push('\n'),
                        c => out.push(c),
                    },
                    c => out.push(c),
                }
            }
            out
        };
        let (cmd, expect) = (get("command"), get("expect"));
        let v = verdict(&cmd);
        let ok = v.is_ok() == (expect == "allow");
        if !ok || true {
            match v {
                Ok(s) => println!(
                    "{} {} {cmd} => {}",
                    if ok { "ok " } else { "BAD" },
                    get("setup"),
                    crate::show::quote_argv(&s.argv)
                ),
                Err(d) => println!(
                    "{} {} {cmd} => {} {:?} {} | {:?}",
                    if ok { "ok " } else { "BAD" },
                    get("setup"),
                    d.kind.name(),
                    d.argument,
                    d.message,
                    d.hint
                ),
            }
        }
    }
}
