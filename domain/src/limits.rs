//! Every maximum, with its reason (rpc.md 9). `system.info` reports them under these names in lower case.

use core::time::Duration;

/// One line, body or message from a client: far above any question, far below what hurts.
pub const REQUEST_BYTES: usize = 1_048_576;
/// One answer.
pub const RESPONSE_BYTES: usize = 10_485_760;
/// Calls in one batch.
pub const BATCH_ENTRIES: usize = 64;
/// Connections at once, where the process may open that many files.
pub const CONNECTIONS: usize = 2_048;
/// Subscriptions of one connection.
pub const SUBSCRIPTIONS_PER_CONNECTION: usize = 32;
/// Calls of one connection under way; beyond it the connection is not read.
pub const CALLS_IN_FLIGHT_PER_CONNECTION: usize = 64;
/// Answers and events of one connection that wait to be written.
pub const QUEUE_MESSAGES_PER_CONNECTION: usize = 256;
/// How long a subscriber may read nothing before its subscription ends.
pub const STUCK_SUBSCRIBER: Duration = Duration::from_secs(10);
/// How long a connection may be silent before its first byte.
pub const FIRST_BYTE: Duration = Duration::from_secs(30);
/// A question: a long file pasted, not a repository.
pub const TEXT_BYTES: usize = 131_072;
/// A Job's prompt: it becomes one word of argv, of which Linux allows 131,071 bytes.
pub const PROMPT_BYTES: usize = 65_536;
/// A title.
pub const TITLE_CHARS: usize = 200;
/// A title that Owl makes of the first question's first line.
pub const AUTO_TITLE_CHARS: usize = 80;
/// Why a person said no; the model reads it.
pub const REASON_BYTES: usize = 2_000;
/// What is searched for.
pub const SEARCH_CHARS: usize = 200;
/// A client's key for a call.
pub const CLIENT_KEY_CHARS: usize = 64;
/// How long a client's key is remembered.
pub const CLIENT_KEY_KEPT: Duration = Duration::from_secs(24 * 3600);
/// A Provider's key, an Account's token.
pub const API_KEY_BYTES: usize = 4_096;
/// Models that a configuration may name for one Provider.
pub const MODELS_PER_PROVIDER: usize = 200;
/// A model's id.
pub const MODEL_ID_CHARS: usize = 200;
/// A command line.
pub const COMMAND_BYTES: usize = 8_192;
/// Words of a command line.
pub const COMMAND_WORDS: usize = 64;
/// A command line that `policy.explain` takes, so that `too_long` can be seen.
pub const EXPLAIN_BYTES: usize = 65_536;
/// How long a command may run before its group gets SIGTERM.
pub const COMMAND_DEADLINE: Duration = Duration::from_secs(30);
/// How long after SIGTERM its group gets SIGKILL.
pub const COMMAND_GRACE: Duration = Duration::from_secs(2);
/// Commands that run at once; further ones that were allowed start in turn.
pub const COMMANDS_RUNNING: usize = 8;
/// The first part of standard output that is kept.
pub const STDOUT_HEAD_BYTES: usize = 40_960;
/// The last part of standard output that is kept.
pub const STDOUT_TAIL_BYTES: usize = 16_384;
/// The first, and again the last, part of standard error that is kept.
pub const STDERR_PART_BYTES: usize = 4_096;
/// How long a Proposal waits for a person unless the configuration says otherwise.
pub const CONSENT_WINDOW: Duration = Duration::from_secs(3_600);
/// Proposals of one Conversation that may wait at once.
pub const PROPOSALS_PENDING: usize = 16;
/// Calls in one reply that are carried out.
pub const CALLS_PER_REPLY: usize = 16;
/// Replies that a Turn may ask for.
pub const ROUNDS_PER_TURN: u32 = 25;
/// Text, and again reasoning, of one reply.
pub const REPLY_TEXT_BYTES: usize = 262_144;
/// Objects of one page.
pub const PAGE_ITEMS: u32 = 200;
/// Objects of one page unless the caller says otherwise.
pub const PAGE_ITEMS_DEFAULT: u32 = 50;
/// Bytes of one page.
pub const PAGE_BYTES: usize = 4_194_304;
/// Runs that are at work at once.
pub const RUNS_ACTIVE: usize = 8;
/// How long `chat.wait` may wait.
pub const WAIT: Duration = Duration::from_secs(600);
/// What a knowledge tool tells the model (providers.md 9.2).
pub const LOOKUP_BYTES: usize = 16_384;
/// How often streamed text is written: at most this much of it is lost with a killed daemon.
pub const TEXT_WRITTEN_EVERY: Duration = Duration::from_millis(100);
/// Streamed text is written at once when this much has come.
pub const TEXT_WRITTEN_BYTES: usize = 16_384;
/// How much of the stored events one subscription reads ahead of its client, or one larger event.
pub const EVENTS_AHEAD_BYTES: usize = 131_072;
/// A refused call of an Agent, on the one line that shows it.
pub const DENIAL_SUMMARY_CHARS: usize = 200;
/// Refused calls of one Run that are told apart; more are only counted.
pub const DENIALS_TOLD_APART: usize = 100;
/// The same call refused this often ends a Run: the Agent does not take the no.
pub const DENIED_ALIKE: u32 = 20;
/// One rule of a Project's `allowedTools`; it becomes a word of argv.
pub const RULE_BYTES: usize = 4_096;
/// Rules of a Project's `allowedTools`.
pub const RULES: usize = 200;
/// All `unattendedClauses` of a Project together: with Owl's own contract they become one word of argv.
pub const CLAUSES_BYTES: usize = 32_768;
/// An Agent's last words, and a verdict's.
pub const LAST_WORDS_BYTES: usize = 8_192;
/// The end of an Agent's standard error.
pub const AGENT_STDERR_BYTES: usize = 4_096;
/// A line of an Agent's output that is still read; the rest of a longer one is drained and dropped.
pub const AGENT_LINE_BYTES: usize = 8 * 1_048_576;
/// A line of a Run's log.
pub const LOG_LINE_BYTES: usize = 1_048_576;
/// How long after SIGTERM an Agent, and all it started, gets SIGKILL.
pub const AGENT_GRACE: Duration = Duration::from_secs(3);
/// All setup commands of a Project together.
pub const SETUP: Duration = Duration::from_secs(15 * 60);
/// One check of a Project, unless its file says otherwise.
pub const CHECK: Duration = Duration::from_secs(10 * 60);
/// Runs of a Job that are shown with it.
pub const RUNS_SHOWN: u32 = 20;
/// A diff's text.
pub const DIFF_BYTES: usize = 262_144;
/// Files of a diff that are listed.
pub const DIFF_FILES: usize = 500;
