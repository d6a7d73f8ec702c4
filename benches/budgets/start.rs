//! B16 to B18: cold start, resident size, and how many packages are built.

use crate::{
    owl,
    report::{Report, percentile},
};
use owl_testkit::{Daemon, Home};
use serde_json::json;
use std::time::{Duration, Instant};

/// B16 and B17, with the database that the rows before were measured on.
pub(crate) async fn with_database(report: &mut Report, home: &Home) {
    if report.wants("B16") {
        let mut took = Vec::new();
        for _ in 0..20 {
            let start = Instant::now();
            let daemon = Daemon::start(owl(), home).await;
            daemon.connect().await.ok("system.health", json!({})).await;
            took.push(start.elapsed());
            daemon.terminate().await;
        }
        let what = "from execve to the first answer, p50";
        report.time("B16", what, percentile(took, 50), Duration::from_millis(60), "");
    }
    if report.wants("B17") {
        let daemon = Daemon::start(owl(), home).await;
        let mut client = daemon.connect().await;
        for _ in 0..100 {
            client.ok("system.health", json!({})).await;
        }
        drop(client);
        tokio::time::sleep(Duration::from_secs(10)).await;
        let mib = resident_kib(daemon.pid()) / 1024.0;
        report.number("B17", "resident size, idle", mib <= 16.0, &format!("{mib:.1} MiB"), "", "<= 16 MiB");
        daemon.terminate().await;
    }
}

pub(crate) fn rows(report: &mut Report) {
    if report.wants("B18") {
        let lock = include_str!("../../Cargo.lock");
        let packages = lock.lines().filter(|line| line.starts_with("name = ")).count();
        let beside = "CPU time: `time cargo build --release`";
        report.number("B18", "packages in Cargo.lock", packages <= 300, &packages.to_string(), beside, "<= 300");
    }
}

/// The resident size of a process, as the kernel tells it.
pub(crate) fn resident_kib(pid: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
