//! Ballista's scheduler as its own program sets it up: lakes in S3 are found by the variables of its environment.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;

use ballista_core::object_store::{session_config_with_s3_support, session_state_with_s3_support};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::{Config, SchedulerConfig};
use ballista_scheduler::scheduler_process::start_server;
use clap::Parser;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

fn main() -> Result<(), Box<dyn Error>> {
    let told = EnvFilter::builder().with_default_directive(LevelFilter::WARN.into()).from_env()?;
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter(told).init();
    // Plans of long queries nest deeply, and those of unoptimised builds take much of a stack.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(64 << 20).build()?;
    runtime.block_on(serve())
}

async fn serve() -> Result<(), Box<dyn Error>> {
    let typed = Config::parse();
    let address: SocketAddr = format!("{}:{}", typed.bind_host, typed.bind_port).parse()?;
    let config = SchedulerConfig::try_from(typed)?
        .with_override_config_producer(Arc::new(session_config_with_s3_support))
        .with_override_session_builder(Arc::new(session_state_with_s3_support));
    let cluster = BallistaCluster::new_from_config(&config).await?;
    Ok(start_server(cluster, address, Arc::new(config)).await?)
}
