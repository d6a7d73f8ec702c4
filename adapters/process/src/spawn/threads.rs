//! The threads that make children. A child ends when the *thread* that made it ends (the parent-death signal follows
//! it), so each lives as long as anybody can ask or has a child. A thread is stuck while its child is held; whoever asks
//! meanwhile gets another.

use nix::sys::signal::SigSet;
use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

/// Far more than is needed, a deep tree's rules among it; pages that are not touched cost nothing.
const STACK_BYTES: usize = 1024 * 1024;

/// So many only work at once where a disk does not answer.
const MOST: usize = 512;

pub(super) type Work = Box<dyn FnOnce() + Send>;

/// All that there are: as many as ever worked at once.
#[derive(Debug, Default)]
pub(super) struct Threads {
    /// Those that have nothing to do, the one that did last on top.
    idle: Mutex<Vec<mpsc::Sender<Work>>>,
    made: AtomicUsize,
}

impl Threads {
    /// Gives work to a thread that has none, or to a new one.
    ///
    /// # Errors
    /// When the system gives no thread, or there are too many; then the work is dropped.
    pub(super) fn give(self: &Arc<Self>, work: Work) -> io::Result<()> {
        let idle = self.idle().pop();
        let work = match idle {
            None => work,
            // One that waits for work takes it.
            Some(thread) => match thread.send(work) {
                Ok(()) => return Ok(()),
                Err(mpsc::SendError(work)) => work,
            },
        };
        if self.made.fetch_add(1, Ordering::SeqCst) >= MOST {
            self.made.fetch_sub(1, Ordering::SeqCst);
            return Err(io::Error::other(format!("{MOST} programs are being started, and none of them gets on")));
        }
        let threads = Arc::downgrade(self);
        let builder = thread::Builder::new().name("owl-fork".into()).stack_size(STACK_BYTES);
        let made = builder.spawn(move || serve(&threads, work));
        if made.is_err() {
            self.made.fetch_sub(1, Ordering::SeqCst);
        }
        made.map(drop)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<mpsc::Sender<Work>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn serve(threads: &Weak<Threads>, mut work: Work) {
    // None of the daemon's handlers may run in a child that still shares its memory; the child lets them in again.
    SigSet::all().thread_block().ok();
    loop {
        // A panic was told already, and is no reason to end this thread's children.
        catch_unwind(AssertUnwindSafe(work)).ok();
        let (given, next) = mpsc::channel();
        match threads.upgrade() {
            Some(threads) => threads.idle().push(given),
            None => return,
        }
        // The other end goes with the last owner of these threads.
        match next.recv() {
            Ok(next) => work = next,
            Err(mpsc::RecvError) => return,
        }
    }
}
