mod base;
mod home;
mod hostile;
mod inspect;
mod worktrees;
