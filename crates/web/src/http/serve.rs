//! Accepts connections, limits them, and shuts down gracefully.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use repertoire::serve::{RequestLimits, Stop};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tower::Service as _;

use super::access_log::{Peer, WithPeer};
use super::app::App;
use super::control::{self, HttpControl};
use super::guard::Guard;
use super::half_closed::{HalfClosedReader, InFlight};
use super::options::{HttpAccess, HttpOptions};
use super::principals::{Principals, PrincipalsOptions, expect_distinct};
use super::quota::Quotas;
use super::refusals::Refusals;
use super::request_metrics::RequestMetrics;
use super::router::{overload_router, router};
use super::unread::UnreadLimit;
use crate::oidc::Provider;
use crate::{Error, ErrorKind, Server};

/// Connections over the limit that are answered with 503 or a health check's result. More are closed at once.
const OVERLOAD_CONNECTIONS: usize = 32;

/// Maximum time for a connection over the limit to send its request.
const OVERLOAD_HEAD_TIME: Duration = Duration::from_secs(2);

/// Maximum bytes that a connection buffers, and so of a request head.
const BUFFER_BYTES: usize = 64 * 1024;

/// Pause after accepting failed, for example because too many files are open.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// Time after a stop in which requests that were sent before it are still read.
const LAST_REQUESTS: Duration = Duration::from_millis(100);

/// An HTTP server that is bound to an address and does not serve yet.
pub struct HttpServer {
    server: Server,
    listener: std::net::TcpListener,
    address: SocketAddr,
    options: HttpOptions,
    control: HttpControl,
    replacements: control::Replacements,
}

impl Server {
    /// Binds the address of `options`.
    ///
    /// Fails without a token if the address is not a loopback address ([`ErrorKind::TokenNeeded`]), tools of
    /// skills can run ([`ErrorKind::TokenNeededForTools`]) or people may write
    /// ([`ErrorKind::TokenNeededForWrites`]), with [`ErrorKind::TokenTwice`] if two tokens are equal, and
    /// with [`ErrorKind::BadProvider`] if people could not sign in at the provider.
    pub fn bind_http(&self, mut options: HttpOptions) -> Result<HttpServer, Error> {
        let wanted = options.address;
        let HttpAccess { tokens, oidc, .. } = &options.access;
        let is_open = tokens.is_empty() && oidc.is_none() && !options.needs_token;
        let reason = self.reason_for_token(&options);
        if let Some(kind) = reason.filter(|_| is_open) {
            return Err(Error::new(kind).about(wanted.to_string()));
        }
        expect_distinct(tokens)?;
        oidc.clone().map(Provider::new).transpose()?;
        // It stays so when tokens are replaced by none while it serves.
        options.needs_token |= reason.is_some();
        let listener = std::net::TcpListener::bind(wanted)
            .map_err(|error| Error::new(ErrorKind::Address).about(wanted.to_string()).because(error))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Guard::new(&options, address)?;
        let (control, replacements) = control::channel();
        Ok(HttpServer { server: self.clone(), listener, address, options, control, replacements })
    }

    /// Returns the reason that a server with `options` does not answer without a token; `None` if it may.
    fn reason_for_token(&self, options: &HttpOptions) -> Option<ErrorKind> {
        if !options.address.ip().is_loopback() {
            Some(ErrorKind::TokenNeeded)
        } else if self.library().runner().is_some() {
            Some(ErrorKind::TokenNeededForTools)
        } else if self.options().dashboard.allows_writes && options.page_secret.is_none() {
            Some(ErrorKind::TokenNeededForWrites)
        } else {
            None
        }
    }
}

impl HttpServer {
    /// Returns the address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the handle by which tokens, agents and kits are replaced while it serves.
    pub fn control(&self) -> HttpControl {
        self.control.clone()
    }

    /// Serves until `stop`, blocking the current thread.
    pub fn serve_blocking(self, stop: &Stop) -> Result<(), Error> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let served = runtime.block_on(self.serve(stop));
        runtime.shutdown_background();
        served
    }

    /// Serves until `stop`, drains for [`HttpLimits::drain`](super::HttpLimits::drain), cancels running tools
    /// of skills, and finishes the requests in flight within [`HttpLimits::grace`](super::HttpLimits::grace).
    pub async fn serve(self, stop: &Stop) -> Result<(), Error> {
        let (closed, stopping) = (CancellationToken::new(), CancellationToken::new());
        let app = Arc::new(self.app(stop, &stopping, &closed).await?);
        let replacing = tokio::spawn(self.replacements.apply_to(Arc::clone(&app)));
        let mut connections = Connections::new(&app);
        let listener = TcpListener::from_std(self.listener)?;
        if stop.token().is_cancelled() && app.limits.drain.is_zero() {
            stopping.cancel();
        }
        let draining = tokio::spawn(drain(stop.clone(), app.limits.drain, stopping.clone()));
        connections.accept(&listener, &stopping).await;
        draining.abort();
        // Callers of running tools get the answer that they were cancelled.
        if let Some(runner) = self.server.library().runner() {
            runner.end();
        }
        connections.accept_pending(listener);
        sleep(LAST_REQUESTS).await;
        let _ = timeout(self.options.limits.grace, connections.graceful.shutdown()).await;
        closed.cancel();
        connections.tasks.shutdown().await;
        replacing.abort();
        self.server.settled().await;
        Ok(())
    }

    async fn app(
        &self,
        stop: &Stop,
        stopping: &CancellationToken,
        closed: &CancellationToken,
    ) -> Result<App, Error> {
        let HttpOptions { access, limits, agent, needs_token, store, .. } = &self.options;
        let options = PrincipalsOptions {
            stopping: stopping.clone(),
            closed: closed.clone(),
            agent: agent.clone(),
            needs_token: *needs_token,
            store: store.clone(),
            principal_limits: self.options.principal_limits,
        };
        let principals = Principals::open(self.server.clone(), options, access.clone()).await?;
        let unread = UnreadLimit::new(limits.unread_bytes);
        let streams = Arc::new(Semaphore::new(limits.streams));
        Ok(App {
            server: self.server.clone(),
            guard: Guard::new(&self.options, self.address)?,
            principals,
            page_secret: self.options.page_secret.clone(),
            port: self.address.port(),
            limits: *limits,
            quotas: Arc::new(Quotas::new(self.options.principal_limits)),
            access_log: self.options.access_log.clone(),
            trusted_proxies: self.options.trusted_proxies.clone(),
            refusals: Refusals::default(),
            mounted: RequestLimits { streams: Arc::clone(&streams), room: unread.room() },
            unread,
            streams,
            draining: stop.token().clone(),
            stopping: stopping.clone(),
            requests: RequestMetrics::default(),
        })
    }
}

/// Cancels `stopping` once a stop was asked for and proxies had `time` to notice.
async fn drain(stop: Stop, time: Duration, stopping: CancellationToken) {
    stop.token().cancelled().await;
    if !time.is_zero() {
        let _ = timeout(time, stop.urged().cancelled()).await;
    }
    stopping.cancel();
}

/// A number of connections and the routes that they are served.
struct Pool {
    builder: http1::Builder,
    router: Router,
    permits: Arc<Semaphore>,
}

impl Pool {
    fn new(router: Router, connections: usize, head_time: Duration) -> Self {
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(head_time).half_close(false);
        builder.max_buf_size(BUFFER_BYTES);
        Self { builder, router, permits: Arc::new(Semaphore::new(connections)) }
    }
}

struct Connections {
    regular: Pool,
    overload: Pool,
    limit: usize,
    write_time: Duration,
    graceful: GracefulShutdown,
    tasks: JoinSet<()>,
}

impl Connections {
    fn new(app: &Arc<App>) -> Self {
        let limits = &app.limits;
        let regular = Pool::new(router(Arc::clone(app)), limits.connections, limits.head_time);
        let head_time = limits.head_time.min(OVERLOAD_HEAD_TIME);
        let mut overload = Pool::new(overload_router(Arc::clone(app)), OVERLOAD_CONNECTIONS, head_time);
        overload.builder.keep_alive(false);
        Self {
            regular,
            overload,
            limit: limits.connections.saturating_add(OVERLOAD_CONNECTIONS),
            write_time: limits.write_time,
            graceful: GracefulShutdown::new(),
            tasks: JoinSet::new(),
        }
    }

    async fn accept(&mut self, listener: &TcpListener, stopping: &CancellationToken) {
        loop {
            let accepted = tokio::select! {
                biased;
                () = stopping.cancelled() => return,
                accepted = listener.accept() => accepted,
                Some(_) = self.tasks.join_next() => continue,
            };
            match accepted {
                Ok((stream, _)) => self.serve(stream),
                Err(_) => sleep(ACCEPT_RETRY).await,
            }
        }
    }

    /// Accepts the connections that the system completed before the stop: their clients may have sent a
    /// request. At most as many as the limit, because clients may go on connecting.
    fn accept_pending(&mut self, listener: TcpListener) {
        // tokio may not know of them yet.
        let Ok(listener) = listener.into_std() else { return };
        for _ in 0..self.limit {
            let Ok((stream, _)) = listener.accept() else { return };
            if stream.set_nonblocking(true).is_ok()
                && let Ok(stream) = TcpStream::from_std(stream)
            {
                self.serve(stream);
            }
        }
    }

    fn serve(&mut self, stream: TcpStream) {
        let _ = stream.set_nodelay(true);
        let (pool, permit) = if let Ok(permit) = Arc::clone(&self.regular.permits).try_acquire_owned() {
            (&self.regular, permit)
        } else if let Ok(permit) = Arc::clone(&self.overload.permits).try_acquire_owned() {
            (&self.overload, permit)
        } else {
            return;
        };
        let peer = stream.peer_addr().ok().map(Peer);
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(self.write_time));
        let service = WithPeer { inner: pool.router.clone(), peer };
        let in_flight = InFlight::default();
        let (inner, write) = tokio::io::split(Box::pin(stream));
        let reader = HalfClosedReader { inner, in_flight: in_flight.clone(), end: None };
        let service = service_fn(move |request| in_flight.clone().answered(service.clone().call(request)));
        let connection = pool.builder.serve_connection(TokioIo::new(tokio::io::join(reader, write)), service);
        let connection = self.graceful.watch(connection);
        self.tasks.spawn(async move {
            // A broken connection is the client's to handle.
            let _ = connection.await;
            drop(permit);
        });
    }
}
