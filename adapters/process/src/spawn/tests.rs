use super::*;

#[test]
fn what_a_child_tells_survives_the_pipe_and_is_said_in_words() {
    for stage in Stage::ALL {
        let failure = stage.failed(Errno::EPERM);
        assert_eq!(Failure::decode(&failure.encode()), Some(failure));
    }
    assert_eq!(Failure::decode(b""), None);
    assert_eq!(Failure::decode(&[99, 0, 0, 0, 0]), None);
    assert_eq!(
        Stage::Landlock.failed(Errno::E2BIG).to_string(),
        "Landlock could not be applied: Argument list too long (os error 7)"
    );
}
