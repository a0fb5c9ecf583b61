//! Connections: taken, limited, and ended well.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::access::repeated;
use super::endpoint::Endpoint;
use super::guard::Guard;
use super::limits;
use super::options::HttpOptions;
use super::patience::Patience;
use super::router::{App, crowded_router, router};
use crate::{Error, ErrorKind, Server, Stop};

/// What a connection is told that there is no room for.
const FULL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/// How many connections that there is no room for are heard out at a time, and how long they may take to ask.
const CROWDED: usize = 32;
const CROWDED_HEAD_TIME: Duration = Duration::from_secs(2);

/// About how many bytes a connection keeps of what it reads or writes, and so of a request's head.
const BUFFER_BYTES: usize = 64 * 1024;

/// How long it waits after the system had no room for a connection.
const BREATH: Duration = Duration::from_millis(50);

/// How long connections may take to ask when the server is stopped: what was sent before is on its way.
const LAST_REQUESTS: Duration = Duration::from_millis(100);

/// How long answers that are written may take to arrive when the server is stopped.
const FLUSH: Duration = Duration::from_millis(100);

/// How long connections may take to close when the server is stopped.
const FAREWELL: Duration = Duration::from_secs(2);

/// A server that has an address and answers nobody yet.
pub struct HttpServer {
    server: Server,
    listener: std::net::TcpListener,
    address: SocketAddr,
    options: HttpOptions,
}

impl Server {
    /// Takes the address that `options` name.
    ///
    /// Fails with [`ErrorKind::TokenNeeded`] where others could reach it and there is no token, and with
    /// [`ErrorKind::TokenTwice`] where two are the same.
    pub fn bind_http(&self, options: HttpOptions) -> Result<HttpServer, Error> {
        let wanted = options.address;
        if !wanted.ip().is_loopback() && options.tokens.is_empty() {
            return Err(Error::new(ErrorKind::TokenNeeded).about(wanted.to_string()));
        }
        if let Some(index) = repeated(&options.tokens) {
            let agent = options.tokens[index].agent.as_deref().unwrap_or("one that may see everything");
            return Err(Error::new(ErrorKind::TokenTwice).about(agent));
        }
        let failed = |error| Error::new(ErrorKind::Address).about(wanted.to_string()).because(error);
        let listener = std::net::TcpListener::bind(wanted).map_err(failed)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Guard::new(&options, address)?;
        Ok(HttpServer { server: self.clone(), listener, address, options })
    }
}

impl HttpServer {
    /// Returns where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop`, and waits for it.
    pub fn serve_blocking(self, stop: &Stop) -> Result<(), Error> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let served = runtime.block_on(self.serve(stop));
        runtime.shutdown_background();
        served
    }

    /// Serves until `stop`; calls under way are finished then.
    pub async fn serve(self, stop: &Stop) -> Result<(), Error> {
        let closed = CancellationToken::new();
        let (app, followers) = self.app(stop.token(), &closed).await?;
        let connections = Connections::new(&self.options, &app, stop.token().clone());
        let listener = TcpListener::from_std(self.listener)?;
        let mut open = connections.take(&listener).await;
        connections.take_last(listener, &mut open);
        tokio::time::sleep(LAST_REQUESTS).await;
        app.room.idle().await;
        tokio::time::sleep(FLUSH).await;
        closed.cancel();
        let _ = tokio::time::timeout(FAREWELL, async { while open.join_next().await.is_some() {} }).await;
        open.shutdown().await;
        drop(followers);
        self.server.settled().await;
        Ok(())
    }

    async fn app(
        &self,
        closing: &CancellationToken,
        closed: &CancellationToken,
    ) -> Result<(Arc<App>, JoinSet<()>), Error> {
        let options = &self.options;
        let mut agents: Vec<Option<String>> =
            options.tokens.iter().map(|token| token.agent.clone()).collect();
        if agents.is_empty() {
            agents.push(options.agent.clone());
        }
        let mut followers = JoinSet::new();
        let mut endpoints: Vec<Arc<Endpoint>> = Vec::with_capacity(agents.len());
        for (index, agent) in agents.iter().enumerate() {
            // Several tokens of one agent see the same, and still not each other's conversations.
            let known = agents[..index].iter().position(|other| other == agent);
            let audience = match known {
                Some(known) => Arc::clone(&endpoints[known].audience),
                None => {
                    let audience = self.server.audience(agent.as_deref()).await?;
                    followers.spawn(Arc::clone(&audience).follow());
                    audience
                }
            };
            endpoints.push(Arc::new(Endpoint::new(audience, &options.limits, closing, closed)));
        }
        let app = App {
            server: self.server.clone(),
            guard: Guard::new(options, self.address)?,
            tokens: options.tokens.clone(),
            endpoints,
            room: limits::Room::new(options.limits, closing.clone()),
        };
        Ok((Arc::new(app), followers))
    }
}

/// Takes connections.
struct Connections {
    served: Hall,
    /// Those that there is no room for are still told whether the server is well.
    crowded: Hall,
    /// How many there is room for, or at least a word.
    most: usize,
    write_time: Duration,
    stopping: CancellationToken,
}

/// Room for connections, and what they are served.
struct Hall {
    builder: http1::Builder,
    router: axum::Router,
    places: Arc<Semaphore>,
}

impl Hall {
    fn new(router: axum::Router, connections: usize, head_time: Duration) -> Self {
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(head_time).half_close(false);
        builder.max_buf_size(BUFFER_BYTES);
        Self { builder, router, places: Arc::new(Semaphore::new(connections)) }
    }
}

impl Connections {
    fn new(options: &HttpOptions, app: &Arc<App>, stopping: CancellationToken) -> Self {
        let limits = &options.limits;
        let served = Hall::new(router(Arc::clone(app)), limits.connections, limits.head_time);
        let head_time = limits.head_time.min(CROWDED_HEAD_TIME);
        let mut crowded = Hall::new(crowded_router(Arc::clone(app)), CROWDED, head_time);
        crowded.builder.keep_alive(false);
        let most = limits.connections.saturating_add(CROWDED);
        Self { served, crowded, most, write_time: limits.write_time, stopping }
    }

    /// Takes connections until the server is stopped, and returns those that are open then.
    async fn take(&self, listener: &TcpListener) -> JoinSet<()> {
        let mut open = JoinSet::new();
        loop {
            let taken = tokio::select! {
                biased;
                () = self.stopping.cancelled() => return open,
                taken = listener.accept() => taken,
                Some(_) = open.join_next(), if !open.is_empty() => continue,
            };
            match taken {
                Ok((stream, _)) => self.begin(stream, &mut open),
                // Too many files are open, or the client is gone already.
                Err(_) => tokio::time::sleep(BREATH).await,
            }
        }
    }

    /// Takes the connections that clients have already made, of which nobody would tell them that they are not served: no more than
    /// there can be at a time, for others may be made meanwhile.
    fn take_last(&self, listener: TcpListener, open: &mut JoinSet<()>) {
        // tokio need not know of them yet; the system does.
        let Ok(listener) = listener.into_std() else { return };
        for _ in 0..self.most {
            let Ok((stream, _)) = listener.accept() else { return };
            if stream.set_nonblocking(true).is_ok()
                && let Ok(stream) = TcpStream::from_std(stream)
            {
                self.begin(stream, open);
            }
        }
    }

    fn begin(&self, stream: TcpStream, open: &mut JoinSet<()>) {
        let _ = stream.set_nodelay(true);
        let place = |hall: &Hall| Arc::clone(&hall.places).try_acquire_owned().ok();
        let halls = [&self.served, &self.crowded];
        let Some((hall, place)) = halls.into_iter().find_map(|hall| Some((hall, place(hall)?))) else {
            turn_away(stream);
            return;
        };
        let service = TowerToHyperService::new(hall.router.clone());
        let stream = TokioIo::new(Patience::new(stream, self.write_time));
        let connection = hall.builder.serve_connection(stream, service);
        let stopping = self.stopping.clone();
        open.spawn(async move {
            let _place = place;
            let mut connection = std::pin::pin!(connection);
            let stopped = async {
                stopping.cancelled().await;
                // One that seems idle may have asked: nothing was read of it yet.
                tokio::time::sleep(LAST_REQUESTS).await;
            };
            tokio::select! {
                // What arrived in time is read, even where nobody got round to it.
                biased;
                // What goes wrong with a connection is the client's to know.
                _ = connection.as_mut() => return,
                () = stopped => connection.as_mut().graceful_shutdown(),
            }
            let _ = connection.await;
        });
    }
}

/// Tells a connection that there is no room for it; one that does not listen is not waited for.
fn turn_away(stream: TcpStream) {
    tokio::spawn(async move {
        let mut stream = stream;
        let told = async {
            let _ = stream.write_all(FULL).await;
            let _ = stream.shutdown().await;
        };
        let _ = tokio::time::timeout(FAREWELL, told).await;
    });
}
