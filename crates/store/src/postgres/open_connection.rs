//! An open connection to PostgreSQL, which a task drives.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::sleep;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{AsyncMessage, Config, Error, NoTls, Socket};

use super::address::{Address, READ};

/// The time that a connection which is dropped has to take leave of the server.
const LEAVE: Duration = Duration::from_secs(1);

/// A connection that a task of the runtime drives.
pub(super) struct OpenConnection {
    pub(super) client: tokio_postgres::Client,
    /// Signalled by notifications.
    told: Arc<Notify>,
    task: AbortHandle,
    runtime: Handle,
}

impl OpenConnection {
    /// Opens a connection to the database at `address`, which the runtime of the caller drives.
    pub(super) async fn open(address: &Address) -> Result<Self, Error> {
        let opened = match &address.tls {
            Some(tls) => Self::driven(&address.config, tls.clone()).await?,
            None => Self::driven(&address.config, NoTls).await?,
        };
        // All tables are in a schema of their own.
        let settings = format!(
            "SET search_path TO repertoire; SET statement_timeout = '{}s'; SET client_min_messages = warning",
            READ.as_secs()
        );
        opened.client.batch_execute(&settings).await?;
        Ok(opened)
    }

    async fn driven<T>(config: &Config, tls: T) -> Result<Self, Error>
    where
        T: MakeTlsConnect<Socket>,
        T::Stream: Send + 'static,
    {
        let (client, mut connection) = config.connect(tls).await?;
        let told = Arc::new(Notify::new());
        let tell = Arc::clone(&told);
        let task = tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
                if matches!(message, AsyncMessage::Notification(_)) {
                    tell.notify_one();
                }
            }
        });
        Ok(Self { client, told, task: task.abort_handle(), runtime: Handle::current() })
    }

    /// Waits for a notification.
    pub(super) async fn told(&self) {
        self.told.notified().await;
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        // It would wait for the answers to all calls that were begun.
        let task = self.task.clone();
        self.runtime.spawn(async move {
            sleep(LEAVE).await;
            task.abort();
        });
    }
}
