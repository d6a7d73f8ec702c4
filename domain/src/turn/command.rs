//! A `run_command` call, step by step: judged, perhaps proposed, run once, told (ADR-0022).

use super::{
    CallRef, ChatService, StoredCall, StoredTurn, Told,
    at_work::Left,
    look::{self, Looker},
    told, tools,
};
use crate::{
    consent::Proposal,
    conversation::{CommandEnd, CommandOutcome, CommandResult, Part},
    gate::{Denial, DenialKind},
    judge::JudgeError,
    limits,
    ports::{
        CommandError, EndedBy, Judged, Moved, NewProposal, OpenError, Progress, Ran, Running, Settled, Stop,
        StoreError, Stream,
    },
    provider::Argument,
    show::visible,
    text::AbsPath,
};
use alloc::{
    boxed::Box,
    format,
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};

/// What a call of `run_command` asks for.
struct Wish {
    line: String,
    workdir: Option<String>,
}

impl ChatService {
    /// Lets the gate see a call: it becomes a Proposal, a Denial, or an answer from what Owl knows.
    pub(super) async fn judge(&self, turn: &StoredTurn, call: &StoredCall) -> Result<(), StoreError> {
        let arguments = self.ports.providers.port().arguments(&call.call);
        let too_many = usize::try_from(call.at.position).is_ok_and(|position| position >= limits::CALLS_PER_REPLY);
        if !turn.turn.tools {
            let (judged, told) = look::refused(&call.call.name, String::from("There are no tools in this chat."));
            return self.settle_judged(call.at, judged, told).await;
        }
        if call.call.name != tools::RUN_COMMAND {
            let (judged, told) = if too_many {
                let text = format!("One reply may hold {} calls, and this one is beyond.", limits::CALLS_PER_REPLY);
                look::refused(&call.call.name, text)
            } else {
                Looker { projects: &self.ports.projects, jobs: &self.ports.jobs }.answer(&call.call, arguments).await?
            };
            return self.settle_judged(call.at, judged, told).await;
        }
        let given = turn.turn.workdir.clone();
        let wish = match arguments.map_err(|wrong| malformed(&wrong)).and_then(wish) {
            Ok(wish) => wish,
            Err(denial) => return self.deny(call.at, call.call.arguments.clone(), given, denial).await,
        };
        if too_many {
            let message = format!("one reply may hold {} calls, and this one is beyond", limits::CALLS_PER_REPLY);
            let denial = Denial::whole(DenialKind::TooMany, message).instead("ask again in your next reply");
            return self.deny(call.at, wish.line, given, denial).await;
        }
        self.judge_command(turn, call.at, wish).await
    }

    async fn judge_command(&self, turn: &StoredTurn, at: CallRef, wish: Wish) -> Result<(), StoreError> {
        let named = wish.workdir.or_else(|| turn.turn.workdir.as_ref().map(ToString::to_string));
        let resolved = match &named {
            Some(named) => self.ports.projects.workdir(named).await.map_err(JudgeError::from),
            None => Err(JudgeError::Denied(
                Denial::whole(DenialKind::Workdir, "this chat has no directory to run commands in")
                    .instead("name one of those that list_worktrees tells as workdir"),
            )),
        };
        let workdir = match resolved {
            Ok(workdir) => workdir,
            Err(JudgeError::Store(error)) => return Err(error),
            Err(JudgeError::Denied(denial)) => return self.deny(at, wish.line, None, denial).await,
        };
        let shown = match self.ports.judge.propose(&wish.line, &workdir).await {
            Ok(shown) => shown,
            Err(JudgeError::Store(error)) => return Err(error),
            Err(JudgeError::Denied(denial)) => {
                return self.deny(at, wish.line, Some(workdir.path().clone()), denial).await;
            }
        };
        let now = self.now();
        let place = workdir.path().clone();
        let new = NewProposal { call: at, shown, workdir, expires_at: now.plus(self.consent_window) };
        match self.ports.proposals.open(new, now).await {
            Ok(proposal) => {
                if proposal.decision.is_none() {
                    self.ports.legs.deadline();
                }
                Ok(())
            }
            // Whoever lost reads the Turn again.
            Err(OpenError::Lost) => Ok(()),
            Err(OpenError::TooMany) => {
                let most = limits::PROPOSALS_PENDING;
                let message = format!("{most} proposals wait in this conversation already, and no more may");
                let denial =
                    Denial::whole(DenialKind::TooMany, message).instead("wait until a person has answered them");
                self.deny(at, wish.line, Some(place), denial).await
            }
            Err(OpenError::Store(error)) => Err(error),
        }
    }

    async fn deny(
        &self,
        at: CallRef,
        requested: String,
        workdir: Option<AbsPath>,
        denial: Denial,
    ) -> Result<(), StoreError> {
        let told = told::denied_by_gate(&denial);
        self.settle_judged(at, Judged::Denied { requested, workdir, denial }, told).await
    }

    async fn settle_judged(&self, at: CallRef, judged: Judged, told: Told) -> Result<(), StoreError> {
        // Losing means that the call was judged already; the Turn is read again either way.
        let _judged_by_either = self.ports.turns.settle(at, judged, told, self.now()).await?;
        Ok(())
    }

    /// Runs a Proposal that was allowed, once: the whole gate again, the start stored, then `execve`.
    pub(super) async fn run(&self, at: CallRef, proposal: Proposal, stop: &Arc<dyn Stop>) -> Result<Left, StoreError> {
        let shown = &proposal.shown;
        let workdir = self.ports.projects.workdir_at(&shown.workdir).await.map_err(JudgeError::from);
        let cleared = match workdir {
            Ok(workdir) => self.ports.judge.clear(shown, &workdir).await,
            Err(error) => Err(error),
        };
        let cleared = match cleared {
            Ok(cleared) => cleared,
            Err(JudgeError::Store(error)) => return Err(error),
            Err(JudgeError::Denied(denial)) => {
                let told = told::denied_by_second_pass(&denial);
                self.settle(at, &proposal, CommandOutcome::GateDenied(denial), told).await?;
                return Ok(Left::GoesOn);
            }
        };
        let held = match self.ports.commands.hold(cleared, stop.clone()).await {
            Ok(held) => held,
            Err(CommandError::Stopped) => return Ok(Left::GoesOn),
            Err(CommandError::NotStarted { reason }) => return self.not_started(at, &proposal, reason).await,
        };
        match self.ports.proposals.start(proposal.id, held.pid(), self.now()).await? {
            Moved::Won => {}
            // Cancelled in the meantime: the held process ends without having begun.
            Moved::Lost => return Ok(Left::GoesOn),
        }
        match held.release().await {
            Ok(running) => self.watch(at, &proposal, running).await,
            Err(CommandError::NotStarted { reason }) => self.not_started(at, &proposal, reason).await,
            Err(error @ CommandError::Stopped) => self.not_started(at, &proposal, error.to_string()).await,
        }
    }

    async fn not_started(&self, at: CallRef, proposal: &Proposal, reason: String) -> Result<Left, StoreError> {
        let told = told::could_not_start(&reason);
        self.settle(at, proposal, CommandOutcome::Failed { reason }, told).await?;
        Ok(Left::GoesOn)
    }

    async fn watch(&self, at: CallRef, proposal: &Proposal, mut running: Box<dyn Running>) -> Result<Left, StoreError> {
        let item = proposal.item;
        self.ports.live.open(proposal.conversation, proposal.turn, item);
        let ran = loop {
            match running.next().await {
                Progress::Printed(stream, text) => {
                    let part = match stream {
                        Stream::Stdout => Part::Stdout,
                        Stream::Stderr => Part::Stderr,
                    };
                    self.ports.turns.append(item, part, &text);
                    self.ports.live.append(item, part, &text);
                }
                Progress::Ended(ran) => break ran,
            }
        };
        let settled = self.settle_ran(at, proposal, ran).await;
        self.ports.live.close(item);
        settled
    }

    async fn settle_ran(&self, at: CallRef, proposal: &Proposal, ran: Ran) -> Result<Left, StoreError> {
        let cancelling = match ran.ended_by {
            EndedBy::Stopped => self.ports.turns.load(at.turn).await?.is_some_and(|turn| turn.cancelling),
            EndedBy::Exit | EndedBy::Signal | EndedBy::Timeout => false,
        };
        let ended_by = match ran.ended_by {
            EndedBy::Exit => CommandEnd::Exit,
            EndedBy::Signal => CommandEnd::Signal,
            EndedBy::Timeout => CommandEnd::Timeout,
            EndedBy::Stopped if cancelling => CommandEnd::Cancel,
            EndedBy::Stopped => CommandEnd::Shutdown,
        };
        let result = CommandResult {
            ended_by,
            exit_code: ran.exit_code,
            signal: ran.signal,
            duration: ran.duration,
            stdout: ran.stdout,
            stderr: ran.stderr,
            confinement: ran.confinement,
        };
        let told = told::ran(&proposal.shown, &result);
        self.settle(at, proposal, CommandOutcome::Ran(result), told).await?;
        Ok(if ended_by == CommandEnd::Shutdown { Left::CutOff } else { Left::GoesOn })
    }

    /// Tells the model that a Proposal was decided, and not allowed.
    pub(super) async fn tell(&self, at: CallRef, proposal: &Proposal) -> Result<(), StoreError> {
        let Some(decision) = &proposal.decision else {
            return Ok(());
        };
        let told = told::not_allowed(proposal, decision);
        self.settle(at, proposal, super::outcome_at_close(proposal), told).await
    }

    async fn settle(
        &self,
        at: CallRef,
        proposal: &Proposal,
        outcome: CommandOutcome,
        told: Told,
    ) -> Result<(), StoreError> {
        let settled = Settled { outcome, told };
        // Losing means that the Item is closed already, by the end of its Turn.
        let _closed_by_either = self.ports.proposals.settle(proposal.id, at, settled, self.now()).await?;
        Ok(())
    }
}

fn malformed(wrong: &str) -> Denial {
    Denial::whole(DenialKind::MalformedCall, format!("the arguments of run_command are wrong: {}", visible(wrong)))
}

/// Reads the arguments of `run_command`; nothing is guessed.
fn wish(arguments: Vec<(String, Argument)>) -> Result<Wish, Denial> {
    let mut line = None;
    let mut workdir = None;
    for (name, value) in arguments {
        let place = match name.as_str() {
            "command" => &mut line,
            "workdir" => &mut workdir,
            _ => {
                let name = visible(&name);
                let message = format!("run_command has no parameter `{name}`; it has command and workdir");
                return Err(Denial::about(DenialKind::MalformedCall, name, message));
            }
        };
        *place = Some(match value {
            Argument::Text(text) => text,
            Argument::Whole(_) => return Err(not_text(&name, "a number")),
            Argument::Other(what) => return Err(not_text(&name, what)),
        });
    }
    match line {
        Some(line) => Ok(Wish { line, workdir }),
        None => Err(Denial::about(DenialKind::MalformedCall, "command", "run_command needs a `command`")),
    }
}

fn not_text(name: &str, what: &str) -> Denial {
    Denial::about(DenialKind::MalformedCall, name, format!("`{name}` of run_command must be a text, not {what}"))
}
