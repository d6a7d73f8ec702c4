# Shortcuts. CI runs `.ci/run`; nothing here is needed for it.

check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --locked -- -D warnings
    cargo test --workspace --locked

golden:
    UPDATE_EXPECT=1 cargo test --workspace

demo:
    cargo run --release -- demo

bench:
    cargo bench --bench budgets
    cargo bench -p owl-domain --bench gate
