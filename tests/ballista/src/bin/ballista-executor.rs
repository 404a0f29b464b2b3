//! Ballista's executor as its own program sets it up: lakes in S3 are read with the credentials of its environment.

use std::error::Error;
use std::sync::Arc;

use ballista_core::extension::ballista_scalar_functions;
use ballista_core::object_store::{runtime_env_with_s3_support, session_config_with_s3_support};
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_executor::config::Config;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use clap::Parser;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

fn main() -> Result<(), Box<dyn Error>> {
    let told = EnvFilter::builder().with_default_directive(LevelFilter::WARN.into()).from_env()?;
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter(told).init();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(64 << 20).build()?;
    let mut config = ExecutorProcessConfig::try_from(Config::parse())?;
    config.override_config_producer = Some(Arc::new(session_config_with_s3_support));
    config.override_runtime_producer = Some(Arc::new(runtime_env_with_s3_support));
    // Ballista's own programs know these only where they plan.
    let mut functions = BallistaFunctionRegistry::default();
    let scalar = ballista_scalar_functions().into_iter().map(|function| (function.name().to_owned(), function));
    functions.scalar_functions.extend(scalar);
    config.override_function_registry = Some(Arc::new(functions));
    Ok(runtime.block_on(start_executor_process(Arc::new(config)))?)
}
