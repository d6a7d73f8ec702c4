use super::*;
use crate::{
    ports::{
        AddError, InspectError, Inspected, MockClock, MockPaths, MockProjects, MockRepositories, MockTerms,
        RepositoryError,
    },
    testing::{NOON, path},
};
use alloc::{sync::Arc, vec, vec::Vec};
use mockall::predicate::eq;
use owl_testkit::tokio;

fn pin(text: &str) -> Pin {
    Pin { path: path(text), device: 1, inode: 1 }
}

fn pins(root: &str) -> Pins {
    let git = pin("/home/u/shop/.git");
    Pins { work_tree: pin(root), git_dir: git.clone(), common_dir: git }
}

fn name(text: &str) -> ProjectName {
    ProjectName::new(text).unwrap()
}

fn branch(text: &str) -> BranchName {
    BranchName::new(text).unwrap()
}

fn project(called: &str, root: &str) -> Project {
    Project { name: name(called), base_branch: branch("main"), pins: pins(root), added_at: NOON }
}

fn workdir(of: &str, root: &str) -> Workdir {
    Workdir { project: name(of), pins: pins(root) }
}

fn worktree(workdir: Workdir) -> Worktree {
    Worktree { workdir, kind: WorktreeKind::Linked, branch: None, head: None, locked: false }
}

/// The service where these are registered. A path in `links` leads to another one; one in `gone` leads nowhere.
fn service(
    registered: Vec<Project>,
    links: &'static [(&'static str, &'static str)],
    gone: &'static [&'static str],
) -> ProjectService {
    let mut projects = MockProjects::new();
    projects.expect_list().returning(move || Ok(registered.clone()));
    projects.expect_add().returning(|_| Ok(()));
    with(projects, repositories(), links, gone)
}

fn repositories() -> MockRepositories {
    let mut repositories = MockRepositories::new();
    repositories.expect_workdirs().returning(workdirs);
    repositories.expect_worktrees().returning(|project| match project.name.as_str() {
        "broken" => Err(RepositoryError::Failed { reason: "git could not tell".into() }),
        _ => Ok(workdirs(project).into_iter().map(worktree).collect()),
    });
    repositories
}

fn workdirs(project: &Project) -> Vec<Workdir> {
    match project.name.as_str() {
        "shop" => vec![workdir("shop", "/home/u/shop"), workdir("shop", "/home/u/shop-topic")],
        "broken" => Vec::new(),
        other => vec![workdir(other, project.root().as_str())],
    }
}

fn with(
    projects: MockProjects,
    repositories: MockRepositories,
    links: &'static [(&'static str, &'static str)],
    gone: &'static [&'static str],
) -> ProjectService {
    let mut paths = MockPaths::new();
    paths.expect_resolve().returning(move |given| {
        let leads = links.iter().find(|(link, _)| *link == given.as_str()).map_or(given.as_str(), |(_, to)| to);
        (!gone.contains(&leads)).then(|| path(leads))
    });
    let mut clock = MockClock::new();
    clock.expect_now().return_const(NOON);
    let mut terms = MockTerms::new();
    terms.expect_file().returning(|_| ProjectFile::default());
    ProjectService::new(Arc::new(projects), Arc::new(repositories), Arc::new(paths), Arc::new(terms), Arc::new(clock))
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn shop() -> Vec<Project> {
    vec![project("shop", "/home/u/shop")]
}

fn refused(service: &ProjectService, given: &str) -> NoWorkdir {
    match block_on(service.workdir(given)) {
        Err(WorkdirError::Invalid { workdir, reason, .. }) => {
            assert_eq!(workdir, given, "as it was given");
            reason
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_root_or_a_worktree_is_a_workdir() {
    let service = service(shop(), &[("/tmp/link", "/home/u/shop"), ("/tmp/other", "/home/u/shop-topic")], &[]);
    for (given, leads) in [
        ("/home/u/shop", "/home/u/shop"),
        ("/home/u/shop-topic", "/home/u/shop-topic"),
        ("/tmp/link", "/home/u/shop"),
        ("/tmp/other", "/home/u/shop-topic"),
    ] {
        let workdir = block_on(service.workdir(given)).unwrap();
        assert_eq!((workdir.path().as_str(), workdir.project.as_str()), (leads, "shop"), "{given}");
    }
}

#[test]
fn a_linked_worktree_that_holds_owls_own_directories_is_none() {
    for own in ["/home/u/shop-topic", "/home/u/shop-topic/.local/share/coding-owl"] {
        let service = service(shop(), &[], &[]).keeping_out_of(vec![path(own)]);
        assert_eq!(refused(&service, "/home/u/shop-topic"), NoWorkdir::NotKnown, "{own}");
        assert!(block_on(service.workdir("/home/u/shop")).is_ok());
    }
}

#[test]
fn anything_else_is_none() {
    let service = service(shop(), &[("/tmp/out", "/home/u")], &["/home/u/gone"]);
    for (given, reason) in [
        ("shop", NoWorkdir::NotAbsolute),
        ("", NoWorkdir::NotAbsolute),
        ("~/shop", NoWorkdir::NotAbsolute),
        ("/home/u/sh\0op", NoWorkdir::NotAbsolute),
        ("/home/u", NoWorkdir::NotKnown),
        ("/home/u/shop/src", NoWorkdir::NotKnown),
        ("/home/u/shop2", NoWorkdir::NotKnown),
        ("/home/u/Shop", NoWorkdir::NotKnown),
        ("/tmp/out", NoWorkdir::NotKnown),
        ("/home/u/gone", NoWorkdir::Gone),
    ] {
        assert_eq!(refused(&service, given), reason, "{given:?}");
    }
}

#[test]
fn a_root_that_was_moved_away_is_gone() {
    assert_eq!(refused(&service(shop(), &[], &["/home/u/shop"]), "/home/u/shop"), NoWorkdir::Gone);
}

#[test]
fn a_workdir_carries_the_pins_that_were_registered() {
    let workdir = block_on(service(shop(), &[], &[]).workdir("/home/u/shop")).unwrap();
    assert_eq!(workdir.pins, pins("/home/u/shop"));
}

#[test]
fn the_directories_that_there_are_are_named_and_their_list_is_bounded() {
    let many: Vec<_> = (0..150).map(|at| project(&format!("p{at}"), &format!("/p/{at}"))).collect();
    let Err(WorkdirError::Invalid { known, known_total, .. }) = block_on(service(many, &[], &[]).workdir("/x")) else {
        panic!("/x is no workdir");
    };
    assert_eq!((known.len(), known_total), (100, 150));
}

#[test]
fn a_project_that_git_cannot_read_hides_no_other() {
    let all = vec![project("broken", "/home/u/broken"), project("shop", "/home/u/shop")];
    let service = service(all, &[], &[]);
    assert!(block_on(service.workdir("/home/u/shop-topic")).is_ok());
    assert_eq!(block_on(service.worktrees(None)).unwrap().unwrap().len(), 2);
}

fn registered_as(root: &'static str, given: Option<&str>) -> Result<String, RegisterError> {
    let mut repositories = repositories();
    repositories
        .expect_inspect()
        .returning(move |_, _| Ok(Inspected { pins: pins(root), base_branch: branch("main") }));
    repositories.expect_is_as_registered().return_const(true);
    let mut projects = MockProjects::new();
    projects.expect_add().returning(|_| Ok(()));
    let new = NewProject { path: path("/given"), name: given.map(name), base_branch: None };
    let added = block_on(with(projects, repositories, &[], &[]).add(new))?;
    assert_eq!(added.project.root().as_str(), root);
    assert_eq!(added.project.added_at, NOON);
    Ok(added.project.name.as_str().into())
}

#[test]
fn a_project_is_named_for_its_directory() {
    for (root, called) in [
        ("/home/u/shop", "shop"),
        ("/home/u/my app", "my-app"),
        ("/home/u/.dotfiles", "dotfiles"),
        ("/home/u/ünïcode", "n-code"),
        ("/home/u/-rf", "rf"),
    ] {
        assert_eq!(registered_as(root, None).unwrap(), called, "{root}");
    }
    assert_eq!(registered_as("/home/u/shop", Some("other")).unwrap(), "other");
    assert!(matches!(registered_as("/home/u/名前", None), Err(RegisterError::Name { .. })));
}

#[test]
fn what_is_no_repository_is_not_registered() {
    let mut repositories = MockRepositories::new();
    repositories
        .expect_inspect()
        .with(eq(path("/x")), eq(Some(branch("dev"))))
        .returning(|_, _| Err(InspectError::Bare));
    let mut projects = MockProjects::new();
    projects.expect_add().never();
    let new = NewProject { path: path("/x"), name: None, base_branch: Some(branch("dev")) };
    let refused = block_on(with(projects, repositories, &[], &[]).add(new));
    assert_eq!(refused, Err(RegisterError::Inspect { path: path("/x"), reason: InspectError::Bare }));
}

#[test]
fn one_that_is_registered_already_is_named() {
    let mut repositories = MockRepositories::new();
    repositories
        .expect_inspect()
        .returning(|_, _| Ok(Inspected { pins: pins("/home/u/shop"), base_branch: branch("main") }));
    let mut projects = MockProjects::new();
    let existing = || Box::new(project("shop", "/home/u/shop"));
    projects.expect_add().returning(move |_| Err(AddError::Exists { existing: existing() }));
    let new = NewProject { path: path("/home/u/shop"), name: None, base_branch: None };
    let refused = block_on(with(projects, repositories, &[], &[]).add(new));
    assert_eq!(refused, Err(RegisterError::Add(AddError::Exists { existing: existing() })));
}

#[test]
fn a_project_that_is_gone_is_not_read() {
    let mut projects = MockProjects::new();
    projects.expect_list().returning(|| Ok(shop()));
    let mut repositories = MockRepositories::new();
    repositories.expect_is_as_registered().return_const(false);
    let views = block_on(with(projects, repositories, &[], &[]).list()).unwrap();
    assert_eq!(views.iter().map(|view| view.available).collect::<Vec<_>>(), [false]);
}
