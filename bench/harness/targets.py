"""What the project promises about speed and memory, and whether this run kept it."""

from dataclasses import dataclass

from harness import contenders as who
from harness import install
from harness.install import PYTHON_PEERS

SMALL, MIDDLE, LARGE, HUGE = 100, 1_000, 10_000, 50_000


@dataclass(frozen=True)
class Row:
    """One promise. `measured` says what was compared; `ratio` is what is compared with `limit`."""

    promise: str
    measured: str
    ratio: float
    median_ratio: float
    limit: float
    at_least: bool = False

    @property
    def passed(self):
        return self.ratio >= self.limit if self.at_least else self.ratio <= self.limit


def targets(figures):
    """Returns a row for every promise that the figures can judge."""
    rows = []
    for threads in sorted({1, who.cores()}):
        rows += cold_index(figures, threads)
    rows += rust_crate(figures)
    rows += python_peers(figures)
    rows += real_skills(figures)
    rows += lists(figures)
    rows += catalog(figures)
    rows += growth(figures)
    rows += calls(figures)
    rows += growth_of_calls(figures)
    rows += visible(figures)
    rows += idle(figures)
    rows += watches(figures)
    return rows


def cold_index(figures, threads):
    rep = figures.inside(LARGE, who.REP, "cold", threads)
    bare = figures.inside(LARGE, who.BARE, "index", threads)
    if rep and bare:
        promise = f"cold index of 10,000 at most 2.0 x the bare walk and read, {in_threads(threads)}"
        yield compare(promise, rep, bare, 2.0)


def rust_crate(figures):
    # As each is used: the crate loads one directory at a time, Repertoire a library on all cores.
    rep = figures.inside(LARGE, who.REP, "cold", who.cores())
    crate = figures.inside(LARGE, who.AGENT_SKILLS, "index", 1)
    if rep and crate:
        promise = "cold index of 10,000 at least 2 x as fast as the crate agent-skills, each as it is used"
        yield compare(promise, crate, rep, 2.0, at_least=True)


def python_peers(figures):
    # Python peers use one thread, so Repertoire gets one as well.
    rep = figures.inside(LARGE, who.REP, "cold", 1)
    peers = [figures.inside(LARGE, name, "index", 1) for name in PYTHON_PEERS]
    peers = [peer for peer in peers if peer]
    if rep and peers:
        fastest = min(peers, key=lambda peer: peer.min)
        promise = f"cold index of 10,000 at least 30 x as fast as the fastest Python peer ({fastest.name}), 1 thread"
        yield compare(promise, fastest, rep, 30.0, at_least=True)


def real_skills(figures):
    for size in install.CORPUS:
        listed = figures.whole(size, who.REP_LIST)
        if listed:
            yield absolute(f"`rep list` of {size:,} real skills within 60 ms of process start", listed, 60.0)
        rep = figures.inside(size, who.REP, "cold", who.cores())
        bare = figures.inside(size, who.BARE, "index", who.cores())
        if rep and bare:
            promise = f"index of {size:,} real skills at most 4.0 x the bare walk and read, {in_threads(who.cores())}"
            yield compare(promise, rep, bare, 4.0)


def lists(figures):
    for size, limit_ms in ((SMALL, 15.0), (MIDDLE, 30.0), (LARGE, 120.0)):
        figure = figures.whole(size, who.REP_LIST)
        if figure:
            yield absolute(f"`rep list` of {size:,} within {limit_ms:.0f} ms of process start", figure, limit_ms)


def catalog(figures):
    figure = figures.inside(LARGE, who.REP, "catalog", 1)
    if figure:
        yield absolute("catalog of 10,000 rendered within 10 ms, without token counts", figure, 10.0)


def growth(figures):
    for threads in sorted({1, who.cores()}):
        middle = figures.inside(MIDDLE, who.REP, "cold", threads)
        large = figures.inside(LARGE, who.REP, "cold", threads)
        bare_middle = figures.inside(MIDDLE, who.BARE, "index", threads)
        bare_large = figures.inside(LARGE, who.BARE, "index", threads)
        if middle and large and bare_middle and bare_large:
            scale = MIDDLE / LARGE
            # The kernel itself takes longer per file where there are more of them; the bare program shows how much.
            bare = bare_large.min / bare_middle.min * scale
            yield Row(
                f"cold index per skill at 10,000 at most 1.3 x that at 1,000, {in_threads(threads)}",
                f"{large.min / LARGE * 1e3:.2f} us / {middle.min / MIDDLE * 1e3:.2f} us (bare: {bare:.2f})",
                large.min / middle.min * scale,
                large.median / middle.median * scale,
                1.3,
            )


def calls(figures):
    for name, operation, limit_us, promise in (
        (who.REP_LIBRARY, who.LOAD, 100, "`load_skill` from disk in the library, 10,000 skills, p50 under 100 us"),
        (who.REP_SESSION, who.LOAD, 250, "`load_skill` through `rep session`, 10,000 skills, p50 under 250 us"),
        (who.REP_LIBRARY, who.ACKNOWLEDGE, 100, "acknowledgement of a loaded skill, 10,000 skills, p50 under 100 us"),
    ):
        figure = figures.session(LARGE, name, operation)
        if figure:
            yield absolute_us(promise, figure, limit_us)


def growth_of_calls(figures):
    for name in (who.REP_LIBRARY, who.REP_SESSION):
        middle, large = (figures.session(size, name, who.LOAD) for size in (MIDDLE, LARGE))
        if middle and large:
            measured = f"{large.min * 1e3:.1f} us / {middle.min * 1e3:.1f} us"
            promise = f"`load_skill` ({name}) at 10,000 skills at most 1.2 x that at 1,000"
            yield Row(promise, measured, large.min / middle.min, large.median / middle.median, 1.2)


def visible(figures):
    for name in (who.REP_LIBRARY, who.REP_WATCH):
        figure = figures.reload(LARGE, name, who.VISIBLE, 99)
        if figure:
            yield absolute(f"a change of 10,000 visible within 150 ms, p99 ({name})", figure, 150.0)


def idle(figures):
    limit = 0.2
    for size, name in ((LARGE, who.REP_LIBRARY), (LARGE, who.REP_WATCH), (HUGE, who.REP_LIBRARY)):
        percent = figures.gauge(size, name, who.IDLE)
        if percent is not None:
            ratio = percent / limit
            promise = f"an idle minute with {size:,} skills under 0.2 % of a core ({name})"
            yield Row(promise, f"{percent:.3f} % / {limit} %", ratio, ratio, 1.0)


def watches(figures):
    for size in (SMALL, MIDDLE, LARGE, HUGE):
        held, budget = (figures.gauge(size, who.REP_LIBRARY, gauge) for gauge in ("watches", "budget"))
        if held is not None:
            ratio = held / budget
            yield Row(f"watches held for {size:,} skills within the budget", f"{held:.0f} / {budget:.0f}", ratio, ratio, 1.0)


def search(figures):
    """Returns a row for every promise about finding skills."""
    pool, many, library = (figures[name] for name in ("pool", "many", "library"))
    of_pool, of_many = (f"{figure['documents']:,} skills" for figure in (pool, many))
    shipped = figures["engines"][0]
    return [
        within(f"a query among {of_pool}, p50 under 500 us", shipped["p50_us"], 500, "us"),
        within(f"a query among {of_many}, p50 under 3 ms", figures["many engines"][0]["p50_us"] / 1e3, 3, "ms"),
        above(f"{of_pool} indexed at 2,000 a second or more, one core", pool["indexed_per_s"], 2_000, "/s"),
        above(f"{of_many} indexed at 2,000 a second or more, one core", many["indexed_per_s"], 2_000, "/s"),
        within(f"first search after one edit, {library['skills']:,} on disk, p50", library["first_search_p50_ms"], 150, "ms"),
        within(f"file of the index of {of_many} within 400 MB", many["file_mb"], 400, "MB"),
        above("nDCG@10 of .70 or more", shipped["ndcg10"], 0.70, ""),
        above("Hit@1 of .56 or more", shipped["hit1"], 0.56, ""),
        above("R@10 of .85 or more", shipped["r10"], 0.85, ""),
    ]


def within(promise, value, limit, unit):
    return Row(promise, f"{value:,.1f} {unit} / {limit:,} {unit}", value / limit, value / limit, 1.0)


def above(promise, value, limit, unit):
    measured = f"{value:,.3f} / {limit}" if not unit else f"{value:,.0f}{unit} / {limit:,}{unit}"
    return Row(promise, measured, value / limit, value / limit, 1.0, at_least=True)


def compare(promise, figure, other, limit, at_least=False):
    measured = f"{figure.min:.1f} ms / {other.min:.1f} ms"
    return Row(promise, measured, figure.min / other.min, figure.median / other.median, limit, at_least)


def absolute(promise, figure, limit_ms):
    measured = f"{figure.min:.1f} ms / {limit_ms:.0f} ms"
    return Row(promise, measured, figure.min / limit_ms, figure.median / limit_ms, 1.0)


def absolute_us(promise, figure, limit_us):
    measured = f"{figure.min * 1e3:.1f} us / {limit_us} us"
    return Row(promise, measured, figure.min * 1e3 / limit_us, figure.median * 1e3 / limit_us, 1.0)


def in_threads(threads):
    return "1 thread" if threads == 1 else f"{threads} threads"
