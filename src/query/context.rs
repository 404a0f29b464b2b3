//! A `DataFusion` context over one lake. Nothing is listed or opened before a query needs it.

mod detected;

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use chrono_tz::Tz;
use datafusion::common::ParamValues;
use datafusion::datasource::MemTable;
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::error::DataFusionError;
use datafusion::execution::cache::cache_manager::CacheManagerConfig;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SendableRecordBatchStream, SessionState};
use datafusion::logical_expr::LogicalPlan;
use datafusion::object_store::path::Path as ObjectPath;
use datafusion::physical_plan::common::spawn_buffered;
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::{SQLOptions, SessionConfig, SessionContext};
use datafusion::scalar::ScalarValue;
use datafusion::sql::parser::Statement as ParsedStatement;
use parquet::file::metadata::PageIndexPolicy;
use url::Url;

#[cfg(feature = "ballista")]
use super::cluster::Cluster;
use super::dependencies::without_dependencies;
use super::footer_folder::FooterFolder;
use super::footers::{self, Footers};
use super::lake_format::LakeFormat;
use super::local_files::LocalFiles;
use super::pinned::PinnedFiles;
use super::resources::{cores, memory_limit};
use super::seen::{Seen, Stop};
use super::skipping::with_worthwhile_filters;
use super::{Failure, Scope, Statement, bounded, reason, refusal, shared};
use crate::lake::AnyLake;
use crate::pricing::{PriceTable, Pricer};
use crate::remote::Remote;
use crate::source::read_text;
use crate::tables::{FINDINGS, LAKE_TABLES, PARTITION_COLUMNS, RUNS, SOURCES, STATE_TABLES, TableDef};
use crate::{Error, Result};

/// Bytes at the end of a remote file that are read at once for its footer. The footers of the four tables, with the
/// page index, are usually smaller; otherwise a second request reads the rest.
const FOOTER: usize = 64 << 10;
/// Rows after which the engine decides whether it pays to group them before they are distributed to threads. It does
/// not if a group is one call or one response, as in most detectors.
const PROBED_ROWS: usize = 10_000;
/// Files of a remote lake that a query reads at once: latency dominates, however many requests there are.
const FAR_FILES: usize = 16;
/// Pause before a query is repeated while an upload exchanges files.
const PAUSE: Duration = Duration::from_secs(2);

/// The lake's tables, ready for queries.
pub(super) struct Context<'a> {
    scope: Scope<'a>,
    session: SessionContext,
    #[cfg(feature = "ballista")]
    cluster: Option<Cluster>,
    remote: Option<Remote>,
    seen: Arc<Seen>,
}

/// Consequence of a failed query.
pub(super) enum Verdict {
    /// Repeat it after a pause.
    Again(Duration, Error),
    /// It failed.
    Failed(Error),
}

impl<'a> Context<'a> {
    /// Registers every table by its known schema.
    pub(super) fn open(scope: Scope<'a>) -> Result<Self, Failure> {
        Self::over(scope, None)
    }

    /// Registers every table, of a local lake with these files only.
    fn over(scope: Scope<'a>, files: Option<HashSet<ObjectPath>>) -> Result<Self, Failure> {
        if crate::time::now() < 0 {
            return Err(Error::Usage("the clock of this machine stands before 1970; set it".to_owned()).into());
        }
        let is_far = matches!(scope.lake, AnyLake::Remote(_));
        let partitions = if is_far { cores().max(FAR_FILES) } else { cores() };
        let mut config = SessionConfig::new().with_information_schema(true).with_target_partitions(partitions);
        config.options_mut().execution.time_zone = Some(scope.zone.name().to_owned());
        config.options_mut().execution.skip_partial_aggregation_probe_rows_threshold = PROBED_ROWS;
        // Dynamic filters of joins save bytes from a remote store. For unsorted ids, they skip nothing.
        config.options_mut().execution.parquet.enable_page_index = is_far;
        config.options_mut().optimizer.enable_join_dynamic_filter_pushdown = is_far;
        let seen = Arc::<Seen>::default();
        let (store, remote, folder) = match scope.lake {
            AnyLake::Local(_) => (PinnedFiles::local(LocalFiles::new(files), Arc::clone(&seen)), None, None),
            AnyLake::Remote(lake) => {
                let remote = lake.connect()?;
                let folder = lake.cache().map(|folder| FooterFolder::new(folder, lake.url()));
                (PinnedFiles::remote(remote.clone(), Arc::clone(&seen)), Some(remote), folder)
            }
        };
        let memory = Arc::new(FairSpillPool::new(memory_limit()));
        // No listing is cached: files of one query may be gone at the next, and another file may have the same name,
        // size and time.
        let caches = CacheManagerConfig::default()
            .with_list_files_cache_limit(0)
            .with_file_statistics_cache_limit(0)
            .with_metadata_cache_limit(footers::MEMORY)
            .with_file_metadata_cache(Some(Arc::new(Footers::new(folder, Arc::clone(&seen)))));
        let runtime = RuntimeEnvBuilder::new().with_memory_pool(memory).with_cache_manager(caches).build_arc()?;
        runtime.register_object_store(&store_url(scope.lake)?, Arc::new(store));
        let mut state = without_dependencies(SessionContext::new_with_config_rt(config, runtime).state());
        if !is_far {
            state = with_worthwhile_filters(state);
        }
        let session = SessionContext::new_with_state(state);
        bounded::register(&session);
        let context = Self {
            scope,
            #[cfg(feature = "ballista")]
            cluster: scope.scheduler.map(|scheduler| Cluster::open(&session, scheduler)).transpose()?,
            session,
            remote,
            seen,
        };
        for table in LAKE_TABLES {
            context.register_stored(table)?;
        }
        for table in STATE_TABLES {
            context.register_rows(table, &[])?;
        }
        Ok(context)
    }

    /// Checks that there is a lake and, if one is named, a scheduler.
    pub(super) async fn look(&self) -> Result<()> {
        #[cfg(feature = "ballista")]
        if let Some(cluster) = &self.cluster {
            cluster.look().await?;
        }
        match (self.scope.lake, &self.remote) {
            (AnyLake::Remote(lake), Some(remote)) => lake.look(remote).await,
            _ => Ok(()),
        }
    }

    /// Returns the consequence of a failure.
    pub(super) fn judge(&self, failure: Failure) -> Verdict {
        let error = match failure {
            Failure::Query(error) => error,
            Failure::Other(error) => return Verdict::Failed(error),
        };
        match self.seen.take_stop() {
            Some(Stop::Failed(reason)) => Verdict::Failed(reason),
            Some(Stop::Uploading(reason)) => Verdict::Again(PAUSE, reason),
            Some(Stop::Replaced) => Verdict::Again(Duration::ZERO, reason::replaced(&error)),
            None if refusal::is_replaced_file(&error) => Verdict::Again(Duration::ZERO, reason::explain(&error)),
            None => Verdict::Failed(reason::explain(&error)),
        }
    }

    /// Plans and starts a query.
    pub(super) async fn rows(&self, statement: &Statement) -> Result<SendableRecordBatchStream, Failure> {
        let parsed = self.parsed(statement)?;
        let tables = self.tables_of(&parsed)?;
        if tables.contains(FINDINGS.name) {
            self.fill_findings().await?;
        }
        self.started(parsed, &tables, statement).await
    }

    /// Returns tables of a query that are not uploaded, and so are empty.
    pub(super) fn absent_from(&self, statement: &Statement) -> Vec<&'static str> {
        // Problems of a query are reported when it runs.
        let named = self.parsed(statement).and_then(|parsed| self.tables_of(&parsed));
        named.map(|named| self.absent(&named)).unwrap_or_default()
    }

    fn absent(&self, named: &HashSet<String>) -> Vec<&'static str> {
        let left_out: &[&TableDef] = if self.remote.is_some() { &[&SOURCES, &RUNS] } else { &[] };
        left_out.iter().map(|table| table.name).filter(|name| named.contains(*name)).collect()
    }

    fn parsed(&self, statement: &Statement) -> Result<ParsedStatement, Failure> {
        let state = self.session.state();
        let dialect = state.config_options().sql_parser.dialect;
        let parsed = state.sql_to_statement(&statement.sql, &dialect)?;
        refusal::check(&parsed)?;
        Ok(parsed)
    }

    fn tables_of(&self, parsed: &ParsedStatement) -> Result<HashSet<String>, Failure> {
        let tables = self.session.state().resolve_table_references(parsed)?;
        Ok(tables.iter().map(|table| table.table().to_owned()).collect())
    }

    /// Plans and starts a query in a task of its own, so that the caller can leave while it computes.
    async fn started(
        &self,
        parsed: ParsedStatement,
        tables: &HashSet<String>,
        statement: &Statement,
    ) -> Result<SendableRecordBatchStream, Failure> {
        self.seen.begin();
        self.fill_state_tables(tables)?;
        let plan = planned(&self.session.state(), parsed, &statement.parameters).await?;
        let (state, plan) = match self.on_cluster(&plan, tables)? {
            Some(state) => (state.clone(), state.create_physical_plan(&plan).await?),
            None => {
                let state = self.session.state();
                (state.clone(), shared::physical(&state, plan).await?)
            }
        };
        Ok(spawn_buffered(execute_stream(plan, state.task_ctx())?, 1))
    }

    /// Returns the session of the cluster, if one can run the query. The cluster would not know results that are
    /// computed here first.
    #[cfg(feature = "ballista")]
    fn on_cluster(&self, plan: &LogicalPlan, tables: &HashSet<String>) -> Result<Option<SessionState>, Failure> {
        Ok(self.cluster.as_ref().map(|cluster| cluster.session_for(plan, tables)).transpose()?.flatten())
    }

    #[cfg(not(feature = "ballista"))]
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "a cluster may refuse")]
    fn on_cluster(&self, _plan: &LogicalPlan, _tables: &HashSet<String>) -> Result<Option<SessionState>, Failure> {
        Ok(None)
    }

    /// Returns the names of all functions, in order.
    pub(super) fn functions(&self) -> Vec<String> {
        let state = self.session.state();
        let rows = state.scalar_functions().keys().chain(state.aggregate_functions().keys());
        let all = rows.chain(state.window_functions().keys()).chain(state.table_functions().keys());
        let distinct: BTreeSet<&String> = all.collect();
        distinct.into_iter().cloned().collect()
    }

    fn register_stored(&self, table: &TableDef) -> Result<(), Failure> {
        let url = ListingTableUrl::parse(table_url(self.scope.lake, table)?)?;
        let partitions = PARTITION_COLUMNS.map(|(name, _)| (name.to_owned(), DataType::Utf8)).to_vec();
        let options =
            ListingOptions::new(self.format()).with_file_extension(".parquet").with_table_partition_cols(partitions);
        let config = ListingTableConfig::new(url).with_listing_options(options).with_schema(self.stored_schema(table));
        self.session.register_table(table.name, Arc::new(ListingTable::try_new(config)?))?;
        Ok(())
    }

    /// Plans for a cluster must use a file format that it knows.
    fn format(&self) -> Arc<dyn FileFormat> {
        let footer = self.remote.is_some().then_some(FOOTER);
        if self.scope.scheduler.is_some() {
            return Arc::new(ParquetFormat::default().with_metadata_size_hint(footer));
        }
        // The page index saves bytes from a remote store. For local files, reading it costs more than it saves.
        let pages = if self.remote.is_some() { PageIndexPolicy::Optional } else { PageIndexPolicy::Skip };
        Arc::new(LakeFormat::new(footer, pages))
    }

    /// A cluster checks after each step that nullability agrees with the plan, and plans of joins state it wrongly.
    fn stored_schema(&self, table: &TableDef) -> SchemaRef {
        let schema = in_zone(&table.schema(), self.scope.zone);
        if self.scope.scheduler.is_none() {
            return schema;
        }
        let nullable = |field: &FieldRef| Field::clone(field).with_nullable(true);
        Arc::new(Schema::new(schema.fields().iter().map(nullable).collect::<Vec<_>>()))
    }

    fn register_rows(&self, table: &TableDef, rows: &[RecordBatch]) -> Result<(), Failure> {
        let schema = in_zone(&table.schema(), self.scope.zone);
        let rows = rows.iter().map(|batch| rows_in(batch, &schema)).collect::<Result<Vec<_>, _>>()?;
        self.session.register_table(table.name, Arc::new(MemTable::try_new(schema, vec![rows])?))?;
        Ok(())
    }

    /// Fills the tables that are computed from the lake's state, if a query names them.
    fn fill_state_tables(&self, named: &HashSet<String>) -> Result<(), Failure> {
        let absent = self.absent(named);
        for table in
            STATE_TABLES.into_iter().filter(|table| named.contains(table.name) && !absent.contains(&table.name))
        {
            let rows = match table.name {
                "sources" => self.scope.lake.sources()?,
                "runs" => self.scope.lake.runs()?,
                "findings" => continue,
                _ => prices(self.scope.prices)?,
            };
            self.session.deregister_table(table.name)?;
            self.register_rows(table, &[rows])?;
        }
        Ok(())
    }
}

/// Returns every price, the user's own before the bundled ones.
pub(super) fn prices(own: Option<&Path>) -> Result<RecordBatch> {
    let mut table = PriceTable::bundled();
    if let Some(path) = own {
        let text = read_text(path).map_err(Error::io("read", path))?;
        let wrong = |error| Error::Usage(format!("the price file `{}` is wrong: {error}", path.display()));
        table = table.with_overrides(&text).map_err(wrong)?;
    }
    Pricer::new(table).rows()
}

/// Returns the plan of a query that only reads.
async fn planned(
    state: &SessionState,
    parsed: ParsedStatement,
    parameters: &[(String, ScalarValue)],
) -> Result<LogicalPlan, DataFusionError> {
    let mut plan = state.statement_to_plan(parsed).await?;
    if !parameters.is_empty() {
        let values = parameters.iter().map(|(name, value)| (name.clone(), value.clone().into()));
        plan = plan.with_param_values(ParamValues::Map(values.collect()))?;
    }
    let only_reading = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    only_reading.verify_plan(&plan)?;
    Ok(plan)
}

/// Converts timestamps in the schema to the session's time zone, so that days and displays are local.
fn in_zone(schema: &Schema, zone: Tz) -> SchemaRef {
    let local = |field: &FieldRef| match field.data_type() {
        DataType::Timestamp(unit, Some(_)) => {
            Field::clone(field).with_data_type(DataType::Timestamp(*unit, Some(zone.name().into())))
        }
        _ => Field::clone(field),
    };
    Arc::new(Schema::new(schema.fields().iter().map(local).collect::<Vec<_>>()))
}

fn rows_in(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, DataFusionError> {
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| cast(column, field.data_type())).collect::<Result<Vec<_>, _>>()?;
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}

/// Returns the URL of a table's files.
fn table_url(lake: &AnyLake, table: &TableDef) -> Result<String> {
    match lake {
        AnyLake::Local(lake) => folder_url(&lake.table_dir(table)),
        AnyLake::Remote(lake) => Ok(lake.table_url(table)),
    }
}

/// Returns the URL of the store with all tables.
fn store_url(lake: &AnyLake) -> Result<Url> {
    let text = match lake {
        AnyLake::Local(_) => "file:///",
        AnyLake::Remote(lake) => lake.url(),
    };
    Url::parse(text).map_err(|error| Error::Usage(format!("`{text}` is no URL: {error}")))
}

/// Returns the URL of a folder. A plain path with `*`, `?` or `[` would be taken for a pattern.
fn folder_url(folder: &Path) -> Result<String> {
    let absolute = std::path::absolute(folder).map_err(Error::io("find", folder))?;
    let Some(path) = absolute.to_str() else {
        return Err(Error::Usage(format!("the path of the lake `{}` is no Unicode text", absolute.display())));
    };
    let mut url = String::from("file://");
    for byte in path.replace('\\', "/").bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => url.push(char::from(byte)),
            byte => {
                let _ = write!(url, "%{byte:02X}");
            }
        }
    }
    url.push('/');
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_with_odd_names_become_addresses() {
        assert_eq!(folder_url(Path::new("/a b/*[x]?/%41")).unwrap(), "file:///a%20b/%2A%5Bx%5D%3F/%2541/");
    }
}
