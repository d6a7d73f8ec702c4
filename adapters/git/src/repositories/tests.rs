mod base;
mod home;
mod hostile;
mod inspect;
mod worktree_config;
mod worktrees;
