//! What was used is summed, whatever a Provider once told.

use super::*;
use owl_domain::conversation::Conversation;
use rusqlite::Connection;

const UNBELIEVED: [&str; 2] = [
    "UPDATE turns SET input_tokens = 9223372036854775807, output_tokens = 4611686018427387904",
    "UPDATE conversations SET input_tokens = 9223372036854775807, output_tokens = 4611686018427387904",
];

async fn told(owl: &Owl, conversation: ConversationId) -> Conversation {
    owl.store.conversations().get(conversation).await.unwrap().unwrap()
}

/// Beyond 64 bits SQLite sums to a REAL, and the Conversation could never be written again.
#[tokio::test]
async fn a_sum_that_no_column_takes_stays_at_the_most_and_the_conversation_goes_on() {
    let owl = Owl::new();
    let conversation = owl.conversation().await;
    let turn = owl.begin(conversation, "Hi?").await.turn;
    for _ in 0..3 {
        let reply = WholeReply { usage: usage(u64::MAX), ..calls(&[]) };
        owl.store.turns().record(turn, None, reply, 0, owl.now).await.unwrap();
    }
    owl.close(turn, Ending::EndTurn).await;
    let sum = told(&owl, conversation).await.usage;
    assert_eq!((sum.input_tokens, sum), (Usage::MOST_TOKENS, owl.load(turn).await.turn.usage));
}

#[tokio::test]
async fn rows_that_hold_more_than_is_believed_are_read_and_added_to() {
    let owl = Owl::new();
    let conversation = owl.conversation().await;
    let turn = owl.begin(conversation, "Hi?").await.turn;
    for sql in UNBELIEVED {
        Connection::open(owl.path()).unwrap().execute(sql, []).unwrap();
    }
    let most = (Usage::MOST_TOKENS, Usage::MOST_TOKENS);
    let read = told(&owl, conversation).await.usage;
    assert_eq!((read.input_tokens, read.output_tokens), most);
    owl.reply(turn, &[]).await;
    owl.close(turn, Ending::EndTurn).await;
    let sum = told(&owl, conversation).await.usage;
    assert_eq!((sum.input_tokens, sum.output_tokens), most);
}
