//! Rebuilds when a migration is added: the macro that embeds them watches the files that it saw, not the folder.

fn main() {
    println!("cargo::rerun-if-changed=../../migrations");
}
