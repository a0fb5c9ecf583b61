//! The loop of a run, in one thread.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::check::{Checker, Fault};
use crate::connection::{Connection, Response};
use crate::plan::{Plan, is_within};
use crate::report::Report;
use crate::request::{self, Kind, MIX, Request};

/// The divisor of the rate of requests in the quiet part.
const QUIET_FACTOR: u32 = 10;

/// The pause before a server is asked again for a version that it does not have yet.
const LOOK: Duration = Duration::from_millis(50);

/// The time after which a version that a server does not have is an error.
const MAX_VISIBLE: Duration = Duration::from_secs(30);

/// The time for the last answers.
const LAST: Duration = Duration::from_secs(30);

/// A published version that a server is asked for.
struct Look {
    at: Instant,
    published: Instant,
    server: usize,
    publication: usize,
}

/// A run.
pub struct Run<'p> {
    plan: &'p Plan,
    members: Vec<Vec<usize>>,
    seconds: u64,
    rate: u64,
    connections: Vec<Connection>,
    /// Requests whose time has come and that wait for a connection.
    waiting: VecDeque<(Request, Instant, Option<usize>)>,
    looks: Vec<Look>,
    random: u64,
    checker: Checker<'p>,
    pub report: Report,
}

impl<'p> Run<'p> {
    pub fn new(plan: &'p Plan, seconds: u64, rate: u64, connections: usize) -> Self {
        let open = |index: usize| {
            let server = index % plan.servers.len();
            Connection::open(server, &plan.servers[server])
        };
        Self {
            plan,
            members: plan.members(),
            seconds,
            rate,
            connections: (0..connections).map(open).collect(),
            waiting: VecDeque::new(),
            looks: Vec::new(),
            random: 0x9e37_79b9_7f4a_7c15,
            checker: Checker::new(plan),
            report: Report::default(),
        }
    }

    /// Runs for `warm_up`, whose latencies are not counted, and then for the measured seconds: the warm-up
    /// builds the search index and packs every skill once. Its first three quarters have few requests.
    pub fn go(&mut self, warm_up: Duration) {
        let start = Instant::now();
        let quiet = start + warm_up / 4 * 3;
        let (counted, end) = (start + warm_up, start + warm_up + Duration::from_secs(self.seconds));
        let step = Duration::from_nanos(1_000_000_000 / self.rate);
        let pause = Duration::from_secs(60) / u32::try_from(self.plan.publications_per_minute.max(1)).expect("a rate");
        let (mut next, mut publishing) = (start, quiet);
        let mut publications = 0;
        loop {
            let now = Instant::now();
            while next <= now && next < end {
                let request = self.random_request();
                self.waiting.push_back((request, next, None));
                next += if next < quiet { step * QUIET_FACTOR } else { step };
            }
            if publishing <= now && now < end && publications < self.plan.publications.len() {
                self.waiting.push_back((request::publish(self.plan, publications), publishing, None));
                publications += 1;
                publishing += pause;
            }
            self.look_again(now);
            self.send();
            let is_idle = self.waiting.is_empty() && self.connections.iter().all(|one| one.pending.is_none());
            if now >= end && (is_idle && self.looks.is_empty() || now >= end + LAST) {
                break;
            }
            self.receive(next.min(publishing), counted);
        }
        for connection in &self.connections {
            if let Some((request, _)) = &connection.pending {
                self.report.fault(Fault::Error(format!("{}: no answer", request.kind.name())));
            }
        }
        self.report.publications = publications;
    }

    /// Gives waiting requests to idle connections.
    fn send(&mut self) {
        for _ in 0..self.waiting.len() {
            let Some((request, since, server)) = self.waiting.pop_front() else { return };
            let fits = |one: &&mut Connection| {
                one.pending.is_none() && server.is_none_or(|server| server == one.server)
            };
            let Some(connection) = self.connections.iter_mut().find(fits) else {
                self.waiting.push_front((request, since, server));
                return;
            };
            if since.elapsed() > Duration::from_millis(100) {
                self.report.late += 1;
            }
            if let Err(error) = connection.send(request, since) {
                self.report.fault(Fault::Error(error));
                let _ = connection.reopen();
            }
            // Another one is next in turn.
            let used = self.connections.iter().position(|one| one.pending.is_none()).unwrap_or(0);
            self.connections.rotate_left(used.min(1));
        }
    }

    /// Waits until something can be read or written, at most until `next`.
    fn receive(&mut self, next: Instant, counted: Instant) {
        let wait = next.saturating_duration_since(Instant::now()).min(LOOK).max(Duration::from_micros(200));
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
        let flags = |one: &Connection| match (&one.pending, one.is_writing()) {
            (None, _) => PollFlags::empty(),
            (Some(_), true) => PollFlags::IN | PollFlags::OUT,
            (Some(_), false) => PollFlags::IN,
        };
        let mut polled: Vec<PollFd<'_>> =
            self.connections.iter().map(|one| PollFd::new(&one.stream, flags(one))).collect();
        poll(&mut polled, Some(&timeout)).expect("sockets can be waited for");
        let ready = |(index, one): (usize, &PollFd<'_>)| (!one.revents().is_empty()).then_some(index);
        let ready: Vec<usize> = polled.iter().enumerate().filter_map(ready).collect();
        for index in ready {
            let connection = &mut self.connections[index];
            if connection.pending.is_none() {
                continue;
            }
            match connection.write().and_then(|()| connection.receive()) {
                Ok(None) => {}
                Ok(Some(response)) => {
                    let server = connection.server;
                    if let Some((request, since)) = connection.pending.take() {
                        self.answered(server, &request, since, &response, counted);
                    }
                }
                Err(error) => {
                    let kind = connection.pending.as_ref().map_or("", |(request, _)| request.kind.name());
                    self.report.fault(Fault::Error(format!("{kind}: {error}")));
                    let _ = connection.reopen();
                }
            }
        }
    }

    fn answered(&mut self, server: usize, request: &Request, since: Instant, response: &Response, counted: Instant) {
        if since >= counted {
            let latency = since.elapsed().as_secs_f64() * 1e3;
            self.report.answered(request.kind, latency, response.body.len());
        }
        if let Err(fault) = self.checker.check(request, response) {
            self.report.fault(fault);
            return;
        }
        let now = Instant::now();
        match request.kind {
            Kind::Publish => {
                let look = |server| Look { at: now, published: now, server, publication: request.publication };
                self.looks.extend((0..self.plan.servers.len()).map(look));
            }
            Kind::Seen => {
                let publication = &self.plan.publications[request.publication];
                let is_there = memchr::memmem::find(&response.body, publication.mark.as_bytes()).is_some();
                // The time of the request, so that a slow answer is not counted against the publication.
                let published = self.looks.iter().position(|look| {
                    look.publication == request.publication && look.server == server
                });
                if let Some(index) = published {
                    if is_there {
                        let look = self.looks.swap_remove(index);
                        self.report.visible_ms.push(look.published.elapsed().as_secs_f64() * 1e3);
                    } else if self.looks[index].published.elapsed() > MAX_VISIBLE {
                        let look = self.looks.swap_remove(index);
                        let skill = &self.plan.publications[look.publication].skill;
                        self.report.fault(Fault::Error(format!("{skill} was published and is not served")));
                    } else {
                        self.looks[index].at = now + LOOK;
                    }
                }
            }
            _ => {}
        }
    }

    /// Asks servers again for versions that they did not have yet.
    fn look_again(&mut self, now: Instant) {
        for index in 0..self.looks.len() {
            let Look { at, server, publication, .. } = self.looks[index];
            if at > now {
                continue;
            }
            // Again when this one is answered: a slow server must not be asked more often.
            self.looks[index].at = now + MAX_VISIBLE;
            let (skill, reader) = {
                let publication = &self.plan.publications[publication];
                (&publication.skill, publication.reader)
            };
            let mut request = request::of_person(self.plan, Kind::Seen, reader, skill, "");
            request.publication = publication;
            self.waiting.push_back((request, now, Some(server)));
        }
    }

    fn random_request(&mut self) -> Request {
        let person = self.below(self.plan.people.len());
        let scope = self.plan.people[person].scope;
        let mut share = self.below(100) as u64;
        let kind = MIX.iter().find(|(_, of)| {
            let is_it = share < *of;
            share = share.saturating_sub(*of);
            is_it
        });
        let kind = kind.map_or(Kind::Load, |(kind, _)| *kind);
        let skill = if kind == Kind::Foreign {
            loop {
                let name = &self.plan.skills[self.below(self.plan.skills.len())];
                if !is_within(&self.plan.scopes[scope], name) {
                    break name;
                }
            }
        } else {
            let index = self.below(self.members[scope].len());
            &self.plan.skills[self.members[scope][index]]
        };
        let query = &self.plan.queries[self.below(self.plan.queries.len())];
        request::of_person(self.plan, kind, person, skill, query)
    }

    /// Returns a random number below `limit`.
    fn below(&mut self, limit: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random % limit.max(1) as u64) as usize
    }
}
