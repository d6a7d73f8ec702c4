//! Where git takes a program, or a file outside, from what a repository says.

use super::super::{Git, write};
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

/// Which drivers the files of the work tree have.
pub(super) const ATTRIBUTES: &str = "*.md diff=drv merge=drv\n*.txt filter=flt\n*.bin filter=prc diff=cmd\n";

/// Every hook that git knows, and one that it may come to know.
const HOOKS: [&str; 12] = [
    "post-index-change",
    "reference-transaction",
    "fsmonitor-watchman",
    "pre-commit",
    "post-checkout",
    "post-merge",
    "post-rewrite",
    "pre-auto-gc",
    "pre-push",
    "pre-rebase",
    "prepare-commit-msg",
    "post-status",
];

/// Keys whose value is a program; `{}` is the trap.
const PROGRAMS: [(&str, &str, &str); 33] = [
    ("core.fsmonitor", "fsmonitor", "{}"),
    ("hook.trap.command", "config-hook", "{}"),
    ("core.pager", "pager", "{}"),
    ("pager.log", "pager", "{}"),
    ("pager.branch", "pager", "{}"),
    ("core.editor", "editor", "{}"),
    ("sequence.editor", "editor", "{}"),
    ("core.askPass", "askpass", "{}"),
    ("core.sshCommand", "ssh", "{}"),
    ("core.gitProxy", "proxy", "{}"),
    ("core.alternateRefsCommand", "alternate-refs", "{}"),
    ("credential.helper", "credential", "!{}"),
    ("diff.external", "external-diff", "{}"),
    ("diff.drv.textconv", "textconv", "{}"),
    ("diff.cmd.command", "diff-command", "{}"),
    ("diff.tool", "trap", "trap"),
    ("difftool.trap.cmd", "difftool", "{}"),
    ("merge.drv.driver", "merge-driver", "{} %O %A %B"),
    ("filter.flt.clean", "clean", "{}"),
    ("filter.flt.smudge", "smudge", "{}"),
    ("filter.prc.process", "process", "{}"),
    ("gpg.program", "gpg", "{}"),
    ("gpg.openpgp.program", "gpg", "{}"),
    ("gpg.ssh.program", "gpg-ssh", "{}"),
    ("gpg.x509.program", "gpg-x509", "{}"),
    ("man.trap.cmd", "manual", "{}"),
    ("browser.trap.cmd", "browser", "{}"),
    ("trailer.sign.command", "trailer", "{}"),
    ("trailer.sign.cmd", "trailer", "{}"),
    ("uploadpack.packObjectsHook", "pack-objects", "{}"),
    ("remote.origin.uploadpack", "upload-pack", "{}"),
    ("alias.lg", "alias", "!{}"),
    ("alias.status", "alias", "!{}"),
];

/// Keys that spring the programs unasked, or name a file outside; `{}` is where all of it lies.
const OCCASIONS: [(&str, &str); 32] = [
    // Without an author git would not write what it cached.
    ("user.name", "Jane Doe"),
    ("user.email", "jane@example.com"),
    ("hook.trap.event", "post-index-change"),
    ("diff.drv.cacheTextconv", "true"),
    ("log.showSignature", "true"),
    ("format.pretty", "%h %G? %GS %s"),
    ("branch.sort", "signature"),
    ("log.diffMerges", "remerge"),
    ("diff.submodule", "diff"),
    ("status.submoduleSummary", "true"),
    ("submodule.recurse", "true"),
    ("help.format", "man"),
    ("man.viewer", "trap"),
    ("core.untrackedCache", "true"),
    ("core.splitIndex", "true"),
    ("index.version", "4"),
    ("gc.auto", "1"),
    ("maintenance.auto", "true"),
    ("fetch.writeCommitGraph", "true"),
    ("color.ui", "always"),
    ("column.ui", "always"),
    ("log.mailmap", "true"),
    ("mailmap.file", "{}/outside/mailmap"),
    ("gpg.ssh.allowedSignersFile", "{}/outside/signers"),
    ("core.excludesFile", "{}/outside/patterns"),
    ("core.attributesFile", "{}/traps/attributes"),
    ("diff.orderFile", "{}/outside/secret.txt"),
    ("blame.ignoreRevsFile", "{}/outside/secret.txt"),
    ("include.path", "{}/traps/included"),
    ("includeIf.gitdir:**.path", "{}/traps/included"),
    ("url.ext::false .insteadOf", "https://"),
    ("core.sharedRepository", "world"),
];

/// Signatures of the three kinds, as a commit holds them.
const SIGNATURES: [(&str, &str); 3] = [
    ("-----BEGIN PGP SIGNATURE-----", "-----END PGP SIGNATURE-----"),
    ("-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"),
    ("-----BEGIN SIGNED MESSAGE-----", "-----END SIGNED MESSAGE-----"),
];

/// Writes a program that leaves a mark, then does what `body` says; returns its path.
pub(super) fn trap(parent: &Path, name: &str, body: &str) -> String {
    let path = parent.join("traps").join(name);
    let mark = parent.join("marks").join(name);
    write(&path, format!("#!/bin/sh\n: > '{}'\n{body}\n", mark.display()));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Arms a repository. Its history is signed first, for afterwards every git there is dangerous.
pub(super) fn arm(git: &Git, git_dir: &Path, parent: &Path) {
    sign(git, git_dir);
    for name in HOOKS {
        let path = trap(parent, &format!("hook-{name}"), "");
        fs::create_dir_all(git_dir.join("hooks")).unwrap();
        fs::copy(path, git_dir.join("hooks").join(name)).unwrap();
    }
    write(&parent.join("traps/attributes"), "* diff=drv filter=flt\n");
    let included = trap(parent, "included-fsmonitor", "");
    write(&parent.join("traps/included"), format!("[core]\n\tfsmonitor = {included}\n"));
    for (key, value) in OCCASIONS {
        git.run(["config", "--add", key, &value.replace("{}", parent.to_str().unwrap())]);
    }
    let mut config = fs::read_to_string(git_dir.join("config")).unwrap();
    for (key, name, value) in PROGRAMS {
        let body = match name {
            "clean" | "smudge" => "exec cat",
            "gpg" | "gpg-ssh" | "gpg-x509" => "exec cat > /dev/null",
            "textconv" => "exec cat \"$1\"",
            // A filter that can do nothing, or git would give up before it comes to the other traps.
            "process" => "printf '0016git-filter-server\\n000eversion=2\\n00000000'; exec cat > /dev/null",
            _ => "",
        };
        let value = value.replace("{}", &trap(parent, name, body));
        let (section, key) = key.rsplit_once('.').unwrap();
        let section = match section.split_once('.') {
            Some((section, name)) => format!("{section} \"{name}\""),
            None => section.to_owned(),
        };
        config.push_str(&format!("[{section}]\n\t{key} = \"{value}\"\n"));
    }
    // The last of it, for from here on git itself would spring them.
    write(&git_dir.join("config"), config);
}

/// Adds three commits that somebody is said to have signed, one in each way.
fn sign(git: &Git, git_dir: &Path) {
    for (begin, end) in SIGNATURES {
        let (tree, parent) = (git.run(["rev-parse", "HEAD^{tree}"]), git.run(["rev-parse", "HEAD"]));
        let who = "Jane Doe <jane@example.com> 1750000000 +0000";
        let commit = format!(
            "tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\ngpgsig {begin}\n \n iQ==\n {end}\n\nsigned\n\nSign: x\n"
        );
        let file = git_dir.join("signed-commit");
        write(&file, commit);
        let signed = git.run(["hash-object", "-t", "commit", "-w", "--no-filters", file.to_str().unwrap()]);
        git.run(["update-ref", "HEAD", &signed]);
        fs::remove_file(file).unwrap();
    }
}

/// What a daemon's environment may hold by accident, or by somebody's intent.
pub(super) fn environment(parent: &Path) -> Vec<(&'static str, String)> {
    let trap = |name: &str| trap(parent, name, "");
    let mark = |name: &str| parent.join("marks").join(name).to_str().unwrap().to_owned();
    let private = parent.join("outside/private/.git").to_str().unwrap().to_owned();
    vec![
        ("GIT_DIR", private.clone()),
        ("GIT_WORK_TREE", parent.join("outside").to_str().unwrap().to_owned()),
        ("GIT_COMMON_DIR", private.clone()),
        ("GIT_OBJECT_DIRECTORY", format!("{private}/objects")),
        ("GIT_ALTERNATE_OBJECT_DIRECTORIES", format!("{private}/objects")),
        ("GIT_INDEX_FILE", format!("{private}/index")),
        ("GIT_CONFIG_PARAMETERS", format!("'core.fsmonitor={}'", trap("env-fsmonitor"))),
        ("GIT_CONFIG_GLOBAL", parent.join("traps/included").to_str().unwrap().to_owned()),
        ("GIT_EXTERNAL_DIFF", trap("env-diff")),
        ("GIT_PAGER", trap("env-pager")),
        ("PAGER", trap("env-pager")),
        ("GIT_EDITOR", trap("env-editor")),
        ("EDITOR", trap("env-editor")),
        ("GIT_ASKPASS", trap("env-askpass")),
        ("SSH_ASKPASS", trap("env-askpass")),
        ("GIT_SSH_COMMAND", trap("env-ssh")),
        ("GIT_PROXY_COMMAND", trap("env-proxy")),
        ("GIT_EXEC_PATH", parent.join("traps").to_str().unwrap().to_owned()),
        ("GIT_TEMPLATE_DIR", parent.join("traps").to_str().unwrap().to_owned()),
        ("GIT_TRACE", mark("env-trace")),
        ("GIT_TRACE2_EVENT", mark("env-trace2")),
        ("GIT_LITERAL_PATHSPECS", "1".into()),
        ("GIT_NAMESPACE", "other".into()),
        ("POSIXLY_CORRECT", "1".into()),
        ("GREP_OPTIONS", "-R".into()),
        ("GREP_COLORS", "mt=31".into()),
        ("LS_COLORS", "di=31".into()),
        ("QUOTING_STYLE", "shell".into()),
        ("TIME_STYLE", "+x".into()),
        ("BASH_ENV", trap("env-shell")),
        ("ENV", trap("env-shell")),
    ]
}
