use super::*;
use alloc::string::ToString;
use proptest::prelude::*;

#[test]
fn an_id_is_its_prefix_and_its_number() {
    assert_eq!(ConversationId::new(12).to_string(), "c_12");
    assert_eq!(TurnId::new(40).to_string(), "t_40");
    assert_eq!(ItemId::new(7).to_string(), "i_7");
    assert_eq!(ProposalId::new(3).to_string(), "p_3");
    assert_eq!(GrantId::new(1).to_string(), "g_1");
    assert_eq!(JobId::new(7).to_string(), "j_7");
    assert_eq!(RunId::new(9).to_string(), "r_9");
    assert_eq!("p_3".parse(), Ok(ProposalId::new(3)));
    assert_eq!(ProposalId::new(3).number(), 3);
}

#[test]
fn anything_else_names_nothing() {
    for text in [
        "",
        "p",
        "p_",
        "_3",
        "3",
        "P_3",
        "p-3",
        "p3",
        "pp_3",
        "c_3",
        "p_0",
        "p_03",
        "p_-3",
        "p_+3",
        "p_3 ",
        " p_3",
        "p_3\n",
        "p_3.0",
        "p_0x3",
        "p_3p_4",
        "p_٣",
        "p_９",
        "p_9223372036854775808",
        "p_99999999999999999999",
        "nope",
        "p_\0",
        "p_3\u{200b}",
    ] {
        assert_eq!(text.parse::<ProposalId>(), Err(NamesNothing(text.into())));
    }
    assert_eq!("p_9223372036854775807".parse(), Ok(ProposalId::new(i64::MAX)));
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(number in 1i64..) {
        prop_assert_eq!(TurnId::new(number).to_string().parse(), Ok(TurnId::new(number)));
    }

    #[test]
    fn each_id_has_one_spelling(text in "[cp]_?[-+ ]?[0-9]{0,3}") {
        if let Ok(id) = text.parse::<ConversationId>() {
            prop_assert_eq!(id.to_string(), text);
        }
    }
}
